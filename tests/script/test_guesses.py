from __future__ import annotations

from sickbay.script.guesses import guess


def test_a_guess_that_fails_is_none() -> None:
    @guess
    def deep(times: int) -> int | None:
        return times if times == 0 else deep(times - 1) if times < 3 else 1 // 0

    assert (deep(0), deep(2), deep(9)) == (0, 0, None)
