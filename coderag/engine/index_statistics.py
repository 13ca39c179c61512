"""Statistics of the current generation, from its manifest, its graph and its folder."""

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
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
_MAX_GROUPS: Final = 500
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
    pointer, table = generation.pointer, _load_outcomes(generation)
    indexed = [file for file in table.files if file.outcome == "indexed"]
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
        declarations=table.declarations,
        lines=sum(file.lines for file in indexed),
        edges=pointer.edges,
        relations=_count_relations(generation),
        languages=_sum_languages(indexed),
        coverage=_group_outcomes(table.files),
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
        file
        for file in _load_outcomes(generation).files
        if outcome in (None, file.outcome)
        and (reason is None or _shorten_reason(file.reason) == reason)
        and (not folded or folded in file.path.casefold() or folded in file.reason.casefold())
    ]
    return CoveragePage(str(root), generation.pointer.generation, matches[offset : offset + limit], len(matches))


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


@dataclass(frozen=True, slots=True)
class _OutcomeTable:
    """Outcomes of all candidate files by path, and the number of declarations in them."""

    files: Sequence[FileOutcome]
    declarations: int


@lru_cache(2)
def _load_outcomes(generation: _Generation) -> _OutcomeTable:
    """Load the outcomes; the pages of one table share them. They take a third of the memory of the records."""
    records = load_manifest(generation.open()).records
    files = sorted(map(_to_outcome, records), key=attrgetter("path"))
    return _OutcomeTable(files, sum(record.symbols for record in records if record.outcome == "indexed"))


@lru_cache(16)
def _count_relations(generation: _Generation) -> Sequence[RelationCount]:
    import pyarrow.compute as pc  # noqa: PLC0415  # 0.1 s

    edges = generation.open().read_edges(["relation", "confidence"])
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


def _to_outcome(record: FileRecord) -> FileOutcome:
    return FileOutcome(
        record.path,
        record.outcome,
        sys.intern(record.reason or record.note),
        sys.intern(record.language),
        record.size,
        record.lines,
        record.chunks,
    )


def _sum_languages(indexed: Iterable[FileOutcome]) -> list[LanguageShare]:
    sums: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for file in indexed:
        total = sums[file.language]
        total[0] += 1
        total[1] += file.chunks
        total[2] += file.lines
    shares = [LanguageShare(language, *total) for language, total in sums.items()]
    return sorted(shares, key=lambda share: (-share.lines, share.language))


def _group_outcomes(files: Iterable[FileOutcome]) -> list[CoverageGroup]:
    sums: dict[tuple[Outcome, str], list[int]] = defaultdict(lambda: [0, 0])
    for file in files:
        total = sums[file.outcome, _shorten_reason(file.reason)]
        total[0] += 1
        total[1] += file.bytes
    groups = [CoverageGroup(outcome, reason, *total) for (outcome, reason), total in sums.items()]
    ordered = sorted(groups, key=lambda group: (_OUTCOMES.index(group.outcome), -group.files, group.reason))
    return ordered[:_MAX_GROUPS]


def _shorten_reason(reason: str) -> str:
    """Return a reason without its details."""
    detail = _match_detail(reason)
    return reason[: detail.start()] if detail else reason
