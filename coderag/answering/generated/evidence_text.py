"""The evidence as a language model is shown it: numbered, each piece with its place and fenced as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coderag.answering.draft import Lines
from coderag.answering.injection import fence, inspect
from coderag.schema.chunks import module_of
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import NAMED_BY_FILE
from coderag.stores.pieces import Piece
from coderag.text.path_masking import MaskedPaths, PathMask

Item = Mapping[str, Any]
"""A `coderag.schema.context.ContextItem` as plain values."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """One piece of it.

    Attributes:
        block: As the model is shown it.
        findings: What in it addresses a language model, as phrases.
    """

    piece: Piece
    block: str
    findings: Sequence[str] = ()

    @property
    def lines(self) -> Lines:
        """What a citation of it stands for."""
        piece = self.piece
        return Lines(piece.path, piece.start_line, piece.end_line, piece.text)


def numbered_evidence(
    state: QueryState, pieces: Sequence[Piece], paths: MaskedPaths | None = None
) -> Sequence[Evidence]:
    """Return what the packed context shows, in its order; the first is number 1.

    Args:
        state: With the packed context.
        pieces: Results and related code, to know all of the cited lines.
        paths: How the model sees paths; None shows them as they are.
    """
    by_place = {(piece.path, piece.start_line, piece.end_line): piece for piece in pieces}
    items = [item for section in state["context"]["sections"] for item in section["items"] if item["path"]]
    known = [by_place[item["path"], item["start_line"], item["end_line"]] for item in items]
    if paths:
        items = [_masked(item, piece, paths.mask) for item, piece in zip(items, known, strict=True)]
    return [_evidence(number, item, piece) for number, (item, piece) in enumerate(zip(items, known, strict=True), 1)]


def _evidence(number: int, item: Item, piece: Piece) -> Evidence:
    title = " ".join(f"{item['title']} in {item['path']}".split())
    inspected = inspect(f"{title}\n{item['text']}")
    title, _, code = inspected.text.partition("\n")
    place = f"{title}:{item['start_line']}-{item['end_line']}"
    return Evidence(piece, f"[{number}] {place}\n{fence(code, item['language'])}", inspected.findings)


def _masked(item: Item, piece: Piece, mask: PathMask) -> Item:
    """Return one piece of evidence with its path, and what is made of the path, masked; code and docstrings stay."""
    masked = {**item, "path": mask.mask(piece.path)}
    if piece.kind not in NAMED_BY_FILE:
        return masked
    if piece.name == module_of(piece.path):
        hidden = mask.mask_module(piece.path)
        masked["title"] = item["title"].replace(piece.name, hidden)
        if item["detail"] == "signature":
            masked["text"] = item["text"].replace(piece.name, hidden, 1)
    if item["detail"] == "line" and not _is_beginning(item["text"], piece.docstring):
        masked["text"] = f"{piece.kind} of {masked['path']}"
    return masked


def _is_beginning(summary: str, docstring: str) -> bool:
    return bool(summary) and " ".join(docstring.split()).startswith(summary.rstrip("…"))
