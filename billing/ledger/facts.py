"""Facts and lines as statements read them: day by day, or summed by month where whole months are asked for and nothing finer, or
summed over everybody where the days of the whole site are asked for."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta

from .rules import Span

#: What is not in the sums by month.
FINER = frozenset({"day", "outcome"})
#: What asks for the home of a project: rows of a user are shown by the reader's rights in the department, too.
HOME_NAMES = frozenset({"department", "user"})
#: What is in the sums of the whole site's days.
OF_SITE = frozenset({"day", "cluster", "pool", "model", "qos", "outcome"})

#: Of one type in all parts of a union, or conditions on them would not reach the parts.
KEYS = ", ".join(
    f'u."{name}"::text AS "{name}"'
    for name in ("band", "cluster", "pool", "model", "account", "user", "project", "qos")
)
SUMS = "milligpu_seconds, cpu_seconds, node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended, unknown_gpu_runs"
CARD = """
    LEFT JOIN accelerator_model AS m ON m.code = u.model AND m.card_id IS NOT NULL
    LEFT JOIN card_factor AS c
        ON c.model_id = m.id AND (c.from_on IS NULL OR c.from_on <= u.{day}) AND (c.to_on IS NULL OR c.to_on > u.{day})"""
HOME = f"""
    JOIN project AS p ON p.code = u.project
    LEFT JOIN placement AS h
        ON h.project_id = p.id AND (h.from_on IS NULL OR h.from_on <= u.{{day}}) AND (h.to_on IS NULL OR h.to_on > u.{{day}})
    LEFT JOIN department AS d ON d.id = h.department_id{CARD}"""

#: Facts with the home department of their day and the card factor of their model.
BY_DAY = f"""
    SELECT u.day, u.band, u.cluster, u.pool, u.model, u.account, u."user", u.project, u.qos, u.outcome, u.milligpu_seconds,
        u.cpu_seconds, u.node_seconds, u.wall_seconds, u.memory_mib_seconds, u.runs_started, u.runs_ended, u.unknown_gpu_runs,
        coalesce(d.code, 'unattributed') AS department,
        u.milligpu_seconds * coalesce(c.factor, 1) AS card_milligpu_seconds
    FROM usage_day AS u {HOME.format(day="day")}
    WHERE u.day BETWEEN %s AND %s
"""

#: The whole site's, by day: nobody's account, user, project or department is told apart.
BY_SITE_DAY = f"""
    SELECT u.day, u.band, u.cluster, u.pool, u.model, u.qos, u.outcome, u.milligpu_seconds, u.cpu_seconds, u.node_seconds,
        u.wall_seconds, u.memory_mib_seconds, u.runs_started, u.runs_ended, u.unknown_gpu_runs,
        u.milligpu_seconds * coalesce(c.factor, 1) AS card_milligpu_seconds
    FROM usage_site_day AS u {CARD.format(day="day")}
    WHERE u.day BETWEEN '{{low}}' AND '{{high}}'
