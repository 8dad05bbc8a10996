"""Who the company is: departments, projects and how each project works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Department:
    """A department: code, names, parent ("" for none), cost centre."""

    code: str
    zh: str
    en: str
    parent: str
    cost_centre: str


DEPARTMENTS = (
    Department("llm", "大模型研究院", "Foundation Models", "", "6100"),
    Department("vision", "视觉算法部", "Vision", "llm", "6110"),
    Department("search", "搜索推荐部", "Search and Recommendation", "", "6200"),
    Department("driving", "自动驾驶部", "Autonomous Driving", "", "6300"),
    Department("platform", "平台工程部", "Platform Engineering", "", "6400"),
    Department("data", "数据智能部", "Data Intelligence", "platform", "6410"),
)


@dataclass(frozen=True)
class Project:
    """A project and its habits. `pools` has a letter per pool it works in (see POOL_LETTERS)."""

    department: str
    code: str
    zh: str
    en: str
    weight: int  # how much it submits, against the others in the same pool
    pools: str
    failing: int = 100  # its failures against the average, percent
    elastic: int = 15  # percent of its runs under the elastic QoS
    users: int = 4

    @property
    def account(self) -> str:
        """Its scheduler account."""
        return f"{self.department}_{self.code}".replace("-", "_")


POOL_LETTERS = {
    "H": "train-h800",
    "A": "train-a800",
    "L": "infer-l20",
    "N": "train-910b",
    "D": "dev-a800",
    "I": "infer-910b",
}

PROJECTS = (
    Project("llm", "pretrain", "基座预训练", "Base pretraining", 90, "HND", 110, 0, 8),
    Project("llm", "alignment", "对齐与强化学习", "Alignment and RL", 60, "HAD", 130, 10, 7),
    Project("llm", "long-context", "长上下文", "Long context", 35, "HD", 120, 10),
    Project("llm", "moe", "混合专家", "Mixture of experts", 40, "HND", 140, 5, 5),
    Project("llm", "code-model", "代码模型", "Code model", 35, "HAD", 100, 15, 5),
    Project("llm", "speech", "语音大模型", "Speech model", 22, "HAD", 100, 20),
    Project("llm", "eval", "模型评测", "Model evaluation", 45, "HAND", 80, 55, 5),
    Project("llm", "assistant", "智能助手服务", "Assistant serving", 50, "LID", 60, 0, 3),
    Project("vision", "ocr", "通用文字识别", "OCR", 30, "ALD", 90, 15, 5),
    Project("vision", "multimodal", "多模态理解", "Multimodal understanding", 45, "HAD", 110, 10, 6),
    Project("vision", "video-gen", "视频生成", "Video generation", 40, "HD", 125, 10, 5),
    Project("vision", "image-gen", "图像生成", "Image generation", 28, "HALD", 100, 15),
    Project("vision", "face", "人脸与身份核验", "Face and identity", 14, "ALD", 80, 10, 3),
    Project("vision", "industrial", "工业质检", "Industrial inspection", 16, "ANI", 95, 20, 3),
    Project("vision", "segmentation", "通用分割", "Segmentation", 15, "AD", 100, 30, 3),
    Project("search", "ranking", "精排模型", "Ranking", 45, "ALD", 90, 5, 6),
    Project("search", "recall", "召回模型", "Recall", 30, "ALD", 90, 10, 4),
    Project("search", "ads-ctr", "广告点击率", "Ads click-through", 38, "ALD", 80, 0, 5),
    Project("search", "embedding", "向量检索", "Embedding retrieval", 24, "ALI", 85, 20),
    Project("search", "query", "查询理解", "Query understanding", 20, "ANLD", 95, 15, 3),
    Project("search", "feed", "信息流推荐", "Feed recommendation", 32, "ALD", 90, 5, 5),
    Project("search", "safety", "内容安全", "Content safety", 20, "LID", 70, 0, 3),
    Project("driving", "perception", "感知大模型", "Perception", 48, "HAD", 105, 10, 6),
    Project("driving", "planning", "规划控制", "Planning and control", 26, "AD", 115, 15),
    Project("driving", "bev", "鸟瞰图与占用网络", "BEV and occupancy", 30, "HAD", 110, 10),
    Project("driving", "simulation", "仿真与世界模型", "Simulation and world model", 36, "HALN", 120, 35, 5),
    Project("driving", "autolabel", "自动标注", "Auto labelling", 28, "ALN", 85, 60, 3),
    Project("driving", "end-to-end", "端到端驾驶", "End-to-end driving", 34, "HD", 130, 5),
    Project("driving", "cabin", "智能座舱", "Smart cabin", 14, "ALD", 90, 15, 3),
    Project("platform", "compiler", "编译与算子", "Compilers and kernels", 18, "HAND", 160, 20, 4),
    Project("platform", "framework", "训练框架", "Training framework", 20, "HAND", 150, 25, 4),
    Project("platform", "inference-engine", "推理引擎", "Inference engine", 22, "LIDN", 120, 20, 4),
    Project("platform", "porting", "国产卡适配", "Accelerator porting", 30, "NID", 170, 10, 5),
    Project("platform", "stress", "健康压测", "Burn-in and stress tests", 10, "HANLI", 70, 90, 2),
    Project("platform", "gateway", "模型网关", "Model gateway", 18, "LI", 60, 0, 2),
    Project("data", "synthesis", "数据合成", "Data synthesis", 34, "ALN", 80, 60, 4),
    Project("data", "cleaning", "数据清洗", "Data cleaning", 24, "ALD", 85, 50, 3),
    Project("data", "forecast", "时序预测", "Time series forecasting", 14, "ND", 95, 20, 3),
    Project("data", "risk", "风控图模型", "Risk graph models", 18, "AND", 90, 10, 3),
    Project("data", "bi-copilot", "智能分析助手", "Analytics copilot", 14, "LD", 80, 10, 3),
)

MOVED = "autolabel"  # changes its home department in the middle of the period: driving, then data
SHARED = "multimodal"  # paid 70 % by vision, 30 % by llm
UNMAPPED_ACCOUNT = "legacy_bench"  # nobody claims it
UNMAPPED_PERMILLE = 8  # of all runs
OVERRIDE = ("search", "ranking", "embedding", "index-bot")  # department, account's project, claiming project, user


def users_of(project: Project) -> tuple[str, ...]:
    """The scheduler logins that submit for a project: role-like, no names of persons."""
    own = tuple(f"{project.code}-{i}" for i in range(1, project.users + 1))
    return (*own, OVERRIDE[3]) if project.code == OVERRIDE[1] else own


def in_pool(code: str) -> list[Project]:
    """The projects that work in a pool."""
    letter = next(letter for letter, pool in POOL_LETTERS.items() if pool == code)
    return [project for project in PROJECTS if letter in project.pools]
