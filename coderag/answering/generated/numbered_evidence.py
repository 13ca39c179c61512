"""Numbered evidence for a language model: each snippet with its location, fenced as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.injection import fence_data, inspect_text
from coderag.schema.chunks import get_module_name
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.snippets import Snippet
from coderag.text.path_masking import MaskedPaths, PathMask

ItemRecord = Mapping[str, Any]
"""A `coderag.schema.context.ContextItem` as plain values."""


@dataclass(frozen=True, slots=True)
class NumberedEvidence:
    """Numbered snippet of the evidence.

    Attributes:
        block: Text that the model is shown.
        findings: Phrases for text that addresses a language model.
    """

    snippet: Snippet
    block: str
    findings: Sequence[str] = ()

    @property
    def cited_lines(self) -> CitedLines:
        """Lines that a citation of it refers to."""
        snippet = self.snippet
        return CitedLines(snippet.path, snippet.start_line, snippet.end_line, snippet.text)


def number_evidence(
    state: QueryState, snippets: Sequence[Snippet], paths: MaskedPaths | None = None
) -> Sequence[NumberedEvidence]:
    """Number the snippets of the packed context, from 1 in its order.

    Args:
        state: State with the packed context.
        snippets: Results and related code, with all cited lines.
        paths: Masked paths for the model; None does not mask.
    """
    snippets_by_location = {(snippet.path, snippet.start_line, snippet.end_line): snippet for snippet in snippets}
    items = [item for section in state["context"]["sections"] for item in section["items"] if item["path"]]
    item_snippets = [snippets_by_location[item["path"], item["start_line"], item["end_line"]] for item in items]
    if paths:
        items = [_mask_item(item, snippet, paths.mask) for item, snippet in zip(items, item_snippets, strict=True)]
    return [
        _build_evidence(number, item, snippet)
        for number, (item, snippet) in enumerate(zip(items, item_snippets, strict=True), 1)
    ]


def _build_evidence(number: int, item: ItemRecord, snippet: Snippet) -> NumberedEvidence:
    title = " ".join(f"{item['title']} in {item['path']}".split())
    inspected = inspect_text(f"{title}\n{item['text']}")
    title, _, code = inspected.text.partition("\n")
    location = f"{title}:{item['start_line']}-{item['end_line']}"
    return NumberedEvidence(snippet, f"[{number}] {location}\n{fence_data(code, item['language'])}", inspected.findings)


def _mask_item(item: ItemRecord, snippet: Snippet, mask: PathMask) -> ItemRecord:
    """Mask the path in an item, and titles and summaries derived from it; code and docstrings are unchanged."""
    masked = {**item, "path": mask.mask_path(snippet.path)}
    if snippet.kind not in FILE_NAMED_KINDS:
        return masked
    if snippet.name == get_module_name(snippet.path):
        masked_module = mask.mask_module(snippet.path)
        masked["title"] = item["title"].replace(snippet.name, masked_module)
        if item["detail"] == "signature":
            masked["text"] = item["text"].replace(snippet.name, masked_module, 1)
    if item["detail"] == "line" and not _is_docstring_start(item["text"], snippet.docstring):
        masked["text"] = f"{snippet.kind} of {masked['path']}"
    return masked


def _is_docstring_start(summary: str, docstring: str) -> bool:
    return bool(summary) and " ".join(docstring.split()).startswith(summary.rstrip("…"))