"""

#: The same by month. A project that changes its home within a month, and a model that changes its factor, are read day by day.
BY_MONTH = f"""
    WITH moved AS (
        SELECT p.code FROM placement AS h JOIN project AS p ON p.id = h.project_id
        CROSS JOIN LATERAL (VALUES (h.from_on), (h.to_on)) AS b (day)
        WHERE b.day > '{{low}}' AND b.day <= '{{high}}' AND extract(day FROM b.day) <> 1
    ), refactored AS (
        SELECT m.code FROM card_factor AS c JOIN accelerator_model AS m ON m.id = c.model_id
        CROSS JOIN LATERAL (VALUES (c.from_on), (c.to_on)) AS b (day)
        WHERE b.day > '{{low}}' AND b.day <= '{{high}}' AND extract(day FROM b.day) <> 1
    )
    SELECT x.*, coalesce(d.code, 'unattributed') AS department, x.milligpu_seconds * coalesce(c.factor, 1) AS card_milligpu_seconds
    FROM (
        SELECT u.month AS day, {KEYS}, {SUMS} FROM usage_month AS u
        WHERE u.month BETWEEN '{{first}}' AND '{{last}}' AND u.project NOT IN (SELECT code FROM moved)
            AND u.model NOT IN (SELECT code FROM refactored)
        UNION ALL
        SELECT u.day, {KEYS}, {SUMS} FROM usage_day AS u
        WHERE (u.day BETWEEN '{{low}}' AND '{{before}}' OR u.day BETWEEN '{{behind}}' AND '{{high}}')
            AND u.project NOT IN (SELECT code FROM moved) AND u.model NOT IN (SELECT code FROM refactored)
        UNION ALL
        SELECT u.day, {KEYS}, {SUMS} FROM usage_day AS u
        WHERE u.day BETWEEN '{{low}}' AND '{{high}}' AND u.project IN (SELECT code FROM moved)
        UNION ALL
        SELECT u.day, {KEYS}, {SUMS} FROM usage_day AS u
        WHERE u.day BETWEEN '{{low}}' AND '{{high}}' AND u.model IN (SELECT code FROM refactored)
            AND u.project NOT IN (SELECT code FROM moved) AND EXISTS (SELECT 1 FROM refactored)
    ) AS x {HOME.replace("u.", "x.").format(day="day")}
"""


def _homeless(question: str) -> str:
    """The question without the homes of projects, for who asks for no department."""
    for alias in ("u", "x"):
        home, card = (one.replace("u.", f"{alias}.").format(day="day") for one in (HOME, CARD))
        question = question.replace(home, card)
    return question.replace("coalesce(d.code, 'unattributed') AS department, ", "").replace(
        "coalesce(d.code, 'unattributed') AS department,\n", ""
    )


BY_DAY_ALONE, BY_MONTH_ALONE = _homeless(BY_DAY), _homeless(BY_MONTH)


def whole_months(span: Span) -> Span | None:
    """The whole months within the span, from the first day of the first to the last day of the last; None where there is none."""
    low, high = span
    first = low if low.day == 1 else date(low.year + low.month // 12, low.month % 12 + 1, 1)
    after = high + timedelta(days=1)
    last = after.replace(day=1) - timedelta(days=1)
    return Span(first, last) if first < last else None


def is_summed(span: Span, names: Collection[str]) -> bool:
    """Whether months are read by their sums: the span has whole ones, and no dimension or filter named is finer."""
    return whole_months(span) is not None and not FINER & set(names)


def facts_of(span: Span, names: Collection[str], *, of_site: bool = False) -> str:
    """A question for the facts of the days, with `department` and `card_milligpu_seconds`; it takes no parameters.

    `of_site`: everybody's are asked for, so that account, user, project and department may be missing unless `names` has them.
    The days before the first whole month and behind the last are read one by one.
    """
    low, high = (_plain(day) for day in span)
    months = whole_months(span)
    if of_site and OF_SITE.issuperset(names):
        return BY_SITE_DAY.format(low=low, high=high)
    is_alone = of_site and not HOME_NAMES & set(names)
    if months is None or not is_summed(span, names):
        return (BY_DAY_ALONE if is_alone else BY_DAY).replace("%s AND %s", f"'{low}' AND '{high}'")
    given = {"first": months.first_on, "last": months.last_on, "before": months.first_on - timedelta(days=1)}
    given["behind"] = months.last_on + timedelta(days=1)
    return (BY_MONTH_ALONE if is_alone else BY_MONTH).format(
        low=low, high=high, **{name: _plain(day) for name, day in given.items()}
    )


def lines_of(span: Span, names: Collection[str]) -> str:
    """A question for what departments owe for use of these days, by the columns of a line; it takes no parameters."""
    low, high = (_plain(day) for day in span)
    if whole_months(span) == span and is_summed(span, names):
        return f"SELECT month AS used_on, * FROM line_month WHERE month BETWEEN '{low}' AND '{high}'"
    return f"SELECT * FROM line WHERE account_kind = 'department' AND used_on BETWEEN '{low}' AND '{high}'"


def _plain(day: date) -> str:
    """As SQL has it: of a date there is nothing to escape."""
    return day.isoformat()
