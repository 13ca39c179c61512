"""Background reading of the declarations of commits."""

from collections.abc import Iterator

from coderag.errors import HistoryError
from coderag.workspace.declaration_reading import DeclarationReading


class FakeHistory:
    """A history with a number of commits to read."""

    def __init__(self, commits: int, error: Exception | None = None) -> None:
        self.rest = commits
        self.starts = 0
        self._error = error

    def read_declarations(self, limit: int | None = None) -> Iterator[int]:
        self.starts += 1
        if self._error is not None:
            raise self._error
        while self.rest:
            self.rest -= 1
            yield 1


def test_all_histories_are_read_while_nothing_waits() -> None:
    reading = DeclarationReading(lambda: False)
    histories = [FakeHistory(3), FakeHistory(2)]
    for history in histories:
        reading.add(history)  # type: ignore[arg-type]
    reading.run()
    assert [history.rest for history in histories] == [0, 0]


def test_task_interrupts_reading_which_then_goes_on() -> None:
    waiting = [False, False, True]
    reading = DeclarationReading(lambda: waiting.pop(0) if waiting else False)
    history = FakeHistory(5)
    reading.add(history)  # type: ignore[arg-type]
    reading.run()
    assert history.rest == 3
    reading.run()
    assert (history.rest, history.starts) == (0, 1)


def test_new_commits_are_read_first() -> None:
    reading = DeclarationReading(iter([False, True] + [False] * 20).__next__)
    history = FakeHistory(5)
    reading.add(history)  # type: ignore[arg-type]
    reading.run()
    reading.add(history)  # type: ignore[arg-type]
    reading.run()
    assert (history.rest, history.starts) == (0, 2)


def test_failing_history_does_not_stop_the_others() -> None:
    reading = DeclarationReading(lambda: False)
    other = FakeHistory(2)
    for history in (other, FakeHistory(1, HistoryError("no git")), FakeHistory(1, ValueError("a bug"))):
        reading.add(history)  # type: ignore[arg-type]
    reading.run()
    assert other.rest == 0
