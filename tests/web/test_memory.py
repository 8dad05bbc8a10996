"""The memory of one reading request."""

from __future__ import annotations

from governance.access.memory import remembered, remembering

ASKED: list[int] = []


@remembered
def double(number: int) -> int:
    ASKED.append(number)
    return 2 * number


def test_within_a_page_the_same_question_is_asked_once() -> None:
    ASKED.clear()
    with remembering():
        assert [double(1), double(1), double(2)] == [2, 2, 4]
    assert ASKED == [1, 2]


def test_the_next_page_and_everything_else_asks_again() -> None:
    ASKED.clear()
    with remembering():
        double(1)
    with remembering():
        double(1)
    double(1)
    double(1)
    assert ASKED == [1, 1, 1, 1]
