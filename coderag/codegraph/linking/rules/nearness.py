"""Which of several equal declarations a file means: the nearest one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.codegraph.linking.program import Program


def nearest(program: "Program", file: int, found: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return of declarations, as (file, index), that with most folders in common with a file; the first of equals.

    Args:
        file: -1 if it does not matter.
    """
    if len(found) == 1 or file < 0:
        return found[0]
    own = program.rows[file].path
    return max(found, key=lambda one: (_shared(own, program.rows[one[0]].path), -one[0]))


def _shared(one: str, other: str) -> int:
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(one.count("/"), other.count("/")))
