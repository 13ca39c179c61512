"""Chunking strategies besides declarations: the syntax tree (cAST), or overlapping windows.

Both choose line ranges first; `line_layout` and `blocks` then determine their content.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tree_sitter import Node

from coderag.ingestion.parsing.cast_chunks import split_tree
from coderag.ingestion.parsing.windows import split_windows
from coderag.schema.vocabulary import ChunkStrategy
from coderag.text.token_counts import sum_line_tokens

WINDOW_TOKENS: Final = 1000
WINDOW_OVERLAP_TOKENS: Final = 200


class LineRange(NamedTuple):
    """Lines ``[first, last)`` (0-based) of a chunk; the next range repeats the last ``overlap`` of them."""

    first: int
    last: int
    overlap: int = 0


@dataclass(frozen=True, slots=True)
class Strategy:
    """A chunking strategy and its limits in tokens.

    Attributes:
        max_tokens, min_tokens: Limits of the strategies other than ``window``.
        window_tokens, window_overlap_tokens: Limits of ``window``.

    Raises:
        ValueError: The overlap is not smaller than the window.
    """

    name: ChunkStrategy
    max_tokens: int
    min_tokens: int
    window_tokens: int
    window_overlap_tokens: int

    def __post_init__(self) -> None:
        if self.window_overlap_tokens >= self.window_tokens:
            raise ValueError(
                f"window_overlap_tokens {self.window_overlap_tokens} must be below window_tokens {self.window_tokens}"
            )

    @property
    def max_chunk_tokens(self) -> int:
        """Maximum number of tokens of a chunk."""
        return self.window_tokens if self.name == "window" else self.max_tokens

    def cut(self, data: bytes, starts: Sequence[int], root: Node | None) -> list[LineRange]:
        """Split a text into line ranges; empty if declarations decide, or if there is no tree.

        Args:
            starts: Byte offset of each line.
            root: Root of its tree, if it has one.
        """
        if self.name == "window":
            totals = sum_line_tokens(data, starts)
            return [
                LineRange(*lines) for lines in split_windows(totals, self.window_tokens, self.window_overlap_tokens)
            ]
        if self.name == "cast" and root is not None:
            totals = sum_line_tokens(data, starts)
            return [LineRange(*lines) for lines in split_tree(root, starts, totals, self.max_tokens)]
        return []
