"""Show less of a chunk: the body elided, the signature with its docstring, or one line."""

from collections.abc import Collection, Sequence

from coderag.tokens import text_terms

_HEAD_LINES = 6
_TAIL_LINES = 1
_AROUND = 1  # lines shown before and after one that matters
_SHORTEST_GAP = 2  # a shorter gap is not worth its own marker


def elide_body(text: str, terms: Collection[str]) -> str:
    """Return the head and end of a chunk and the lines that have terms of the question; gaps say how long they are."""
    lines = text.rstrip("\n").split("\n")
    wanted = set(terms)
    keep = set(range(_HEAD_LINES)) | set(range(len(lines) - _TAIL_LINES, len(lines)))
    for number, line in enumerate(lines):
        if wanted.intersection(text_terms(line)):
            keep.update(range(number - _AROUND, number + _AROUND + 1))
    shown: list[str] = []
    gap: list[str] = []
    for number, line in enumerate(lines):
        if number in keep:
            shown.extend(_gap_marker(gap))
            shown.append(line)
            gap = []
        else:
            gap.append(line)
    return "\n".join(shown)


def _gap_marker(gap: Sequence[str]) -> Sequence[str]:
    """Return one line that stands for a gap, or the gap itself if it is too short for that."""
    if len(gap) < _SHORTEST_GAP:
        return gap
    indent = gap[0][: len(gap[0]) - len(gap[0].lstrip())]
    return [f"{indent}… {len(gap)} lines"]


def signature_only(signature: str, docstring: str) -> str:
    """Return a declaration's signature and docstring."""
    return f"{signature}\n{_indented(docstring)}".rstrip() if docstring else signature


def _indented(text: str) -> str:
    return "\n".join(f"    {line}".rstrip() for line in text.strip().split("\n"))
