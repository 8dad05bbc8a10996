"""Reading the ledger: hours from the facts, amounts from the lines, what is not posted yet as accrued."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection
from django.utils.translation import gettext

from governance.access.actor import Actor, require
from governance.access.named import in_language
from governance.catalogue.models import AcceleratorModel, Cluster, Pool
from governance.catalogue.reads import installation
from governance.doors import paging
from governance.errors import N_, BadData
from governance.tenants.models import UNATTRIBUTED, Project, department_tree
from governance.usage import watermarks

from . import accruals, exceptions, scope
from .facts import facts_of, is_summed, lines_of
from .rules import Span, span_of
from .statement import DIMENSIONS, HOURS_ONLY, Row, Statement, Sums

#: Columns of facts and of lines by dimension; a dimension that lines do not have is None.
FACT_COLUMNS = {d: f'f."{d}"' for d in DIMENSIONS} | {"day": "f.day::text"}
LINE_COLUMNS = {d: f'l."{d}"' for d in DIMENSIONS if d not in HOURS_ONLY} | {"day": "l.used_on::text"}


class Query(NamedTuple):
    """What is asked: days, dimensions, a department's subtree (codes), and filters by dimension."""

    span: Span
    dimensions: tuple[str, ...]
    departments: list[str] | None
    filters: dict[str, str]


def statement(
    period: str,
    dimensions: Sequence[str] = ("department",),
    *,
    actor: Actor,
    department: str | None = None,
    **filters: str,
) -> Statement:
    """The ledger of a period (`YYYY-MM`, `YYYY` or `day..day`) by up to several dimensions, as far as the actor may see it.

    By department, hours stand whole with the home department of the day and amounts with the payers. By account or outcome there
    are no amounts. Raises BadData for a period or dimension that is none, NotFound for a department or project out of sight.
    """
    return with_months(period, dimensions, None, actor=actor, department=department, **filters).statement


class Found(NamedTuple):
    """A statement, what was posted in each of some months (`YYYY-MM`), and the days of the period that are not posted as they stand."""

    statement: Statement
    months: dict[str, Decimal]
    open_days: list[accruals.OpenDay]


def with_months(
    period: str,
    dimensions: Sequence[str],
    months: Span | None,
    *,
    actor: Actor,
    department: str | None = None,
    **filters: str,
) -> Found:
    """The statement, and beside it the amounts of the months in a span; hours, amounts and accruals are one question."""
    query = _query(period, tuple(dimensions), department, filters, actor)
    with_money = not (set(query.dimensions) | set(query.filters)) & HOURS_ONLY and sees_money(actor)
    rows, by_month, open_days = _figures(query, months, actor, with_money)
    if with_money:
        _add_changed(rows, [one for one in open_days if not one.is_kept], query, actor)
    total = _total(rows.values(), with_money)
    if not with_money:
        for sums in rows.values():
            sums.amount = sums.accrued = None
    of = installation()
    found = Statement(
        period=period,
        first_on=query.span.first_on,
        last_on=query.span.last_on,
        time_zone=of.time_zone,
        currency=of.currency,
        through=through(),
        dimensions=query.dimensions,
        rows=_named(query.dimensions, rows),
        total=total,
        exceptions=exceptions.of_period(query, actor),
    )
    return Found(found, by_month, open_days)


def _query(
    period: str, dimensions: tuple[str, ...], department: str | None, filters: dict[str, str], actor: Actor
) -> Query:
    for name in (*dimensions, *filters):
        if name not in DIMENSIONS:
            raise BadData(
                N_("“%(name)s” is no dimension. Use one of: %(known)s."), name=name, known=", ".join(DIMENSIONS)
            )
    if "project" in filters:
        scope.require_project(actor, filters["project"])
    below = (
        None
        if department is None
        else [UNATTRIBUTED]
        if department == UNATTRIBUTED
        else scope.subtree(actor, department)
    )
    return Query(span_of(period), dimensions, below, {name: str(value) for name, value in filters.items()})


def sees_money(actor: Actor) -> bool:
    """Whether any amount is the actor's to see."""
    found = scope.reach(actor, "money.view")
    return found.everything or bool(found.departments or found.projects)


