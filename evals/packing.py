"""What fits a token budget of an engine that only ranks: its results in order, the last one cut where the budget ends."""

from collections.abc import Sequence

from coderag.text.token_counts import count_tokens

from .metrics import Shown
from .repository import Repository
from .runs import RankedResult


def pack(results: Sequence[RankedResult], budget: int, repository: Repository) -> list[Shown]:
    """Return the lines that fit, each result below a line with its place, a line that was shown before only once.

    Args:
        results: Best first.
        budget: In tokens.
        repository: Where the lines are read.
    """
    left = budget
    packed: list[Shown] = []
    seen: set[tuple[str, int]] = set()
    for result in results:
        lines = repository.lines(result.path)
        numbers = [
            number
            for number in range(result.start_line, min(result.end_line, len(lines)) + 1)
            if (result.path, number) not in seen
        ]
        left -= count_tokens(f"{result.location}\n")
        shown = set()
        for number in numbers:
            left -= count_tokens(lines[number - 1] + "\n")
            if left < 0:
                break
            shown.add(number)
        packed.append(Shown(result.path, shown))
        seen |= {(result.path, number) for number in shown}
        if left <= 0:
            break
    return packed
