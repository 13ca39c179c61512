"""Numbered evidence for a language model: what the plan of the answer cites, then the packed context, fenced as data."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from coderag.answering.evidence.cited_lines import CitedLines, to_cited_lines
from coderag.answering.evidence.found_items import get_found_items
from coderag.answering.injection import fence_data, inspect_text
from coderag.errors import InvalidQueryError
from coderag.retrieval.context.context_snippets import gather_snippets
from coderag.retrieval.context.item_section import format_item_title
from coderag.retrieval.items.item_snippets import to_item_snippet
from coderag.schema.chunks import get_module_name
from coderag.schema.query import FoundItem, QueryState
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
        heading: Its number, title and place.
        code: Text that the model is shown, all of the snippet or its lines that matter.
        findings: Phrases for text that addresses a language model.
    """

    snippet: Snippet
    heading: str
    code: str
    language: str
    findings: Sequence[str] = ()

    @property
    def block(self) -> str:
        """Part of the prompt: the heading, and the code fenced as data."""
        return f"{self.heading}\n{fence_data(self.code, self.language)}"

    @property
    def cited_lines(self) -> CitedLines:
        """Lines that a citation of it refers to."""
        return to_cited_lines(self.snippet)


class EvidenceEntry(NamedTuple):
    """Item of the context with its snippet."""

    item: ItemRecord
    snippet: Snippet

    @property
    def cited_lines(self) -> CitedLines:
        """Lines of the snippet."""
        return to_cited_lines(self.snippet)


def gather_evidence(corpus: Corpus, state: QueryState, planned: Sequence[CitedLines]) -> Sequence[EvidenceEntry]:
    """Gather what the plan of the answer cites, in its order, then the rest of the packed context.

    Args:
        state: State with the packed context.
        planned: Lines that the answer without a model cites.
    """
    packed = pair_items(state, chain.from_iterable(gather_snippets(corpus, state)))
    items = {item["path"]: item for item in get_found_items(state)}
    first: list[EvidenceEntry] = []
    for lines in planned:
        if any(_contains_lines(entry.item, lines) for entry in first):
            continue
        covering = next((entry for entry in packed if _contains_lines(entry.item, lines)), None)
        if entry := covering or _build_item_entry(items, lines) or _build_entry(corpus, lines):
            first.append(entry)
    rest = [entry for entry in packed if not any(_contains_lines(other.item, entry.cited_lines) for other in first)]
    return [*first, *rest]


def pair_items(state: QueryState, snippets: Iterable[Snippet]) -> Sequence[EvidenceEntry]:
    """Pair the items of the packed context with their snippets; the map of relations is no evidence."""
    by_lines = {(snippet.path, snippet.start_line, snippet.end_line): snippet for snippet in snippets}
    sections = (section for section in state["context"]["sections"] if section.get("name") != "items")
    items = (item for section in sections for item in section["items"] if item["path"])
    return [EvidenceEntry(item, by_lines[item["path"], item["start_line"], item["end_line"]]) for item in items]


def number_evidence(entries: Sequence[EvidenceEntry], paths: MaskedPaths | None = None) -> Sequence[NumberedEvidence]:
    """Number evidence from 1.

    Args:
        entries: Items with their snippets.
        paths: Masked paths for the model; None does not mask.
    """
    masked_items = [_mask_item(item, snippet, paths.mask) if paths else item for item, snippet in entries]
    return [
        _build_evidence(number, item, entry.snippet)
        for number, (item, entry) in enumerate(zip(masked_items, entries, strict=True), 1)
    ]


def fit_evidence(evidence: Sequence[NumberedEvidence], max_tokens: int) -> Sequence[NumberedEvidence]:
    """Keep the first evidence that fits into a number of tokens, the last of it cut; none without room for any."""
    fitted: list[NumberedEvidence] = []
    for entry in evidence:
        tokens = count_tokens(f"{entry.block}\n\n")
        if tokens > max_tokens:
            return [*fitted, *_cut_evidence(entry, max_tokens)]
        fitted.append(entry)
        max_tokens -= tokens
    return fitted


def _cut_evidence(entry: NumberedEvidence, max_tokens: int) -> Iterator[NumberedEvidence]:
    """Yield the first lines of evidence that fit, or the beginning of the first line; nothing without room for it."""
    room = max_tokens - count_tokens(f"{replace(entry, code='').block}\n…\n\n")
    code = entry.code
    while room > 0 and code:
        tokens = count_tokens(code)
        if tokens <= room:
            yield replace(entry, code=f"{code}\n…")
            return
        code = code[: min(len(code) - 1, len(code) * room // tokens)]
        code = code.rpartition("\n")[0] or code


def _contains_lines(item: ItemRecord, lines: CitedLines) -> bool:
    """Return whether an item of the context shows all of some lines, or what matters in exactly these."""
    span = (item["start_line"], item["end_line"])
    is_inside = span[0] <= lines.start_line and lines.end_line <= span[1]
    is_shown = item["detail"] == "full" or (item["detail"] == "elided" and span == (lines.start_line, lines.end_line))
    return item["path"] == lines.path and is_inside and is_shown


def _build_item_entry(items: Mapping[str, FoundItem], lines: CitedLines) -> EvidenceEntry | None:
    """Build an item of the context from lines of a mirrored page or ticket; None if they are of no such file."""
    page = items.get(lines.path)
    if page is None:
        return None
    item = {
        "path": lines.path,
        "start_line": lines.start_line,
        "end_line": lines.end_line,
        "title": f"{format_item_title(page)} {page['url']}".strip(),
        "text": lines.text,
        "detail": "full",
        "language": "markdown",
    }
    return EvidenceEntry(item, to_item_snippet(page, lines.start_line, lines.end_line, lines.text))


def _build_entry(corpus: Corpus, lines: CitedLines) -> EvidenceEntry | None:
    """Build an item of the context from lines that the plan cites; None if they are not indexed."""
    try:
        inside = find_snippets_at_lines(corpus, lines.path, lines.start_line, lines.end_line)[0]
    except InvalidQueryError:  # a file that is only named, or lines of no chunk
        return None
    snippet = replace(inside, start_line=lines.start_line, end_line=lines.end_line, text=lines.text)
    item = {
        "path": lines.path,
        "start_line": lines.start_line,
        "end_line": lines.end_line,
        "title": f"`{snippet.name}` ({snippet.kind})" if snippet.name else snippet.kind,
        "text": lines.text,
        "detail": "full",
        "language": snippet.language,
    }
    return EvidenceEntry(item, snippet)


def _build_evidence(number: int, item: ItemRecord, snippet: Snippet) -> NumberedEvidence:
    title = " ".join(f"{item['title']} in {item['path']}".split())
    inspected = inspect_text(f"{title}\n{item['text']}")
    title, _, code = inspected.text.partition("\n")
    heading = f"[{number}] {title}:{item['start_line']}-{item['end_line']}"
    return NumberedEvidence(snippet, heading, code, item["language"], inspected.findings)


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
