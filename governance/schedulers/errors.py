"""Why a source or a record cannot be read: stable codes with their particulars; whoever shows them words them."""

from __future__ import annotations


class UnreadableSource(Exception):  # noqa: N818  the name says what is wrong, as DomainErrors do
    """The source as a whole cannot be read.

    `code` is one of: "empty", "is_a_directory", "not_found", "not_permitted", "unreadable", "binary", "broken_gzip",
    "truncated_gzip", "no_known_columns", "missing_columns", "not_json", "truncated_json", "no_jobs",
    "scheduler_errors", "unknown_time_zone", "unknown_format". `detail` holds the particulars as plain values.
    """

    def __init__(self, code: str, **detail: object) -> None:
        particulars = ", ".join(f"{key}={value!r}" for key, value in detail.items())
        super().__init__(f"{code}: {particulars}" if particulars else code)
        self.code = code
        self.detail: dict[str, object] = detail


class RecordFault(ValueError):  # noqa: N818
    """One record cannot be read; it becomes a BadRecord with this code and reason."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
