"""Measurement of the selection on recorded cases: recall of the failing tests, and share of the suite."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from coderag import CodeRAG
from coderag.errors import CodeRAGError

from .cases import Case, check_out

ChangePart = Literal["change", "source"]
"""``change``: the commit as it was; ``source``: its source code alone, when its tests are already there."""

PARTS: Final[tuple[ChangePart, ...]] = ("change", "source")
_ALL_TESTS: Final = 100_000


@dataclass(frozen=True, slots=True)
class Selection:
    """Selection for one part of a case.

    Attributes:
        ranked: Selected tests, the likeliest first.
        scores: Their scores.
        failing: Tests that fail without the change.
        passing: All tests.
        seconds: Time of the review.
    """

    repository: str
    revision: str
    part: ChangePart
    ranked: list[str]
    scores: list[float]
    failing: list[str]
    passing: list[str]
    seconds: float
    import_error: bool

    def compute_recall(self, n_tests: int | None = None) -> float:
        """Return the share of the failing tests among the first selected ones, or among all."""
        return len(set(self.failing) & set(self.ranked[:n_tests])) / len(self.failing)

    @property
    def share(self) -> float:
        """Share of the suite that is selected, 0 to 1."""
        return len(set(self.passing) & set(self.ranked)) / len(self.passing)


def select_tests(
    repository: str, checkout: Path, cases: Sequence[Case], note: Callable[[str], None]
) -> Iterator[Selection]:
    """Yield the selections for some cases; the checkout is moved to each of their commits and indexed there."""
    for case in cases:
        check_out(checkout, case.revision)
        with CodeRAG(checkout, trusted=False) as rag:
            rag.index()
            for part in PARTS:
                start = time.perf_counter()
                try:
                    base = case.parent if part == "change" else case.base
                    review = rag.review_change(f"{base}..{case.revision}", max_tests=_ALL_TESTS)
                except CodeRAGError as error:
                    note(f"{case.revision[:10]} {part}: {error}")
                    continue
                seconds = time.perf_counter() - start
                tests = [test for test in review.tests.tests if test.framework == "pytest"]
                selection = Selection(
                    repository, case.revision, part, [test.selector for test in tests], [test.score for test in tests],
                    case.failing, case.passing, seconds, case.import_error,
                )  # fmt: skip
                note(
                    f"{case.revision[:10]} {part}: recall {selection.compute_recall():.2f}, share {selection.share:.2f}"
                )
                yield selection


def write_selections(path: Path, selections: Iterator[Selection]) -> list[Selection]:
    """Write selections as lines of JSON, and return them."""
    written = []
    with path.open("w", encoding="utf-8") as file:
        for selection in selections:
            file.write(json.dumps(asdict(selection)) + "\n")
            written.append(selection)
    return written


def read_selections(path: Path) -> list[Selection]:
    """Read written selections."""
    return [Selection(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
