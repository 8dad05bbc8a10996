"""The organisation document: the same form as any other installation's file, loaded through the same door."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from portal.demo import estate, projects
from portal.demo.estate import Pool

TIME_ZONE = "Asia/Shanghai"
ELASTIC = "low"
ELASTIC_PART = Decimal("0.60")  # of list, see the metric dictionary: borrowed resources
GAP_DAYS = 3  # days without a price in the last pool, so that the list of unpriced days is not empty

# Per GPU-hour in CNY, before and after the change in the middle of the period.
LIST_PRICES = {
    "train-h800": ("12.50", "11.80"),
    "train-a800": ("8.00", "7.60"),
    "dev-a800": ("6.40", "6.40"),
    "infer-l20": ("3.20", "3.00"),
    "train-910b": ("6.00", "5.60"),
    "infer-910b": ("5.20", "5.00"),
}
CPU_CORE_HOUR, MEMORY_GIB_HOUR = "0.08", "0.01"

SITE_NAMES = {"bj1": ("北京一号机房", "Beijing 1"), "gz1": ("广州一号机房", "Guangzhou 1")}
CLUSTER_NAMES = {"bj": ("北京智算集群", "Beijing cluster"), "gz": ("广州昇腾集群", "Guangzhou Ascend cluster")}


def organisation(gpus: int, first_on: date, until: date) -> dict[str, Any]:
    """The company with `gpus` cards, as the organisation file would say it.

    `first_on` is the first day of everything dated, `until` the last day with records (inclusive); changes in the
    middle of the period fall on the first of a month where there is one.
    """
    found = estate.pools(gpus)
    middle = middle_of(first_on, until)
    codes = sorted({pool.plan.cluster for pool in found})
    return {
        "steelyard": 1,
        "settings": {"time_zone": TIME_ZONE, "currency": "CNY", "bands": [{"code": "day"}]},
        "departments": _departments(),
        "projects": _projects(first_on, middle),
        "people": _people(codes, first_on, middle, found[0].code),
        "accelerators": _accelerators(),
        "places": _places(found),
        "clusters": [_cluster(code, found, first_on) for code in codes],
        "mappings": _mappings(found, first_on),
        "prices": _prices(found, first_on, middle),
    }


def middle_of(first_on: date, until: date) -> date:
    """The day on which a price changes and a project moves: the first of a month near the middle, else the middle."""
    half = first_on + timedelta(days=((until - first_on).days + 1) // 2)
    near = [half.replace(day=1), (half.replace(day=1) + timedelta(days=31)).replace(day=1)]
    inside = [day for day in near if first_on < day <= until]
    return min(inside, key=lambda day: abs((day - half).days), default=half)


def _name(zh: str, en: str) -> dict[str, str]:
    return {"zh": zh, "en": en}


def _departments() -> list[dict[str, Any]]:
    rows = []
    for department in projects.DEPARTMENTS:
        row: dict[str, Any] = {"code": department.code, "name": _name(department.zh, department.en)}
        if department.parent:
            row["parent"] = department.parent
        rows.append({**row, "cost_centre": department.cost_centre})
    return rows


def _projects(first_on: date, middle: date) -> list[dict[str, Any]]:
    rows = []
    for project in projects.PROJECTS:
        placements: list[dict[str, Any]] = [{"department": project.department, "from": first_on}]
        if project.code == projects.MOVED:
            placements = [
                {"department": project.department, "from": first_on, "to": middle},
                {"department": "data", "from": middle},
            ]
        elif project.code == projects.SHARED:
            placements[0]["payers"] = {"vision": 70, "llm": 30}
        rows.append({"code": project.code, "name": _name(project.zh, project.en), "placements": placements})
    return rows


def _people(clusters: list[str], first_on: date, middle: date, pool: str) -> list[dict[str, Any]]:
    """One sign-in for each role, a head for each department, an outsider and a former member."""

    def person(username: str, zh: str, en: str, *roles: dict[str, Any], login: str = "") -> dict[str, Any]:
        row: dict[str, Any] = {"username": username, "display_name": _name(zh, en), "email": f"{username}@example.com"}
        if login:
            row["logins"] = [{"cluster": code, "login": login} for code in clusters]
        return {**row, "roles": list(roles)}

    def at(role: str, scope: str, code: str, **dates: date) -> dict[str, Any]:
        return {"role": role, scope: code, **(dates or {"from": first_on})}

    heads = [
        person(f"{d.code}-head", f"{d.zh}负责人", f"Head of {d.en}", at("approver", "department", d.code))
        for d in projects.DEPARTMENTS
    ]
    ended: dict[str, date] = {"from": first_on, "to": middle}
    return [
        *heads,
        person("vision-lead", "文字识别项目负责人", "OCR lead", at("lead", "project", "ocr"), login="ocr-1"),
        person("vision-member", "视觉算法成员", "Vision member", at("member", "project", "ocr"), login="ocr-2"),
        person("vision-former", "视觉前成员", "Former vision member", at("member", "project", "ocr", **ended)),
        person("vision-viewer", "视觉部门观察员", "Vision viewer", at("viewer", "department", "vision")),
        person("search-member", "搜索推荐成员", "Search member", at("member", "project", "recall"), login="recall-1"),
        person("capacity", "平台容量经理", "Capacity manager", {"role": "capacity_manager", "from": first_on}),
        person("pool-manager", "训练池管理员", "Training pool manager", at("capacity_manager", "pool", pool)),
        *(
            person(role, zh, role.capitalize(), {"role": role, "from": first_on})
            for role, zh in (
                ("operator", "平台运维"),
                ("finance", "财务"),
                ("leadership", "管理层"),
                ("auditor", "审计"),
                ("administrator", "系统管理员"),
                ("security", "安全管理员"),
            )
        ),
    ]


def _accelerators() -> list[dict[str, Any]]:
    def card(code: str, vendor: str, name: str, memory: int, power: int, *aliases: str) -> dict[str, Any]:
        row = {"code": code, "vendor": vendor, "name": name, "memory_gib": memory, "power_watts": power}
        return {**row, "aliases": list(aliases)}

    return [
        card("h800", "NVIDIA", "H800 80GB", 80, 700, "h800", "NVIDIA-H800-80GB-HBM3"),
        card("a800", "NVIDIA", "A800 80GB", 80, 400, "a800", "NVIDIA-A800-SXM4-80GB"),
        card("l20", "NVIDIA", "L20 48GB", 48, 275, "l20", "NVIDIA-L20"),
        card("910b", "Huawei", "Ascend 910B", 64, 400, "910b", "Ascend910B"),
    ]


def _places(found: list[Pool]) -> list[dict[str, Any]]:
    """Sites, rooms, rows, racks: each before what stands in it."""
    rows: dict[str, dict[str, Any]] = {}
    for rack in estate.racks(found):
        zh, en = SITE_NAMES[rack.site]
        rows.setdefault(rack.site, {"code": rack.site, "kind": "site", "name": _name(zh, en)})
        room = rack.room.rsplit("m", 1)[1]
        rows.setdefault(
            rack.room,
            {"code": rack.room, "kind": "room", "parent": rack.site, "name": _name(f"{room}号模块", f"Module {room}")},
        )
        rows.setdefault(rack.row, {"code": rack.row, "kind": "row", "parent": rack.room})
        rows[rack.code] = {"code": rack.code, "kind": "rack", "parent": rack.row}
    return list(rows.values())


def _cluster(code: str, found: list[Pool], first_on: date) -> dict[str, Any]:
    own = [pool for pool in found if pool.plan.cluster == code]
    by_code = {pool.code: pool for pool in own}
    nodes = []
    for rack in estate.racks(found):
        pool = by_code.get(rack.pool)
        if pool is None:
            continue
        standing = range(rack.first, rack.first + rack.count)
        for cards in sorted({pool.cards[i] for i in standing}, reverse=True):
            names = [pool.names[i] for i in standing if pool.cards[i] == cards]
            nodes.append(_nodes(pool, names, cards, rack.code, first_on))
    zh, en = CLUSTER_NAMES[code]
    return {
        "code": code,
        "name": _name(zh, en),
        "scheduler": {"kind": "files", "cluster_name": code, "time_zone": TIME_ZONE, "tracks_gpus": True},
        "pools": [
            {
                "code": pool.code,
                "name": _name(pool.plan.zh, pool.plan.en),
                "purpose": pool.plan.purpose,
                "partitions": [pool.plan.partition],
                "accelerators": [pool.plan.machine.accelerator],
            }
            for pool in own
        ],
        "nodes": nodes,
    }


def _nodes(pool: Pool, names: list[str], cards: int, place: str, first_on: date) -> dict[str, Any]:
    machine = pool.plan.machine
    return {
        "names": estate.folded(names),
        "pool": pool.code,
        "accelerator": machine.accelerator,
        "accelerators": cards,
        "cpus": machine.cpus,
        "memory_gib": machine.memory_gib,
        "place": place,
        "from": first_on,
    }


def _mappings(found: list[Pool], first_on: date) -> list[dict[str, Any]]:
    """Each project's account in each of its clusters; one account stays unclaimed, one user is claimed elsewhere."""
    clusters = {pool.code: pool.plan.cluster for pool in found}
    rows = []
    for project in projects.PROJECTS:
        where = {clusters[code] for letter in project.pools if (code := projects.POOL_LETTERS[letter]) in clusters}
        rows += [
            {"cluster": cluster, "account": project.account, "project": project.code, "from": first_on}
            for cluster in sorted(where)
        ]
    department, code, claiming, user = projects.OVERRIDE
    account = f"{department}_{code}"
    if any(row["account"] == account for row in rows):
        rows.append({"cluster": "bj", "account": account, "user": user, "project": claiming, "from": first_on})
    return rows


