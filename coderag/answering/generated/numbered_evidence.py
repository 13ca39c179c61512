"""Numbered evidence for a language model: what the plan of the answer cites, then the packed context, fenced as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.injection import fence_data, inspect_text
from coderag.retrieval.context.context_snippets import gather_snippets
from coderag.schema.chunks import get_module_name
from coderag.schema.query import QueryState
from coderag.schema.vocabulary import FILE_NAMED_KINDS
from coderag.stores.corpus import Corpus
from coderag.stores.snippets import Snippet, find_snippets_at_lines
from coderag.text.path_masking import MaskedPaths, PathMask
from coderag.text.token_counts import count_tokens

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
    corpus: Corpus,
    state: QueryState,
    planned: Sequence[CitedLines],
    paths: MaskedPaths | None = None,
) -> Sequence[NumberedEvidence]:
    """Number what the plan of the answer cites, in its order, then the rest of the packed context, from 1.

    Args:
        corpus: Corpus of the query.
        state: State with the packed context.
        planned: Lines that the answer without a model cites.
        paths: Masked paths for the model; None does not mask.
    """
    snippets = {
        (snippet.path, snippet.start_line, snippet.end_line): snippet
        for snippet in chain.from_iterable(gather_snippets(corpus, state))
    }
    packed = [item for section in state["context"]["sections"] for item in section["items"] if item["path"]]
    entries = [(item, snippets[item["path"], item["start_line"], item["end_line"]]) for item in packed]
    first: list[tuple[ItemRecord, Snippet]] = []
    for lines in planned:
        covering = next((entry for entry in [*first, *entries] if _contains_lines(entry[0], lines)), None)
        entry = covering or _build_cited_item(corpus, lines)
        if entry not in first:
            first.append(entry)
    ordered = [*first, *(entry for entry in entries if entry not in first)]
    if paths:
        ordered = [(_mask_item(item, snippet, paths.mask), snippet) for item, snippet in ordered]
    return [_build_evidence(number, item, snippet) for number, (item, snippet) in enumerate(ordered, 1)]


def fit_evidence(evidence: Sequence[NumberedEvidence], max_tokens: int) -> Sequence[NumberedEvidence]:
    """Keep the first evidence that fits into a number of tokens, at least one."""
    tokens = 0
    for position, entry in enumerate(evidence):
        tokens += count_tokens(f"{entry.block}\n\n")
        if tokens > max_tokens:
            return evidence[: max(position, 1)]
    return evidence


def _contains_lines(item: ItemRecord, lines: CitedLines) -> bool:
    """Return whether an item of the context shows all of some lines."""
    is_inside = item["start_line"] <= lines.start_line and lines.end_line <= item["end_line"]
    return bool(item["path"] == lines.path and is_inside and item["detail"] == "full")


def _build_cited_item(corpus: Corpus, lines: CitedLines) -> tuple[ItemRecord, Snippet]:
    """Build an item of the context from lines that the plan cites."""
    inside = find_snippets_at_lines(corpus, lines.path, lines.start_line, lines.end_line)[0]
    snippet = replace(inside, start_line=lines.start_line, end_line=lines.end_line, text=lines.text)
    item = {
        "path": lines.path,
        "start_line": lines.start_line,
        "end_line": lines.end_line,
        "title": f"{snippet.kind} {snippet.name}",
        "text": lines.text,
        "detail": "full",
        "language": snippet.language,
    }
    return item, snippet


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
