"""Results of an indexing run: the outcome of each file, and the duration of each stage."""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from coderag.ingestion.files.changes import Changes, count_renames
from coderag.schema.chunks import FileRecord
from coderag.schema.indexing import IndexReport


class FileOutcomes:
    """Outcomes of the files of a run.

    Args:
        skipped: Records of the files that are not read.
        changes: Differences from the last generation.
    """

    def __init__(self, skipped: Sequence[FileRecord] = (), changes: Changes | None = None) -> None:
        changes = changes or Changes()
        self._previous_records = changes.previous_records
        self._records = {record.path: record for record in (*skipped, *changes.unchanged)}
        self._added: list[FileRecord] = []
        self._changed: list[FileRecord] = []
        self._removed = [changes.previous_records[path] for path in changes.removed]
        self._n_unchanged = sum(record.outcome == "indexed" for record in changes.unchanged)

    @property
    def has_changes(self) -> bool:
        """Return whether anything differs from the last generation."""
        return bool(self._added or self._changed or self._removed)

    def list_records(self) -> list[FileRecord]:
        """Return the record of every file, sorted by path."""
        return sorted(self._records.values(), key=lambda record: record.path)

    def record_files(self, records: Sequence[FileRecord], unchanged: Collection[str]) -> list[str]:
        """Record files that were read, and return the paths whose stored chunks are outdated.

        Args:
            records: Outcomes of the files.
            unchanged: Paths of the files whose content has not changed.
        """
        outdated = []
        for record in records:
            old = self._previous_records.get(record.path)
            if old is not None and record.path in unchanged:
                status = {name: getattr(record, name) for name in ("size", "mtime_ns", "ctime_ns", "inode")}
                self._records[record.path] = replace(old, **status)
                self._n_unchanged += 1
                continue
            self._records[record.path] = record
            if old is not None and old.outcome == "indexed":
                outdated.append(record.path)
                if record.outcome == "indexed":
                    self._changed.append(record)
                else:
                    self._removed.append(old)
            elif record.outcome == "indexed":
                self._added.append(record)
        return outdated

    def note_missing_vectors(self, paths: Iterable[str]) -> None:
        """Note chunks that have no vector, given the path of each."""
        for path, count in Counter(paths).items():
            record = self._records[path]
            chunks = "1 chunk has" if count == 1 else f"{count:,} chunks have"
            note = f"{chunks} no vector: the embedding model rejects the text"
            self._records[path] = replace(record, note=f"{record.note}; {note}" if record.note else note)

    def build_report(
        self, generation: int, times: "StageTimes", *, edges: int, embedded: int, reembedded: str, repaired: str
    ) -> IndexReport:
        """Build the report of the run. Arguments as the attributes of `IndexReport`."""
        records = self.list_records()
        indexed = [record for record in records if record.outcome == "indexed"]
        renamed = count_renames(self._added, self._removed)
        read = [*self._added, *self._changed]
        return IndexReport(
            generation=generation,
            files=dict(Counter(record.outcome for record in records)),
            chunks=sum(record.chunks for record in indexed),
            symbols=sum(record.symbols for record in indexed),
            edges=edges,
            lines=sum(record.lines for record in indexed),
            added=len(self._added) - renamed,
            changed=len(self._changed),
            removed=len(self._removed) - renamed,
            renamed=renamed,
            unchanged=self._n_unchanged,
            skipped=dict(Counter(record.reason for record in records if record.outcome == "skipped").most_common()),
            failed=[(record.path, record.reason) for record in records if record.outcome == "failed"],
            seconds=times.get_stage_seconds(),
            worker_seconds=times.get_worker_seconds(),
            elapsed_s=times.elapsed_s,
            searchable_s=times.searchable_s,
            bytes_read=sum(record.size for record in read),
            lines_read=sum(record.lines for record in read),
            embedded=embedded,
            reembedded=reembedded,
            repaired=repaired,
        )


class StageTimes:
    """Durations of the stages of a run, in seconds. Construction starts the clock."""

    def __init__(self) -> None:
        self._started = time.perf_counter()
        self._stages: dict[str, float] = {}
        self._workers: Counter[str] = Counter()
        self.searchable_s = 0.0
        """Seconds until a generation without edges was committed; 0 if the graph was committed with the chunks."""

    def note_searchable(self) -> None:
        """Note that the index can be searched, but is not linked yet."""
        self.searchable_s = self.elapsed_s

    @property
    def elapsed_s(self) -> float:
        """Seconds since the run started."""
        return time.perf_counter() - self._started

    @contextmanager
    def measure(self, stage: str) -> Iterator[None]:
        """Add the duration of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self._stages[stage] = self._stages.get(stage, 0.0) + time.perf_counter() - started

    def add_workers(self, seconds: Mapping[str, float]) -> None:
        """Add the time that worker processes spent."""
        self._workers.update(seconds)

    def get_stage_seconds(self) -> dict[str, float]:
        """Return the seconds of each stage in order of completion; linking runs within the commit and is subtracted."""
        linking = self._stages.get("link", 0.0)
        return {
            stage: round(seconds - (linking if stage == "commit" else 0.0), 4)
            for stage, seconds in self._stages.items()
        }

    def get_worker_seconds(self) -> dict[str, float]:
        """Return the seconds that workers spent on each stage, the longest first."""
        return {stage: round(seconds, 4) for stage, seconds in self._workers.most_common()}
