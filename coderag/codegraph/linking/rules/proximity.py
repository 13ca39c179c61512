"""Choice of the nearest of several equal declarations."""

from collections.abc import Sequence

from coderag.codegraph.linking.program import Program


def select_nearest(program: "Program", file: int, declarations: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the declaration, as (file, index), with the most folders in common with a file; the first one among equals.

    Args:
        file: -1 if it does not matter.
    """
    if len(declarations) == 1 or file < 0:
        return declarations[0]
    own_path = program.rows[file].path
    return max(
        declarations,
        key=lambda declaration: (_count_shared_folders(own_path, program.rows[declaration[0]].path), -declaration[0]),
    )


def _count_shared_folders(path: str, other_path: str) -> int:
    pairs = zip(path.split("/")[:-1], other_path.split("/")[:-1], strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(path.count("/"), other_path.count("/")))