def _prices(found: list[Pool], first_on: date, middle: date) -> list[dict[str, Any]]:
    """List and elastic price per pool with a change in the middle; the last pool lacks one for a few days before it."""
    gap_from = max(first_on, middle - timedelta(days=GAP_DAYS))
    rows: list[dict[str, Any]] = []
    for pool in found:
        before_to = gap_from if pool is found[-1] else middle
        model = pool.plan.machine.accelerator
        before, after = (Decimal(price) for price in LIST_PRICES[pool.code])
        for qos, part in (("*", Decimal(1)), (ELASTIC, ELASTIC_PART)):
            key = {"pool": pool.code, "accelerator": model, "qos": qos}
            if before_to > first_on:
                rows.append({**key, "from": first_on, "to": before_to, "gpu_hour": _yuan(before * part)})
            rows.append({**key, "from": middle, "gpu_hour": _yuan(after * part)})
        cpu = {"cpu_core_hour": CPU_CORE_HOUR, "memory_gib_hour": MEMORY_GIB_HOUR}
        rows.append({"pool": pool.code, "accelerator": "*", "qos": "*", "from": first_on, **cpu})
    return rows


def _yuan(amount: Decimal) -> str:
    return str(amount.quantize(Decimal("0.01"), rounding=ROUND_HALF_UP))
