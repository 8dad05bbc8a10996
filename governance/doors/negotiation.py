"""Which form an answer has. Apart from the doors, since the framework asks for it before it has views."""

from __future__ import annotations

from typing import Any

from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request


class JsonAlways(DefaultContentNegotiation):
    """There is one form of answer; whoever would rather have another is answered in it all the same."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> Any:
        """The first."""
        return renderers[0], renderers[0].media_type