def conditions(
    query: Query, columns: dict[str, str], actor: Actor, capability: str, *, by_day: bool = False
) -> tuple[str, list[Any]]:
    """SQL for the rows that are asked for and that the actor may see, over the columns named. `by_day`: of facts read day by day."""
    sql, given = scope.reach(actor, capability).condition(columns["project"], columns["department"])
    parts = [sql]
    if query.departments is not None:
        parts.append(f"{columns['department']} = ANY(%s)")
        given.append(query.departments)
    if by_day:
        for sql, more in _near(query, scope.reach(actor, capability)):
            parts.append(sql)
            given += more
    for name, value in query.filters.items():
        parts.append(f"{columns[name]} = %s")
        given.append(value)
    if "user" in (*query.dimensions, *query.filters):
        # Another person's rows need more than membership (definitions: user and project).
        sql, more = scope.reach(actor, "run.view").condition(columns["project"], columns["department"])
        parts.append(f"({sql} OR {columns['user']} = ANY(%s))")
        given += [*more, scope.own_logins(actor)]
    return " AND ".join(parts), given


#: Projects that were ever at home in some departments, and others: only their facts need to be read to find those of the home of
#: the day, by the index of facts by project. A month's sums are few: they are read whole.
NEAR = """f.project = ANY(ARRAY(
    SELECT p.code FROM placement AS h JOIN project AS p ON p.id = h.project_id JOIN department AS d ON d.id = h.department_id
    WHERE d.code = ANY(%s) UNION ALL SELECT unnest(%s::text[])))"""


def _near(query: Query, reach: scope.Reach) -> list[tuple[str, list[Any]]]:
    """Conditions that the others imply, by project. Use without a home may be of any project."""
    found: list[tuple[str, list[Any]]] = []
    if query.departments is not None and UNATTRIBUTED not in query.departments:
        found.append((NEAR, [query.departments, []]))
    if not reach.everything:
        found.append((NEAR, [reach.departments, reach.projects]))
    return found


def is_of_site(query: Query, actor: Actor) -> bool:
    """Whether everybody's hours are asked for, by somebody who may see them: the conditions look at no project or department then."""
    return query.departments is None and actor.may("usage.view")


#: What a row is, its key (one text for each dimension), eight sums, an amount.
USED = """
    SELECT 'used' AS what, ARRAY[{facts}]::text[] AS key, sum(milligpu_seconds), sum(card_milligpu_seconds), sum(cpu_seconds),
        sum(node_seconds), sum(wall_seconds), sum(memory_mib_seconds), sum(runs_started), sum(runs_ended), NULL::numeric AS amount
    FROM ({all_facts}) AS f WHERE {used} {by_facts}"""
CHARGED = """
    UNION ALL SELECT 'posted', ARRAY[{lines}]::text[], 0, 0, 0, 0, 0, 0, 0, 0, sum(l.amount)
    FROM ({all_lines}) AS l WHERE {money} {by_lines}
    UNION ALL SELECT 'accrued', ARRAY[{lines}]::text[], 0, 0, 0, 0, 0, 0, 0, 0, sum(l.amount)
    FROM accrued_line AS l JOIN ({open_days}) AS o (code, day, kept) ON o.code = l.cluster AND o.day = l.used_on AND o.kept
    WHERE {money} {by_lines}
    UNION ALL SELECT CASE WHEN kept THEN 'open' ELSE 'changed' END, ARRAY[code, day::text], 0, 0, 0, 0, 0, 0, 0, 0, NULL
    FROM ({open_days}) AS o (code, day, kept)"""
BY_MONTH = """
    UNION ALL SELECT 'month', ARRAY[l.used_on::text], 0, 0, 0, 0, 0, 0, 0, 0, sum(l.amount)
    FROM ({all_lines}) AS l WHERE {money} GROUP BY l.used_on"""


