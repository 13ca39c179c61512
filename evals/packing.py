"""Context packing for engines that only rank: results in order, the last one cut where the budget ends."""

from collections.abc import Sequence

from coderag.text.token_counts import count_tokens

from .metrics import ContextLines
from .repository import Repository
from .runs import RankedResult


def pack(results: Sequence[RankedResult], budget: int, repository: Repository) -> list[ContextLines]:
    """Return the lines that fit: each result below a line with its location, each line only once.

    Args:
        results: Best first.
        budget: Token budget.
        repository: Source of the lines.
    """
    remaining = budget
    packed: list[ContextLines] = []
    seen: set[tuple[str, int]] = set()
    for result in results:
        lines = repository.read_lines(result.path)
        numbers = [
            number
            for number in range(result.start_line, min(result.end_line, len(lines)) + 1)
            if (result.path, number) not in seen
        ]
        remaining -= count_tokens(f"{result.location}\n")
        fitting = set()
        for number in numbers:
            remaining -= count_tokens(lines[number - 1] + "\n")
            if remaining < 0:
                break
            fitting.add(number)
        packed.append(ContextLines(result.path, fitting))
        seen |= {(result.path, number) for number in fitting}
        if remaining <= 0:
            break
    return packed
