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


def select_for_platform(program: "Program", file: int, declarations: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return the nearest declaration of a multiplatform project: of the file's own platform, else the common one.

    The folder below ``src`` is the platform: ``src/jvmMain``, ``src/commonTest``.
    """
    if len(declarations) == 1:
        return declarations[0]
    own_path = program.rows[file].path if file >= 0 else ""
    own_platform = _find_platform(own_path)

    def rank(declaration: tuple[int, int]) -> tuple[int, bool, bool, int]:
        path = program.rows[declaration[0]].path
        platform = _find_platform(path)
        shared = _count_shared_folders(own_path.partition("/src/")[0] + "/", path) if own_path else 0
        return shared, platform == own_platform, platform == "common", -declaration[0]

    return max(declarations, key=rank)


def _find_platform(path: str) -> str:
    folder = path.partition("/src/")[2].partition("/")[0]
    return folder.removesuffix("Main").removesuffix("Test")
