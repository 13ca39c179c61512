"""Numbered evidence for a language model: what the plan of the answer cites, then the packed context, fenced as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.injection import fence_data, inspect_text
from coderag.schema.chunks import get_module_name
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet, find_snippets_at_lines
from coderag.text.path_masking import MaskedPaths, PathMask
from coderag.text.token_counts import count_tokens

_MIN_BLOCK_LINES = 2  # the heading and the opening fence

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
    state: QueryState,
    snippets: Sequence[Snippet],
    paths: MaskedPaths | None = None,
    planned: Sequence[Snippet] = (),
) -> Sequence[NumberedEvidence]:
    """Number what the plan of the answer cites, in its order, then the rest of the packed context, from 1.

    Args:
        state: State with the packed context.
        snippets: Results and related code, with all cited lines.
        paths: Masked paths for the model; None does not mask.
        planned: What the answer without a model cites, see `build_planned_snippets`.
    """
    by_location = {(snippet.path, snippet.start_line, snippet.end_line): snippet for snippet in snippets}
    packed = [item for section in state["context"]["sections"] for item in section["items"] if item["path"]]
    entries = [(item, by_location[item["path"], item["start_line"], item["end_line"]]) for item in packed]
    first: list[tuple[ItemRecord, Snippet]] = []
    for snippet in planned:
        covering = next((entry for entry in [*first, *entries] if _is_shown_by(entry[0], snippet)), None)
        entry = covering or (_build_item(snippet), snippet)
        if entry not in first:
            first.append(entry)
    ordered = [*first, *(entry for entry in entries if entry not in first)]
    if paths:
        ordered = [(_mask_item(item, snippet, paths.mask), snippet) for item, snippet in ordered]
    return [_build_evidence(number, item, snippet) for number, (item, snippet) in enumerate(ordered, 1)]


def build_planned_snippets(corpus: Corpus, cited: Sequence[CitedLines]) -> list[Snippet]:
    """Build snippets of the lines that the plan of an answer cites."""
    return [
        replace(
            find_snippets_at_lines(corpus, lines.path, lines.start_line, lines.end_line)[0],
            start_line=lines.start_line,
            end_line=lines.end_line,
            text=lines.text,
        )
        for lines in cited
    ]


def fit_evidence(evidence: Sequence[NumberedEvidence], max_tokens: int) -> Sequence[NumberedEvidence]:
    """Keep the first evidence that fits into a number of tokens; of the first one at least its beginning."""
    tokens = 0
    for count, entry in enumerate(evidence):
        tokens += count_tokens(f"{entry.block}\n\n")
        if tokens > max_tokens:
            return evidence[:count] or [replace(entry, block=_cut_block(entry.block, max_tokens))]
    return evidence


def _cut_block(block: str, max_tokens: int) -> str:
    """Cut lines from the end of fenced code, but not its fences."""
    *lines, fence = block.split("\n")
    while len(lines) > _MIN_BLOCK_LINES and count_tokens("\n".join([*lines, "…", fence])) > max_tokens:
        del lines[-max(len(lines) // 8, 1) :]
    return "\n".join([*lines, "…", fence])


def _is_shown_by(item: ItemRecord, snippet: Snippet) -> bool:
    """Return whether an item of the context shows all lines of a snippet."""
    is_inside = bool(item["start_line"] <= snippet.start_line and snippet.end_line <= item["end_line"])
    return is_inside and item["path"] == snippet.path and item["detail"] == "full"


def _build_item(snippet: Snippet) -> ItemRecord:
    """Build an item of the context from a snippet that the context lacks."""
    return {
        "path": snippet.path,
        "start_line": snippet.start_line,
        "end_line": snippet.end_line,
        "title": f"`{snippet.name}` ({snippet.kind})",
        "text": snippet.text,
        "detail": "full",
        "language": snippet.language,
    }


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
