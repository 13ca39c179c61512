"""Chunks by recursive split and merge over the syntax tree, by whole lines.

A node that fits is kept whole and merged with the siblings beside it while they fit together; one that does not is
replaced by its children. What stands before or after those and has fewer than ``min_tokens``, such as the header of a class
and its closing brace, joins the first or last of them.

Source: Zhang et al., "cAST: Enhancing Code Retrieval-Augmented Generation with Structural Chunking via Abstract Syntax
Tree", 2025. It counts characters that are no space and cuts inside lines; here sizes are in tokens.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tree_sitter import Node

Lines = tuple[int, int]
"""First line (0-based) and the line after the last."""

_DEEPEST = 60  # bounds the recursion; what lies deeper is cut by lines


def cast_lines(
    root: Node, starts: Sequence[int], totals: Sequence[int], max_tokens: int, min_tokens: int
) -> list[Lines]:
    """Return the lines of each chunk, in order, without overlap and without gap.

    Only lines that no node divides, such as those of a long string, are left larger than ``max_tokens``.

    Args:
        starts: Where each line begins (`trees.line_starts`).
        totals: Tokens above each line; the last entry is the number of all (`token_counts.line_token_totals`).
    """
    return _Splitter(starts, totals, max_tokens, min_tokens).split([root], (0, len(starts) - 1), 0)


class _Splitter:
    def __init__(self, starts: Sequence[int], totals: Sequence[int], max_tokens: int, min_tokens: int) -> None:
        self._starts = starts
        self._totals = totals
        self._max_tokens = max_tokens
        self._min_tokens = min_tokens

    def _tokens(self, lines: Lines) -> int:
        return self._totals[lines[1]] - self._totals[lines[0]]

    def _fits(self, lines: Lines) -> bool:
        return self._tokens(lines) <= self._max_tokens

    def _belongs(self, edge: Lines, joined: Lines) -> bool:
        """Return whether lines at the edge of a node that was split are few enough to join their neighbour."""
        return self._tokens(edge) < self._min_tokens and self._fits(joined)

    def split(self, nodes: Sequence[Node], lines: Lines, depth: int) -> list[Lines]:
        """Return the chunks of some lines, which neighbouring nodes cover."""
        if self._fits(lines) or depth > _DEEPEST:
            return [lines]
        tall = (node for node in nodes if self._line(node.start_byte) < self._last_line(node))
        inner = [child for node in tall for child in node.children]
        if not inner:
            return [lines]
        chunks: list[Lines] = []
        growing = False  # whether the last chunk may take a sibling in
        for begin, end, members in self._parts(inner, lines):
            if not self._fits((begin, end)):
                parts = self.split(members, (begin, end), depth + 1)
                if growing and self._belongs(chunks[-1], (chunks[-1][0], parts[0][1])):
                    parts[0] = (chunks.pop()[0], parts[0][1])
                chunks += parts
                growing = False
            elif growing and self._fits((chunks[-1][0], end)):
                chunks[-1] = (chunks[-1][0], end)
            else:
                chunks.append((begin, end))
                growing = True
        if growing and len(chunks) > 1 and self._belongs(chunks[-1], (chunks[-2][0], chunks[-1][1])):
            chunks[-2:] = [(chunks[-2][0], chunks[-1][1])]
        return chunks

    def _parts(self, nodes: Iterable[Node], lines: Lines) -> list[tuple[int, int, list[Node]]]:
        """Divide lines where a node begins; nodes on one line stay together, and a comment with what is below it."""
        first, last = lines
        begins = [first]
        members: list[list[Node]] = [[]]
        reached = first - 1  # the last line of the nodes so far
        commented = -1  # the line below the last comment
        for node in nodes:
            line, end = self._line(node.start_byte), self._last_line(node)
            if begins[-1] < line < last and line != commented:
                begins.append(line)
                members.append([])
            members[-1].append(node)
            if "comment" in node.type and line > reached:
                commented = end + 1
            reached = max(reached, end)
        return [(begin, end, inside) for (begin, end), inside in zip(pairwise([*begins, last]), members, strict=True)]

    def _line(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _last_line(self, node: Node) -> int:
        return self._line(max(node.start_byte, node.end_byte - 1))