def _figures(
    query: Query, months: Span | None, actor: Actor, with_money: bool
) -> tuple[dict[tuple[str, ...], Sums], dict[str, Decimal], list[accruals.OpenDay]]:
    """Hours, what is posted and what is accrued by the dimensions; amounts by month; the open days."""
    names = {*query.dimensions, *query.filters}
    by_day = not is_summed(query.span, names)
    used, of_facts = conditions(query, FACT_COLUMNS, actor, "usage.view", by_day=by_day)
    keys = ", ".join(FACT_COLUMNS[d] for d in query.dimensions)
    asked, given = (
        USED.format(
            facts=keys,
            all_facts=facts_of(query.span, names, of_site=is_of_site(query, actor)),
            used=used,
            by_facts=_grouped(keys),
        ),
        list(of_facts),
    )
    if with_money:
        money, of_lines = conditions(query, LINE_COLUMNS, actor, "money.view")
        keys = ", ".join(LINE_COLUMNS[d] for d in query.dimensions)
        asked += CHARGED.format(
            lines=keys,
            money=money,
            open_days=accruals.OPEN,
            all_lines=lines_of(query.span, names),
            by_lines=_grouped(keys),
        )
        given += [*of_lines, *query.span, *of_lines, *query.span]
        if months is not None:
            asked += BY_MONTH.format(money=money, all_lines=lines_of(months, names))
            given += of_lines
    rows: dict[tuple[str, ...], Sums] = {}
    by_month: dict[str, Decimal] = {}
    open_days = []
    for what, key, *sums, amount in _rows(asked, given):
        if what in {"open", "changed"}:
            open_days.append(accruals.OpenDay(key[0], date.fromisoformat(key[1]), what == "open"))
        elif what == "month":
            by_month[key[0][:7]] = by_month.get(key[0][:7], Decimal(0)) + amount
        else:
            _add(rows.setdefault(tuple(key), Sums()), what, sums, amount)
    return rows, by_month, open_days


def _grouped(keys: str) -> str:
    """One row for each key; without keys one row, or none where there is nothing."""
    return f"GROUP BY {keys}" if keys else "HAVING count(*) > 0"


def _add(row: Sums, what: str, sums: list[Any], amount: Decimal) -> None:
    assert row.amount is not None and row.accrued is not None
    if what == "posted":
        row.amount += amount
    elif what == "accrued":
        row.accrued += amount
    else:
        milli, card, *rest = sums
        row.milligpu_seconds, row.card_milligpu_seconds = int(milli), Decimal(card)
        row.cpu_seconds, row.node_seconds, row.wall_seconds, row.memory_mib_seconds = (int(value) for value in rest[:4])
        row.runs_started, row.runs_ended = (int(value) for value in rest[4:])


def _add_changed(
    rows: dict[tuple[str, ...], Sums], changed: list[accruals.OpenDay], query: Query, actor: Actor
) -> None:
    """What is priced but not posted of days that changed a moment ago: their accrual is not kept as they stand now."""
    sees = _Sight(query, actor) if changed else None
    for one, d in accruals.worked_out_now(changed):
        values = {**d._asdict(), "day": one.day.isoformat(), "cluster": one.cluster}
        if sees is not None and sees(values):
            _accrue(rows, tuple(values[name] for name in query.dimensions), d.amount)


def _accrue(rows: dict[tuple[str, ...], Sums], key: tuple[str, ...], amount: Decimal) -> None:
    sums = rows.setdefault(key, Sums())
    assert sums.accrued is not None
    sums.accrued += amount


class _Sight:
    """The same question as `conditions`, of one difference that is no row of the database yet."""

    def __init__(self, query: Query, actor: Actor) -> None:
        self._query = query
        self._money = scope.reach(actor, "money.view")
        self._runs = scope.reach(actor, "run.view")
        self._own = scope.own_logins(actor)
        self._by_user = "user" in (*query.dimensions, *query.filters)

    def __call__(self, values: dict[str, Any]) -> bool:
        query = self._query
        if query.departments is not None and values["department"] not in query.departments:
            return False
        if any(values[name] != value for name, value in query.filters.items()):
            return False
        if self._by_user and not (_within(self._runs, values) or values["user"] in self._own):
            return False
        return _within(self._money, values)


def _within(found: scope.Reach, values: dict[str, Any]) -> bool:
    return found.everything or values["project"] in found.projects or values["department"] in found.departments


def _total(rows: Iterable[Sums], with_money: bool) -> Sums:
    """Totals from whole seconds, not from rounded rows."""
    total = Sums()
    for sums in rows:
        for name in Sums.__dataclass_fields__:
            setattr(total, name, getattr(total, name) + (getattr(sums, name) or 0))
    if not with_money:
        total.amount = total.accrued = None
    return total


def _named(dimensions: tuple[str, ...], rows: dict[tuple[str, ...], Sums]) -> list[Row]:
    names = {d: _names(d) for d in dimensions}
    return [
        Row(
            dict(zip(dimensions, key, strict=True)),
            " / ".join(names[d].get(code, code) for d, code in zip(dimensions, key, strict=True)),
            sums,
        )
        for key, sums in sorted(rows.items())
    ]


