"""Facts and lines as statements read them: day by day, or summed by month where whole months are asked for and nothing finer."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date, timedelta

from .rules import Span

#: What is not in the sums by month.
FINER = frozenset({"day", "account", "user", "outcome"})

SUMS = "milligpu_seconds, cpu_seconds, node_seconds, wall_seconds, memory_mib_seconds, runs_started, runs_ended, unknown_gpu_runs"
HOME = """
    JOIN project AS p ON p.code = u.project
    LEFT JOIN placement AS h
        ON h.project_id = p.id AND (h.from_on IS NULL OR h.from_on <= u.{day}) AND (h.to_on IS NULL OR h.to_on > u.{day})
    LEFT JOIN department AS d ON d.id = h.department_id
    LEFT JOIN accelerator_model AS m ON m.code = u.model AND m.card_id IS NOT NULL
    LEFT JOIN card_factor AS c
        ON c.model_id = m.id AND (c.from_on IS NULL OR c.from_on <= u.{day}) AND (c.to_on IS NULL OR c.to_on > u.{day})"""

#: Facts with the home department of their day and the card factor of their model.
BY_DAY = f"""
    SELECT u.day, u.band, u.cluster, u.pool, u.model, u.account, u."user", u.project, u.qos, u.outcome, u.milligpu_seconds,
        u.cpu_seconds, u.node_seconds, u.wall_seconds, u.memory_mib_seconds, u.runs_started, u.runs_ended, u.unknown_gpu_runs,
        coalesce(d.code, 'unattributed') AS department,
        u.milligpu_seconds * coalesce(c.factor, 1) AS card_milligpu_seconds
    FROM usage_day AS u {HOME.format(day="day")}
    WHERE u.day BETWEEN %s AND %s
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
        SELECT u.month AS day, u.band, u.cluster, u.pool, u.model, u.project, u.qos, {SUMS} FROM usage_month AS u
        WHERE u.month BETWEEN '{{low}}' AND '{{high}}' AND u.project NOT IN (SELECT code FROM moved)
            AND u.model NOT IN (SELECT code FROM refactored)
        UNION ALL
        SELECT u.day, u.band, u.cluster, u.pool, u.model, u.project, u.qos, {SUMS} FROM usage_day AS u
        WHERE u.day BETWEEN '{{low}}' AND '{{high}}' AND u.project IN (SELECT code FROM moved)
        UNION ALL
        SELECT u.day, u.band, u.cluster, u.pool, u.model, u.project, u.qos, {SUMS} FROM usage_day AS u
        WHERE u.day BETWEEN '{{low}}' AND '{{high}}' AND u.model IN (SELECT code FROM refactored)
            AND u.project NOT IN (SELECT code FROM moved) AND EXISTS (SELECT 1 FROM refactored)
    ) AS x {HOME.replace("u.", "x.").format(day="day")}
"""


def is_whole_months(span: Span, names: Collection[str]) -> bool:
    """Whether the span is of whole months, and none of the dimensions and filters named wants more than their sums."""
    after = span.last_on + timedelta(days=1)
    return span.first_on.day == 1 and after.day == 1 and not FINER & set(names)


def facts_of(span: Span, names: Collection[str]) -> str:
    """A question for the facts of the days, with `department` and `card_milligpu_seconds`; it takes no parameters."""
    low, high = (_plain(day) for day in span)
    if is_whole_months(span, names):
        return BY_MONTH.format(low=low, high=high)
    return BY_DAY.replace("%s AND %s", f"'{low}' AND '{high}'")


def lines_of(span: Span, names: Collection[str]) -> str:
    """A question for what departments owe for use of these days, by the columns of a line; it takes no parameters."""
    low, high = (_plain(day) for day in span)
    if is_whole_months(span, names):
        return f"SELECT month AS used_on, * FROM line_month WHERE month BETWEEN '{low}' AND '{high}'"
    return f"SELECT * FROM line WHERE account_kind = 'department' AND used_on BETWEEN '{low}' AND '{high}'"


def _plain(day: date) -> str:
    """As SQL has it: of a date there is nothing to escape."""
    return day.isoformat()
