"""Recursive split and merge over the syntax tree, by whole lines (cAST).

A node that fits stays intact and is merged with its siblings while they fit together. A node that does not fit is replaced
by its children. Few leading and trailing lines, such as the header of a class and its closing brace, join the first or last
child.

Source: Zhang et al., "cAST: Enhancing Code Retrieval-Augmented Generation with Structural Chunking via Abstract Syntax
Tree", 2025. The paper counts non-whitespace characters and cuts inside lines; here sizes are in tokens.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tree_sitter import Node

LineInterval = tuple[int, int]
"""First line (0-based) and the line after the last."""

_MIN_EDGE_TOKENS = 100  # of the lines before and after the children of a node, for a chunk of their own
_MAX_DEPTH = 60  # bounds the recursion; deeper nodes are split by lines


def split_tree(root: Node, starts: Sequence[int], totals: Sequence[int], max_tokens: int) -> list[LineInterval]:
    """Return the lines of each chunk, in order, without overlaps and gaps.

    Only lines that no node divides, such as those of a long string, may exceed ``max_tokens``.

    Args:
        starts: Byte offset of each line (`trees.find_line_starts`).
        totals: Cumulative number of tokens above each line; the last entry is the total (`token_counts.sum_line_tokens`).
    """
    return _TreeSplitter(starts, totals, max_tokens).split([root], (0, len(starts) - 1), 0)


class _TreeSplitter:
    def __init__(self, starts: Sequence[int], totals: Sequence[int], max_tokens: int) -> None:
        self._starts = starts
        self._totals = totals
        self._max_tokens = max_tokens

    def _count_tokens(self, lines: LineInterval) -> int:
        return self._totals[lines[1]] - self._totals[lines[0]]

    def _can_fit(self, lines: LineInterval) -> bool:
        return self._count_tokens(lines) <= self._max_tokens

    def _can_absorb(self, edge: LineInterval, merged: LineInterval) -> bool:
        """Return whether the edge lines of a split node are few enough to join their neighbour."""
        return self._count_tokens(edge) < _MIN_EDGE_TOKENS and self._can_fit(merged)

    def split(self, nodes: Sequence[Node], lines: LineInterval, depth: int) -> list[LineInterval]:
        """Return the chunks of a line range that neighbouring nodes cover."""
        if self._can_fit(lines) or depth > _MAX_DEPTH:
            return [lines]
        multiline = (node for node in nodes if self._find_line(node.start_byte) < self._find_last_line(node))
        inner = [child for node in multiline for child in node.children]
        if not inner:
            return [lines]
        chunks: list[LineInterval] = []
        can_grow = False  # whether the last chunk may absorb a sibling
        for begin, end, members in self._group_nodes(inner, lines):
            if not self._can_fit((begin, end)):
                parts = self.split(members, (begin, end), depth + 1)
                if can_grow and self._can_absorb(chunks[-1], (chunks[-1][0], parts[0][1])):
                    parts[0] = (chunks.pop()[0], parts[0][1])
                chunks += parts
                can_grow = False
            elif can_grow and self._can_fit((chunks[-1][0], end)):
                chunks[-1] = (chunks[-1][0], end)
            else:
                chunks.append((begin, end))
                can_grow = True
        if can_grow and len(chunks) > 1 and self._can_absorb(chunks[-1], (chunks[-2][0], chunks[-1][1])):
            chunks[-2:] = [(chunks[-2][0], chunks[-1][1])]
        return chunks

    def _group_nodes(self, nodes: Iterable[Node], lines: LineInterval) -> list[tuple[int, int, list[Node]]]:
        """Divide lines where a node begins. Nodes on one line stay together, and a comment stays with the node below it."""
        first, last = lines
        begins = [first]
        members: list[list[Node]] = [[]]
        last_covered = first - 1  # the last line of the nodes so far
        line_below_comment = -1  # the line below the last comment
        for node in nodes:
            line, end = self._find_line(node.start_byte), self._find_last_line(node)
            if begins[-1] < line < last and line != line_below_comment:
                begins.append(line)
                members.append([])
            members[-1].append(node)
            if "comment" in node.type and line > last_covered:
                line_below_comment = end + 1
            last_covered = max(last_covered, end)
        return [(begin, end, group) for (begin, end), group in zip(pairwise([*begins, last]), members, strict=True)]

    def _find_line(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _find_last_line(self, node: Node) -> int:
        return self._find_line(max(node.start_byte, node.end_byte - 1))
