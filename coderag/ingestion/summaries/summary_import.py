"""Import of summaries from a file of JSON lines.

A line is an object with ``sentence`` and either the ``id`` of a chunk or a ``place``: ``path:start-end`` of a chunk, a
file's path, or a folder's path with ``/`` at the end. ``model`` may name the author. ``coderag enrich --plan --json`` lists
the places.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coderag.errors import InvalidQueryError
from coderag.ingestion.summaries.enrich_results import EnrichReport
from coderag.ingestion.summaries.enricher import EnrichContext
from coderag.ingestion.summaries.reply_parser import clean_sentence
from coderag.ingestion.summaries.summary_commit import commit_summaries
from coderag.ingestion.summaries.targets import LEVELS
from coderag.stores.summary_cache import IMPORTED_MAKER_PREFIX, SummaryCache, SummaryEntry

_LOCK_TIMEOUT_S = 60.0  # for another writer
_KEYS = frozenset({"id", "place", "sentence", "model"})
_MAX_FILE_BYTES = 1 << 28  # bytes


@dataclass(frozen=True, slots=True)
class _ImportedSummary:
    place: str
    sentence: str
    model: str


def import_summaries(context: EnrichContext, path: Path) -> EnrichReport:
    """Import the summaries of a file; they stay until their code changes, whatever model is used later.

    Args:
        context: Index, models and cache.
        path: The file.

    Raises:
        InvalidQueryError: The file cannot be read or a line is invalid; nothing is imported.
        IndexLockedError: Another process is writing the index.
    """
    started = time.monotonic()
    lines = list(_read_lines(path))
    unknown_places = list(dict.fromkeys(line.place for line in lines))
    written: dict[str, int] = {}
    # The keys of files depend on the sentences of their chunks, those of folders on their files: commit level by level.
    for level in LEVELS:
        subjects: dict[str, str] = {}
        while (
            current := context.load_worklist().map_places(level)
        ) != subjects:  # subjects of outer folders change with inner ones
            subjects = current
            _store_sentences(context.cache, lines, subjects)
        commit_summaries(context.store, context.model, context.cache, timeout_s=_LOCK_TIMEOUT_S)
        if known_places := [place for place in unknown_places if place in subjects]:
            written[level] = len(known_places)
        unknown_places = [place for place in unknown_places if place not in subjects]
    return _build_report(context, written, unknown_places, time.monotonic() - started)


def _store_sentences(cache: SummaryCache, lines: Sequence[_ImportedSummary], subjects: Mapping[str, str]) -> None:
    """Store the summaries of places that have a subject."""
    by_model: dict[str, list[SummaryEntry]] = defaultdict(list)
    for line in lines:
        if line.place in subjects:
            by_model[line.model].append(SummaryEntry(subjects[line.place], line.sentence))
    for model, sentences in by_model.items():
        cache.put(IMPORTED_MAKER_PREFIX + model, sentences)


def _build_report(
    context: EnrichContext, written: Mapping[str, int], unknown: list[str], elapsed_s: float
) -> EnrichReport:
    coverage = context.load_worklist().coverage
    pointer = context.store.read_pointer()
    return EnrichReport(
        stopped="done",
        written=written,
        failed=(),
        remaining=coverage.total - coverage.written,
        share=(coverage.written, coverage.total),
        input_tokens=0,
        output_tokens=0,
        cost=None,
        generation=pointer.generation if pointer else 0,
        elapsed_s=elapsed_s,
        unknown=unknown,
    )


def _read_lines(path: Path) -> Iterator[_ImportedSummary]:
    """Yield the summaries of a file. If a place occurs twice, the last summary counts."""
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise InvalidQueryError(f"{path} is too large to be a file of summaries")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidQueryError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InvalidQueryError(f"{path} is not UTF-8 text") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _parse_line(f"{path}, line {number}", line)


def _parse_line(location: str, line: str) -> _ImportedSummary:
    hint = 'A line is like {"place": "src/auth.py:10-24", "sentence": "Opens a session."} (docs/summaries.md).'
    try:
        entry: Any = json.loads(line)
    except ValueError as error:
        raise InvalidQueryError(f"{location}: not valid JSON: {error}", hint=hint) from error
    if not (isinstance(entry, dict) and all(isinstance(value, str) for value in entry.values())):
        raise InvalidQueryError(f"{location}: not an object of strings", hint=hint)
    if unknown_keys := sorted(entry.keys() - _KEYS):
        raise InvalidQueryError(f"{location}: unknown key {unknown_keys[0]!r}", hint=hint)
    place = entry.get("id") or entry.get("place")
    if not place:
        raise InvalidQueryError(f"{location}: neither 'id' nor 'place'", hint=hint)
    sentence = clean_sentence(entry.get("sentence", ""))
    if not sentence:
        raise InvalidQueryError(f"{location}: 'sentence' is missing or empty", hint=hint)
    return _ImportedSummary(place, sentence, entry.get("model", "").strip() or "by hand")