def _names(dimension: str) -> dict[str, str]:
    if dimension == "department":
        return {one.code: one.name for one in department_tree().values()} | {UNATTRIBUTED: gettext("Unattributed")}
    if dimension in {"project", "pool", "cluster"}:
        table: Any = {"project": Project, "pool": Pool, "cluster": Cluster}[dimension]
        named = table.objects.values_list("code", "name_zh", "name_en")
        return {code: in_language(zh, en) or code for code, zh, en in named}
    if dimension == "model":
        return {model.code: model.name or model.code for model in AcceleratorModel.objects.all()}
    return {}


def through() -> datetime | None:
    """The earliest cluster's metered instant (exclusive); None where a cluster has records that were never metered, or none has any."""
    marks = watermarks.marks()
    found = [marks.get((pk, "metered")) for pk, stage in marks if stage == "ingested"]
    if None in found:
        return None
    return min((at.astimezone(UTC) for at in found if at), default=None)


def _rows(statement: str, given: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, given)
        return list(cursor.fetchall())


class JournalLine(NamedTuple):
    """A line of the journal with its entry, as a page shows it."""

    used_on: date
    period: str
    revision: int
    kind: str
    reason: str
    posted_at: datetime
    department: str
    project: str
    user: str
    pool: str
    model: str
    qos: str
    band: str
    cluster: str
    measure: str
    quantity: int
    share_percent: Decimal
    unit_price: Decimal
    amount: Decimal
    id: int


def lines(
    period: str,
    *,
    actor: Actor,
    limit: int,
    turn: paging.Turn = paging.Turn(),
    department: str | None = None,
    **filters: str,
) -> paging.Page:
    """A page of the JournalLines used in the period, that the actor may see, in the order of their days. `user` is part of a line,
    so another person's lines need more than membership."""
    question, given = _question(_query(period, ("user",), department, filters, actor), actor, turn)
    found = [JournalLine(*row) for row in _rows(f"{question} LIMIT %s", [*given, limit + 1])]
    return paging.cut(found, lambda line: [line.used_on, line.id], turn, limit)


def lines_question(
    period: str, *, actor: Actor, department: str | None = None, **filters: str
) -> tuple[str, list[Any]]:
    """The question for the columns of a JournalLine of all the lines that `lines` answers, without an end: for a cursor that streams."""
    return _question(_query(period, ("user",), department, filters, actor), actor)


def _question(query: Query, actor: Actor, turn: paging.Turn = paging.Turn()) -> tuple[str, list[Any]]:
    where, given = conditions(query, LINE_COLUMNS, actor, "money.view")
    if turn.place is not None:
        where, given = (
            f"{where} AND (l.used_on, l.id) {'<' if turn.is_back else '>'} (%s::date, %s)",
            [*given, *turn.place],
        )
    way = "DESC" if turn.is_back else "ASC"
    statement = f"""
        SELECT l.used_on, e.period_id, e.revision, e.kind, e.reason, e.posted_at, l.department, l.project, l."user", l.pool, l.model, l.qos,
            l.band, l.cluster, l.measure, l.quantity, l.share_percent, l.unit_price, l.amount, l.id
        FROM line AS l JOIN entry AS e ON e.id = l.entry_id
        WHERE l.account_kind = 'department' AND l.used_on BETWEEN %s AND %s AND {where}
        ORDER BY l.used_on {way}, l.id {way}"""
    return statement, [*query.span, *given]


class Balance(NamedTuple):
    """One account of the trial balance."""

    account_kind: str
    code: str
    lines: int
    amount: Decimal


def trial_balance(period: str, *, actor: Actor) -> list[Balance]:
    """What each department owes and each pool recovered, booked in the months of the period; the amounts sum to zero.

    Raises NotAllowed without the site's right to see money.
    """
    require(actor, "money.view")
    low, high = span_of(period)
    statement = """
        SELECT account_kind, code, sum(lines)::bigint, sum(amount) FROM booked_month
        WHERE period BETWEEN %s AND %s GROUP BY 1, 2 ORDER BY 1, 2"""
    return [Balance(*row) for row in _rows(statement, [f"{low:%Y-%m}", f"{high:%Y-%m}"])]
