"""What people of the demo company ask for today, and what was said to it: something to decide, and something decided of each kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """A decision on the stage that is open. `verdict`: approve, less (half of it), return or reject."""

    by: str
    verdict: str
    comment: str = ""


@dataclass(frozen=True)
class Asked:
    """An ask of one line. `gpus` come on top of what is held, or are given back; `days`: how long, or how much longer (0: as held)."""

    kind: str
    project: str
    pool: str
    by: str
    goal: str = ""
    basis: str = ""
    confirmed_by: str = ""
    level: str = "normal"
    gpus: int = 0
    days: int = 0
    accepts_less: bool = False
    said: tuple[Said, ...] = ()


ASKS = (
    Asked(
        "return",
        "ocr",
        "infer-l20",
        "vision-lead",
        goal="票据识别服务已合并到通用识别服务，多出的推理卡归还。",
        basis="合并后一周的峰值低于原配额的一半。",
        gpus=2,
    ),
    Asked(
        "new",
        "ocr",
        "train-a800",
        "vision-lead",
        goal="手写体数据重新清洗后做一轮消融实验，12月下旬给出结论。",
        basis="每组实验4卡约20小时，共24组，可随时中断重跑。",
        confirmed_by="视觉算法部负责人",
        level="elastic",
        gpus=16,
        days=45,
        accepts_less=True,
        said=(
            Said("vision-head", "approve", "实验计划已评审，同意。"),
            Said("capacity", "less", "弹性任务近两周排队较长，先给一半；月中若有空闲可再申请。"),
        ),
    ),
    Asked(
        "extend",
        "ocr",
        "train-a800",
        "vision-member",
        goal="多语种版本还没有训练完，配额希望延长。",
        basis="剩余约三分之一的训练步数。",
        days=60,
        said=(Said("vision-head", "return", "缺少交付日期和剩余卡时的估算，补充后再提交。"),),
    ),
    Asked(
        "burst",
        "recall",
        "train-a800",
        "search-member",
        goal="希望在年底前把向量召回模型整体重训一遍。",
        basis="参考去年大促前的用量。",
        gpus=8,
        days=21,
        said=(Said("search-head", "reject", "上月刚完成全量重训，线上指标没有回落；年底算力优先保证精排模型。"),),
    ),
    Asked(
        "increase",
        "recall",
        "infer-l20",
        "search-member",
        goal="新召回通道12月中旬全量上线，需要与旧通道并行两个月。",
        basis="压测单卡每秒1800次请求，按晚高峰流量的1.3倍估算。",
        confirmed_by="搜索推荐部负责人",
        gpus=2,
        accepts_less=True,
        said=(Said("search-head", "approve", "上线计划已确认，同意。"),),
    ),
    Asked(
        "increase",
        "synthesis",
        "train-a800",
        "platform-head",
        goal="为基座预训练补充代码与数学合成数据，月底前交付第一批。",
        basis="按现有吞吐每卡每天约1.2亿词元，目标2000亿词元。",
        confirmed_by="大模型研究院负责人",
        gpus=4,
        accepts_less=True,
    ),
    Asked(
        "extend",
        "risk",
        "train-a800",
        "platform-head",
        goal="风控图模型季度重训尚未结束，配额昨日到期，延长到下季度初。",
        basis="重训还剩两轮，之后每周增量训练一次，用量不变。",
        confirmed_by="数据智能部负责人",
        days=90,
    ),
)
