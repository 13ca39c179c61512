"""Status of the index, with the files on disk that differ from it."""

from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from coderag.codegraph.linking.rules.rules_table import FULLY_LINKED_LANGUAGES
from coderag.config.settings import Settings
from coderag.errors import StoreError
from coderag.ingestion.cache_directory import resolve_cache_directory
from coderag.ingestion.files.changes import find_changes
from coderag.ingestion.files.scanner import scan
from coderag.ingestion.summaries.worklist import Worklist
from coderag.models.providers import describe_configured_embedding
from coderag.schema.indexing import IndexStatus
from coderag.stores.manifest import load_manifest
from coderag.stores.snapshot import Snapshot
from coderag.stores.summary_cache import SummaryCache, parse_maker_name


def read_index_status(root: Path, settings: Settings, snapshot: Snapshot) -> IndexStatus:
    """Read the status of a repository.

    Args:
        root: Folder of the repository, as `check_root` returned it.
        settings: Settings of the repository.
        snapshot: Current generation of the index.

    Raises:
        StoreError: A file of the index is missing or truncated.
    """
    snapshot.check_files()
    pointer, manifest = snapshot.pointer, load_manifest(snapshot)
    records = manifest.records
    ingestion = settings.ingestion
    scanned = scan(root, max_file_bytes=ingestion.max_file_bytes, exclude=ingestion.exclude)
    changes = find_changes(scanned, manifest)
    added, changed, removed = changes.confirm(root, ingestion.max_file_bytes, include_generated=ingestion.generated)
    indexed = [record for record in records if record.outcome == "indexed"]
    return IndexStatus(
        root=str(root),
        directory=str(snapshot.directory),
        generation=pointer.generation,
        created=pointer.created,
        embedding=pointer.embedding.name,
        files=len(records),
        chunks=sum(record.chunks for record in indexed),
        symbols=sum(record.symbols for record in indexed),
        lines=sum(record.lines for record in indexed),
        languages=dict(Counter(record.language for record in indexed).most_common()),
        outcomes=dict(Counter(record.outcome for record in records)),
        skipped=dict(Counter(record.reason for record in records if record.outcome == "skipped").most_common()),
        failed=[(record.path, record.reason) for record in records if record.outcome == "failed"],
        notes=[(record.path, record.note) for record in indexed if record.note],
        added=added,
        changed=changed,
        removed=removed,
        configured=describe_configured_embedding(settings.embedding, pointer.embedding),
        edges=pointer.edges,
        linked=sorted(FULLY_LINKED_LANGUAGES.intersection(record.language for record in indexed)),
        restricted=settings.restricted,
        **_read_summary_fields(root, snapshot),
    )


def _read_summary_fields(root: Path, snapshot: Snapshot) -> dict[str, Any]:
    """Read the progress of model-written summaries; the maker is omitted if there is none."""
    with SummaryCache(resolve_cache_directory(root, snapshot.directory)) as cache:
        work = Worklist(snapshot, cache)
        share = work.coverage
        makers: Counter[str] = Counter()
        if share.written:
            with suppress(StoreError):  # the cache may be unreadable for this user
                makers.update(map(parse_maker_name, work.list_makers().values()))
    return {"summarised": share.written, "to_summarise": share.total, "summarised_by": dict(makers.most_common())}
