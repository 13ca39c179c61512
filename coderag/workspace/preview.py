"""Preview search: a quick keyword scan of a repository that is not indexed yet.

It takes at most about 1.5 s for any size: files whose path has query terms are read first, and files beyond the time
budget are skipped.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from coderag.config.sections import MAX_RESULTS, IngestionSettings
from coderag.engine.query_input import check_range
from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.file_text import FileText, read_file_text
from coderag.ingestion.files.regular_files import read_regular_file
from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.files.scanner import scan
from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import PLAIN_TEXT, detect_language
from coderag.ingestion.parsing.parsed_file import ParsedChunk, place_file
from coderag.question.question_text import check_question
from coderag.question.translation import translate_to_english
from coderag.schema.search import SearchHit
from coderag.workspace.preview_terms import (
    OTHER_ROLE,
    ROLE_FACTORS,
    QueryTerm,
    compute_idf,
    count_in_code,
    count_in_content,
    count_in_path,
    parse_query_terms,
    score_bm25,
)

DEFAULT_BUDGET_S: Final = 1.5

_SCAN_SHARE, _READ_SHARE = 0.4, 0.7  # shares of the budget at which scanning and reading stop
_PARSE_SHARE: Final = 1.1
_MAX_FILE_BYTES: Final = 300_000  # bytes; larger files are seldom code and cost the time of many others
_MAX_PARSED_BYTES: Final = 100_000  # bytes: 0.1 s
_FILES_PER_RESULT: Final = 2
_MAX_FILES: Final = 30
_MAX_HITS_PER_FILE: Final = 2
_MODULE_FACTOR: Final = 0.7  # weight of module chunks, such as imports, against declarations


@dataclass(frozen=True, slots=True)
class _File:
    """A file that was read.

    Attributes:
        counts: Weighted occurrences of each query term in its path and content.
    """

    candidate: FileCandidate
    role: str
    counts: Sequence[float]


def find_preview_hits(
    root: Path, settings: IngestionSettings, query: str, top_k: int, *, budget_s: float = DEFAULT_BUDGET_S
) -> list[SearchHit]:
    """Find the declarations and line blocks on disk that have the terms of a query, best first.

    Args:
        root: Folder of the repository.
        settings: Settings that select its files.
        query: The query.
        top_k: Maximum number of results.
        budget_s: Approximate time budget in seconds.

    Raises:
        InvalidQueryError: The query is empty or too long.
    """
    check_question(query)
    top_k = check_range("top_k", top_k, 1, MAX_RESULTS)
    started, terms = time.monotonic(), parse_query_terms(translate_to_english(query))
    limit = settings.max_file_bytes
    scanned = scan(root, max_file_bytes=limit, exclude=settings.exclude, deadline=started + _SCAN_SHARE * budget_s)
    files = _read_files(root, scanned.candidates, terms, until=started + _READ_SHARE * budget_s)
    idf = compute_idf([file.counts for file in files], terms)
    best_files = _rank_files(files, idf)[: min(_MAX_FILES, _FILES_PER_RESULT * top_k)]
    hits: list[SearchHit] = []
    for file in best_files:
        now = time.monotonic() - started
        if now > _PARSE_SHARE * budget_s and hits:
            break
        source = read_file_text(root, file.candidate, max_file_bytes=limit, include_generated=settings.generated)
        if isinstance(source, FileText):  # not binary, minified or generated
            parse = now < budget_s and file.candidate.size < _MAX_PARSED_BYTES
            hits += _find_file_hits(file.candidate.path, source, terms, idf, parse=parse)
    return sorted(hits, key=lambda hit: (-hit.score, hit.location))[:top_k]


def _read_files(
    root: Path, candidates: Sequence[FileCandidate], terms: Sequence[QueryTerm], *, until: float
) -> list[_File]:
    """Read files, most promising first, until the time is over."""
    promising = []
    for candidate in candidates:
        if candidate.size <= _MAX_FILE_BYTES:
            path_weights, role = count_in_path(candidate.path, terms), classify_role(candidate.path)
            order = (-sum(path_weights), -ROLE_FACTORS.get(role, OTHER_ROLE), candidate.path.count("/"), candidate.path)
            promising.append((order, candidate, role, path_weights))
    promising.sort(key=lambda entry: entry[0])
    files = []
    for _, candidate, role, path_weights in promising:
        if time.monotonic() > until:
            break
        try:
            content, _ = read_regular_file(root / candidate.path, _MAX_FILE_BYTES)
        except OSError:  # it is gone or unreadable; indexing reports that
            continue
        counts = [sum(pair) for pair in zip(path_weights, count_in_content(content, terms), strict=True)]
        files.append(_File(candidate, role, counts))
    return files


def _rank_files(files: Sequence[_File], idf: Sequence[float]) -> list[_File]:
    """Rank the files that have query terms, best first."""
    average = sum(file.candidate.size for file in files) / max(1, len(files)) or 1.0
    scored = [
        (score_bm25(file.counts, idf, file.candidate.size / average) * ROLE_FACTORS.get(file.role, OTHER_ROLE), file)
        for file in files
        if any(file.counts)
    ]
    return [file for _, file in sorted(scored, key=lambda entry: (-entry[0], entry[1].candidate.path))]


def _find_file_hits(
    path: str, source: FileText, terms: Sequence[QueryTerm], idf: Sequence[float], *, parse: bool
) -> list[SearchHit]:
    """Find the best hits in a file: declarations, or line blocks if there is no time to parse it."""
    language, role = detect_language(path, source.text), source.role
    parsed = place_file(parse_file(path, source.text, language if parse else PLAIN_TEXT, role), path, role)
    average = max(1.0, sum(len(chunk.text) for chunk in parsed.chunks) / max(1, len(parsed.chunks)))
    path_weights = count_in_path(path, terms)
    hits = []
    for chunk in parsed.chunks:
        names = " ".join(symbol["qualified_name"] for symbol in chunk.metadata["symbols"])
        counts = count_in_code(chunk.text, f"{names} {chunk.metadata['name']}", terms)
        in_text = score_bm25(counts, idf, len(chunk.text) / average)
        if in_text:
            factor = ROLE_FACTORS.get(role, OTHER_ROLE) * (
                _MODULE_FACTOR if chunk.metadata["kind"] == "module" else 1.0
            )
            signals = {"words": in_text * factor, "place": 0.5 * score_bm25(path_weights, idf, 1.0) * factor}
            hits.append(_to_hit(chunk, language, signals))
    return sorted(hits, key=lambda hit: -hit.score)[:_MAX_HITS_PER_FILE]


def _to_hit(chunk: ParsedChunk, language: str, signals: dict[str, float]) -> SearchHit:
    data = chunk.metadata
    text = chunk.text.rstrip("\r\n")
    return SearchHit(
        chunk_id="",
        path=PurePosixPath(data["path"]),
        start_line=data["start_line"],
        end_line=data["start_line"] + text.count("\n"),
        kind=data["kind"],
        name=data["name"],
        qualified_name=data["qualified_name"],
        signature=data["signature"],
        summary="" if data["summary_source"] == "derived" else data["summary"],
        language=language,
        role=data["role"],
        score=sum(signals.values()),
        text=text,
        signals=signals,
    )
