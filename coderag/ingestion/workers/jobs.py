"""Per-file work of indexing in a worker process: read, parse, summarize, count terms.

A `ParseJob` is some files, its `JobResult` their chunks as an Arrow table with term counts. Nothing here imports LlamaIndex, so
that a worker starts in a fraction of a second.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import scipy.sparse as sp

from coderag.ingestion.files.candidates import FileCandidate
from coderag.ingestion.files.file_text import FileText, read_file_text
from coderag.ingestion.files.git_attributes import GitAttributes
from coderag.ingestion.files.roles import classify_role
from coderag.ingestion.parsing.chunking import PARSE_TIMEOUT_S, parse_file
from coderag.ingestion.parsing.languages import detect_language, find_language
from coderag.ingestion.parsing.parsed_file import ParsedFile, compute_chunk_ids, place_file
from coderag.ingestion.parsing.stage_clock import stages
from coderag.ingestion.parsing.summaries import summarize
from coderag.ingestion.workers import parse_cache
from coderag.ingestion.workers.term_counter import TermCounter
from coderag.schema.chunks import FileRecord
from coderag.stores.arrow import build_chunk_table
from coderag.stores.content_cache import ContentCache
from coderag.stores.facts_codec import PackedFacts
from coderag.stores.field_counts import FieldCounts
from coderag.system.gc_tuning import pause_gc

if TYPE_CHECKING:
    import pyarrow as pa

_MAX_TOKENS: Final = 200_000  # distinct tokens that a worker remembers: about 60 MB

Treatment = Literal["whole", "lines", "lost"]
"""Treatment of a file: parsed; split by lines after parsing crashed the process; or given up after that crashed, too."""


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Settings that all jobs of a run share; plain values, so that a worker need not import `Settings`.

    Attributes:
        run: Id of the run: a worker counts terms over one vocabulary per run.
        chunking: Keyword arguments of `parse_file`.
        repository: Part of every chunk's id.
        cache_key: Key of everything beside content and language that determines the result of parsing.
        cache: Directory of the content cache; None for none.
        generated: Whether generated code is indexed.
        as_columns: Whether to return chunks as columns with counts, or as parsed files for the LlamaIndex pipeline.
        isolated: Whether a file may crash the process.
    """

    run: str
    root: Path
    max_file_bytes: int
    chunking: Mapping[str, Any]
    repository: str
    cache_key: str
    cache: Path | None = None
    generated: bool = True
    as_columns: bool = True
    isolated: bool = False


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file to index.

    Attributes:
        known: Record of the indexed file; it is not parsed again with the same content, role and language.
        failure: Failure of the previous treatment.
    """

    candidate: FileCandidate
    known: FileRecord | None = None
    treatment: Treatment = "whole"
    failure: str = ""


@dataclass(frozen=True, slots=True)
class ParseJob:
    """Files to index together."""

    files: Sequence[FileTask]

    def degrade(self, position: int, failure: str) -> "ParseJob":
        """Return the job with a safer treatment of one file, with the reason."""
        file = self.files[position]
        files = list(self.files)
        files[position] = replace(file, treatment="lines" if file.treatment == "whole" else "lost", failure=failure)
        return ParseJob(files)


@dataclass(slots=True)
class JobResult:
    """Result of a job.

    Attributes:
        records: Records of all its files, in order.
        unchanged: Paths of the files with unchanged content.
        columns: The chunks, see `coderag.stores.arrow.build_chunk_table`; None if there are none, or not as columns.
        counts, path_counts: Term counts of the chunks, and of the paths of files with chunks, in order.
        new_terms: Terms that earlier results of this worker and run do not have; they are the last columns.
        first_term: Column of the first of them. With 0, the worker numbers its terms anew.
        parsed: The files and their texts, unless chunks are returned as columns.
        facts: Facts of each parsed file, by path.
        new_cache_entries: Parsed files that are not in the cache, by key.
        seconds: Seconds by stage.
        worker: Id of the worker that numbered the columns of the counts.
    """

    records: list[FileRecord]
    unchanged: set[str] = field(default_factory=set)
    columns: "pa.Table | None" = None
    counts: FieldCounts | None = None
    path_counts: "sp.csr_matrix | None" = None
    new_terms: list[str] = field(default_factory=list)
    first_term: int = 0
    parsed: list[tuple[ParsedFile, str]] = field(default_factory=list)
    facts: dict[str, PackedFacts] = field(default_factory=dict)
    new_cache_entries: dict[str, bytes] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    worker: str = ""


class JobRunner:
    """Runs the jobs of one run.

    Args:
        settings: Settings of the run.
        worker: Name of this process among those of the run.
    """

    def __init__(self, settings: RunSettings, worker: str = "") -> None:
        self._settings = settings
        self._worker = worker
        self._counter = TermCounter()
        self._terms_sent = 0
        self._cache = ContentCache(settings.cache, limit_bytes=0) if settings.cache else None
        self._attributes = GitAttributes(settings.root)

    def run(self, job: ParseJob, announce: Callable[[int], None] = lambda _: None) -> JobResult:
        """Run a job.

        Args:
            announce: Called before each file with its position, and once with -1 when all are parsed.
        """
        result = JobResult([], worker=self._worker)
        self._attributes = GitAttributes(self._settings.root)  # read anew: a runner may live as long as a server
        with pause_gc():
            parsed: list[ParsedFile] = []
            for position, task in enumerate(job.files):
                announce(position)
                if (file := self._process_file(task, result)) is not None and file.chunks:
                    parsed.append(file)
            announce(-1)
            if parsed and self._settings.as_columns:
                self._add_columns(result, parsed)
        result.seconds = stages.take()
        return result

    def close(self) -> None:
        """Close the cache."""
        if self._cache:
            self._cache.close()

    def _process_file(self, task: FileTask, result: JobResult) -> ParsedFile | None:
        """Read and parse a file and record its outcome; return None if there is nothing to store."""
        record, source = self._read_file(task)
        if source is None or _is_unchanged(record, task.known):
            result.records.append(record)
            if source is not None:
                result.unchanged.add(record.path)
            return None
        try:
            with stages.measure("chunk"):
                parsed = self._parse_file(task, record, source, result)
        except Exception as error:  # noqa: BLE001  # a bug or lack of memory must only affect one file
            if task.treatment == "whole":
                return self._process_file(
                    replace(task, treatment="lines", failure=f"cannot be parsed: {error!r}"), result
                )
            result.records.append(replace(record, outcome="failed", reason=f"cannot be parsed: {error!r}"))
            return None
        result.records.append(
            replace(
                record,
                language=parsed.language,
                chunks=len(parsed.chunks),
                symbols=sum(len(chunk.metadata["symbols"]) for chunk in parsed.chunks),
                lines=source.text.count("\n") + (not source.text.endswith("\n") and bool(source.text)),
                note="; ".join(filter(None, (source.note, parsed.note))),
            )
        )
        result.facts[parsed.path] = parsed.facts
        if not self._settings.as_columns:
            result.parsed.append((parsed, source.text))
        return parsed

    def _read_file(self, task: FileTask) -> tuple[FileRecord, FileText | None]:
        candidate = task.candidate
        record = FileRecord(
            candidate.path,
            "failed",
            size=candidate.size,
            mtime_ns=candidate.mtime_ns,
            ctime_ns=candidate.ctime_ns,
            inode=candidate.inode,
            role=classify_role(candidate.path),
        )
        if task.treatment == "lost":
            return replace(record, reason=task.failure), None
        with stages.measure("read"):
            limit, generated = self._settings.max_file_bytes, self._settings.generated
            attributes = self._attributes.find(candidate.path)
            source = read_file_text(
                self._settings.root,
                candidate,
                max_file_bytes=limit,
                include_generated=generated,
                attributes=attributes,
            )
            if not isinstance(source, FileText):
                return replace(record, outcome=source.outcome, reason=source.reason, hash=source.hash), None
            declared = find_language(attributes.language) if attributes.language else None
            language = declared.name if declared else detect_language(candidate.path, source.text)
        record = replace(
            record, outcome="indexed", language=language, encoding=source.encoding, hash=source.hash, role=source.role
        )
        return record, source

    def _parse_file(self, task: FileTask, record: FileRecord, source: FileText, result: JobResult) -> ParsedFile:
        key = f"{record.hash}:{record.language}:{self._settings.cache_key}"
        parsed = self._load_cached(key, source.text) if self._cache and not task.failure else None
        if parsed is None:
            parsed = parse_file(
                "",
                source.text,
                record.language,
                "",
                timeout_s=None if self._settings.isolated else PARSE_TIMEOUT_S,
                failure=task.failure,
                **self._settings.chunking,
            )
            if self._cache and not task.failure:
                with stages.measure("cache"):
                    result.new_cache_entries[key] = parse_cache.pack(parsed)
        return place_file(parsed, record.path, record.role)

    def _load_cached(self, key: str, text: str) -> ParsedFile | None:
        assert self._cache is not None
        with stages.measure("cache"):
            cached = self._cache.get(parse_cache.NAMESPACE, [key])
            try:
                return parse_cache.unpack(cached[key], text) if key in cached else None
            except ValueError:  # an invalid entry
                return None

    def _add_columns(self, result: JobResult, parsed: Sequence[ParsedFile]) -> None:
        chunks = [chunk for file in parsed for chunk in file.chunks]
        with stages.measure("summarise"):
            for chunk in chunks:
                chunk.metadata["summary"], chunk.metadata["summary_source"] = summarize(chunk.metadata)
        with stages.measure("count terms"):
            if self._counter.n_tokens > _MAX_TOKENS:
                self._counter, self._terms_sent = TermCounter(), 0
            result.counts = self._counter.count(chunks)
            result.path_counts = self._counter.count_paths([file.path for file in parsed])
            result.first_term = self._terms_sent
            result.new_terms = self._counter.get_terms_from(self._terms_sent)
            self._terms_sent += len(result.new_terms)
        with stages.measure("columns"):
            ids = [chunk_id for file in parsed for chunk_id in compute_chunk_ids(self._settings.repository, file)]
            result.columns = build_chunk_table(
                ids, [chunk.text for chunk in chunks], [chunk.metadata for chunk in chunks]
            )


def _is_unchanged(record: FileRecord, known: FileRecord | None) -> bool:
    """Return whether a file's chunks would be the indexed ones: with the same content, role and language."""
    return known is not None and (record.hash, record.role, record.language) == (known.hash, known.role, known.language)
