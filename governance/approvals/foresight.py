"""What a decision foresees: use, wait, cost. Kept with it and scored later; it never keeps anybody from deciding."""

from __future__ import annotations

from typing import Any

from .models import Ask, AskLine


def predict(ask: Ask, lines: list[AskLine]) -> dict[str, Any]:
    """Figures by name, each with the code of its metric."""
    return {}
