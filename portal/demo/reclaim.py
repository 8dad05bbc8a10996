"""The demo company's rules of reclaim, and what a department says to what they find."""

from __future__ import annotations

from dataclasses import dataclass

from portal.demo.quotas import NEVER_USED


@dataclass(frozen=True)
class Rule:
    """A rule and its figures: window in days, percent of the guarantee, smallest finding in GPUs, hours of notice."""

    code: str
    kind: str
    zh: str
    en: str
    window_days: int
    below_percent: int
    min_gpus: int
    notice_hours: int
    is_on: bool


#: Found in the order of their codes: what was never used is not told as used too little.
RULES = (
    Rule("never-started", "never_started", "从未使用的配额", "Quota never used", 30, 30, 1, 72, True),
    Rule("under-used", "held_unused", "长期用不满的配额", "Quota held and not used", 14, 30, 2, 72, True),
    Rule("idle-gpus", "idle_gpus", "占用却空闲的卡", "GPUs held by a run and idle", 3, 10, 4, 24, False),
)

#: Whose case is answered (project, pool), and how.
ANSWERED = NEVER_USED
ANSWER, ANSWER_WHY = "dispute", "座舱多模态模型的数据审批比计划晚了三周，训练已改到下月上旬启动，届时需要这4卡。"
