"""The questions in PromQL. A window is open at its early end, so that no sample stands in two of them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .labels import MOST, LabelMap, Metric

_UNSAFE = re.compile(r'([\\"])')


def quoted(text: str) -> str:
    """A PromQL string."""
    return '"' + _UNSAFE.sub(r"\\\1", text) + '"'


def of_nodes(label: str, nodes: Sequence[str]) -> str:
    """A selector of series of these nodes; the empty name is a series without the label."""
    return "{%s=~%s}" % (label, quoted("|".join(re.escape(node) for node in nodes)))  # noqa: UP031  braces on both sides


def window(seconds: float, resolution: int = 0) -> str:
    """A range (with a resolution: a subquery) that leaves out its early edge: Prometheus before 3.0 counts both."""
    return f"[{round(seconds * 1000) - 1}ms{f':{resolution}s' if resolution else ''}]"


def activity(by: LabelMap, selector: str, step: float) -> str:
    """Mean activity of each card and job over the step, as a ratio; the metric the map prefers where it speaks, else the next."""
    parts = [
        _best(by, m, f"avg_over_time({m.name}{selector}{window(step)})", "activity") for m in by.metrics["activity"]
    ]
    return " or ".join(parts)


def memory(by: LabelMap, selector: str, seconds: int, resolution: int) -> str:
    """The most memory of each card and job over the window, MiB; blanks are left out before the most is taken."""
    parts = [
        _best(
            by,
            m,
            f"max_over_time(({m.name}{selector} <= {MOST['memory'] / m.factor:.0f}){window(seconds, resolution)})",
            "memory",
        )
        for m in by.metrics["memory"]
    ]
    return " or ".join(parts)


def energy(by: LabelMap, selector: str, seconds: int, resolution: int) -> str:
    """Joules of each card and job over the window: the counter's growth (resets allowed for), else power times time."""
    parts = [_best(by, m, f"increase({m.name}{selector}[{seconds}s])", "energy") for m in by.metrics["energy"]]
    parts += [
        _best(
            by,
            m,
            f"avg_over_time({m.name}{selector}{window(resolution)})",
            "power",
            over=window(seconds, resolution),
            times=resolution,
        )
        for m in by.metrics["power"]
    ]
    return " or ".join(parts)


def _best(by: LabelMap, metric: Metric, inner: str, kind: str, over: str = "", times: float = 1) -> str:
    scaled = f"{inner} * {metric.factor!r}" if metric.factor != 1 else inner
    kept = f"({scaled} <= {MOST[kind]!r})"
    if over:
        kept = f"sum_over_time({kept}{over}) * {times!r}"
    return f"max by ({', '.join(by.kept)}) ({kept})"


def node_power(by: LabelMap, node: str, selector: str, step: int) -> str:
    """Watts of each node, mean over the step; a card that several exporters or slices tell of counts once."""
    return _by_node(by, "power", node, selector, step, "sum", "avg_over_time")


def node_temperature(by: LabelMap, node: str, selector: str, step: int) -> str:
    """The hottest card of each node over the step, degrees Celsius."""
    return _by_node(by, "temperature", node, selector, step, "max", "max_over_time")


def _by_node(by: LabelMap, kind: str, node: str, selector: str, step: int, outer: str, inner: str) -> str:
    cards = ", ".join(dict.fromkeys([node, *by.card]))
    found = [
        f"max by ({cards}) ({inner}({m.name}{selector}{window(step)}) * {m.factor!r} <= {MOST[kind]!r})"
        for m in by.metrics[kind]
    ]
    return f"{outer} by ({node}) ({' or '.join(found)})" if found else ""
