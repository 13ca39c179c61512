"""Statistics of the current generation, from its manifest, its graph and its folder."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, get_args

from coderag.config.settings import Settings
from coderag.engine.index_sizes import measure_index
from coderag.models.providers import describe_configured_embedding
from coderag.schema.chunks import FileRecord
from coderag.schema.statistics import (
    CoverageGroup,
    CoveragePage,
    FileOutcome,
    IndexStatistics,
    LanguageShare,
    RelationCount,
)
from coderag.schema.vocabulary import MIN_RESOLVED_CONFIDENCE, EdgeRelation, Outcome
from coderag.stores.index_locations import find_index_folder
from coderag.stores.index_store import IndexStore
from coderag.stores.manifest import load_manifest
from coderag.stores.pointer import FORMAT_VERSION, Pointer
from coderag.stores.snapshot import Snapshot

_OUTCOMES: Final[Sequence[Outcome]] = ("indexed", "skipped", "failed")
_match_detail = re.compile(r" at line | \(|; |: (?=/|'|\d)").search
"""Beginning of the details of a reason, which differ from file to file."""


def read_statistics(root: Path, settings: Settings) -> IndexStatistics:
    """Read the statistics of a repository.

    Args:
        root: Folder of the repository.
        settings: Settings of the repository.

    Raises:
        IndexNotFoundError: Nothing is indexed yet.
        IndexVersionError: The index has another format.
        StoreError: A file of the index is missing or damaged.
    """
    generation = _open_current(root, settings)
    pointer, records = generation.pointer, _load_records(generation)
    indexed = [record for record in records if record.outcome == "indexed"]
    return IndexStatistics(
        root=str(root),
        directory=str(generation.directory),
        generation=pointer.generation,
        created=pointer.created,
        format_version=FORMAT_VERSION,
        embedding=pointer.embedding.name,
        dimension=pointer.embedding.dimension,
        configured=describe_configured_embedding(settings.embedding, pointer.embedding),
        files=len(indexed),
        chunks=pointer.chunks,
        declarations=sum(record.symbols for record in indexed),
        lines=sum(record.lines for record in indexed),
        edges=pointer.edges,
        relations=_count_relations(generation),
        languages=_sum_languages(indexed),
        coverage=_group_outcomes(records),
        sizes=measure_index(generation.directory, pointer),
    )


def list_covered_files(
    root: Path,
    settings: Settings,
    *,
    outcome: Outcome | None = None,
    reason: str | None = None,
    text: str = "",
    offset: int = 0,
    limit: int = 100,
) -> CoveragePage:
    """List files with their outcomes, by path. Raises as `read_statistics`.

    Args:
        root: Folder of the repository.
        settings: Settings of the repository.
        outcome: Only files with this outcome.
        reason: Only files of the group with this reason; empty for indexed files without a remark.
        text: Only files with this text in their path or reason, in any case.
        offset: Number of files to skip.
        limit: Maximum number of files.
    """
    generation = _open_current(root, settings)
    folded = text.casefold()
    matches = [
        record
        for record in _load_records(generation)
        if outcome in (None, record.outcome)
        and (reason is None or _group_reason(record) == reason)
        and (not folded or folded in record.path.casefold() or folded in _get_reason(record).casefold())
    ]
    matches.sort(key=lambda record: record.path)
    page = [_to_outcome(record) for record in matches[offset : offset + limit]]
    return CoveragePage(str(root), generation.pointer.generation, page, len(matches))


@dataclass(frozen=True, slots=True)
class _Generation:
    """Key of cached results of a generation, which holds none of its tables."""

    directory: Path
    identity: tuple[int, str]
    pointer: Pointer = field(compare=False, repr=False)

    def open(self) -> Snapshot:
        return Snapshot(self.directory, self.pointer)


def _open_current(root: Path, settings: Settings) -> _Generation:
    snapshot = IndexStore(find_index_folder(root, settings.storage)).open()
    return _Generation(snapshot.directory, snapshot.pointer.identity, snapshot.pointer)


@lru_cache(2)
def _load_records(generation: _Generation) -> Sequence[FileRecord]:
    """Load the file records; the pages of one table share them."""
    return load_manifest(generation.open()).records


@lru_cache(16)
def _count_relations(generation: _Generation) -> Sequence[RelationCount]:
    import pyarrow.compute as pc  # noqa: PLC0415  # 0.1 s

    edges = generation.open().read_graph().edges
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    table = edges.select(["relation"]).append_column(
        "resolved", pc.greater_equal(edges["confidence"], MIN_RESOLVED_CONFIDENCE)
    )
    for row in table.group_by(["relation", "resolved"]).aggregate([([], "count_all")]).to_pylist():
        counts[row["relation"]][0 if row["resolved"] else 1] = row["count_all"]
    relations = [
        RelationCount(relation, *counts[relation]) for relation in get_args(EdgeRelation) if relation in counts
    ]
    return sorted(relations, key=lambda count: -count.resolved - count.candidates)


def _sum_languages(indexed: Iterable[FileRecord]) -> list[LanguageShare]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for record in indexed:
        total = sums[record.language]
        total[0] += 1
        total[1] += record.chunks
        total[2] += record.lines
    shares = [LanguageShare(language, *total) for language, total in sums.items()]
    return sorted(shares, key=lambda share: (-share.lines, share.language))


def _group_outcomes(records: Iterable[FileRecord]) -> list[CoverageGroup]:
    sums: dict[tuple[Outcome, str], list[int]] = defaultdict(lambda: [0, 0])
    for record in records:
        total = sums[record.outcome, _group_reason(record)]
        total[0] += 1
        total[1] += record.size
    groups = [CoverageGroup(outcome, reason, *total) for (outcome, reason), total in sums.items()]
    return sorted(groups, key=lambda group: (_OUTCOMES.index(group.outcome), -group.files, group.reason))


def _get_reason(record: FileRecord) -> str:
    return record.reason or record.note


def _group_reason(record: FileRecord) -> str:
    """Return the reason of a file without its details."""
    reason = _get_reason(record)
    detail = _match_detail(reason)
    return reason[: detail.start()] if detail else reason


def _to_outcome(record: FileRecord) -> FileOutcome:
    return FileOutcome(
        record.path,
        record.outcome,
        _get_reason(record),
        record.language,
        record.size,
        record.lines,
        record.chunks,
    )
