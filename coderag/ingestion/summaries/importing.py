"""Take summaries that were written elsewhere, from a file of JSON lines.

A line is an object with ``sentence`` and either ``id``, of a chunk, or ``place``: ``path:start-end`` of a chunk, a file's
path, or a folder's with ``/`` at its end; ``model`` may say who wrote it. ``coderag enrich --plan --json`` lists the places.
"""

import json
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from coderag.errors import InvalidQueryError
from coderag.ingestion.summaries.committing import commit_summaries
from coderag.ingestion.summaries.enriching import Target
from coderag.ingestion.summaries.replies import clean_sentence
from coderag.ingestion.summaries.results import EnrichReport
from coderag.ingestion.summaries.subjects import LEVELS
from coderag.stores.summary_cache import IMPORTED_MAKER_PREFIX, SummaryCache, SummaryEntry

_WAIT_S = 60.0  # for another writer
_KEYS = frozenset({"id", "place", "sentence", "model"})
_LARGEST = 1 << 28  # bytes


@dataclass(frozen=True, slots=True)
class _Line:
    where: str
    sentence: str
    model: str


def import_summaries(target: Target, path: Path) -> EnrichReport:
    """Put the summaries of a file into the index; they stay until their code changes, whatever model is asked later.

    Args:
        target: What is summarised.
        path: The file.

    Raises:
        InvalidQueryError: The file cannot be read, or a line is no summary; then nothing is imported.
        IndexLockedError: Another process writes the index.
    """
    started = time.monotonic()
    lines = list(_read(path))
    unknown = list(dict.fromkeys(line.where for line in lines))
    written: dict[str, int] = {}
    # Files are known by the sentences of their chunks, folders by those of their files: each has to be in the index first.
    for level in LEVELS:
        subjects: dict[str, str] = {}
        while (now := target.work().places(level)) != subjects:  # of an outer folder they change with the inner ones
            subjects = now
            _keep(target.cache, lines, subjects)
        commit_summaries(target.store, target.model, target.cache, timeout_s=_WAIT_S)
        if found := [where for where in unknown if where in subjects]:
            written[level] = len(found)
        unknown = [where for where in unknown if where not in subjects]
    return _report(target, written, unknown, time.monotonic() - started)


def _keep(cache: SummaryCache, lines: Sequence[_Line], subjects: Mapping[str, str]) -> None:
    """Store the summaries of those places that have a subject."""
    by_model: dict[str, list[SummaryEntry]] = defaultdict(list)
    for line in lines:
        if line.where in subjects:
            by_model[line.model].append(SummaryEntry(subjects[line.where], line.sentence))
    for model, sentences in by_model.items():
        cache.put(IMPORTED_MAKER_PREFIX + model, sentences)


def _report(target: Target, written: Mapping[str, int], unknown: list[str], elapsed_s: float) -> EnrichReport:
    share = target.work().share
    pointer = target.store.read_pointer()
    return EnrichReport(
        stopped="done",
        written=written,
        failed=(),
        remaining=share.total - share.written,
        share=(share.written, share.total),
        input_tokens=0,
        output_tokens=0,
        cost=None,
        generation=pointer.generation if pointer else 0,
        elapsed_s=elapsed_s,
        unknown=unknown,
    )


def _read(path: Path) -> Iterator[_Line]:
    """Yield the summaries of a file; of a place that occurs twice both, of which the last one holds."""
    try:
        if path.stat().st_size > _LARGEST:
            raise InvalidQueryError(f"{path} is too large to be a file of summaries")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidQueryError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InvalidQueryError(f"{path} is not in UTF-8") from error
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            yield _line(f"{path}, line {number}", line)


def _line(where: str, line: str) -> _Line:
    hint = 'A line is like {"place": "src/auth.py:10-24", "sentence": "Opens a session."} (docs/summaries.md).'
    try:
        entry: Any = json.loads(line)
    except ValueError as error:
        raise InvalidQueryError(f"{where}: no JSON: {error}", hint=hint) from error
    if not (isinstance(entry, dict) and all(isinstance(value, str) for value in entry.values())):
        raise InvalidQueryError(f"{where}: no object of texts", hint=hint)
    if wrong := sorted(entry.keys() - _KEYS):
        raise InvalidQueryError(f"{where}: unknown key {wrong[0]!r}", hint=hint)
    place = entry.get("id") or entry.get("place")
    if not place:
        raise InvalidQueryError(f"{where}: neither 'id' nor 'place'", hint=hint)
    sentence = clean_sentence(entry.get("sentence", ""))
    if not sentence:
        raise InvalidQueryError(f"{where}: 'sentence' is missing or says nothing", hint=hint)
    return _Line(place, sentence, entry.get("model", "").strip() or "by hand")
