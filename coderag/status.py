"""What is indexed, and what on disk differs from it."""

from collections import Counter
from pathlib import Path

from coderag.codegraph.linking.rules.table import FULLY_LINKED
from coderag.ingestion.files.changes import find_changes
from coderag.ingestion.files.scanner import scan
from coderag.ingestion.planning import configured_embedding
from coderag.schema import IndexStatus
from coderag.settings import Settings
from coderag.stores.manifest import manifest_of
from coderag.stores.snapshot import Snapshot


def index_status(root: Path, settings: Settings, snapshot: Snapshot) -> IndexStatus:
    """Return the status of a repository.

    Args:
        root: Its folder, as `check_root` returned it.
        settings: Its settings.
        snapshot: The current generation of its index.
    """
    pointer, records = snapshot.pointer, snapshot.files()
    ingestion = settings.ingestion
    found = scan(root, max_file_bytes=ingestion.max_file_bytes, exclude=ingestion.exclude)
    changes = find_changes(found, manifest_of(snapshot))
    added, changed, removed = changes.confirmed(root, ingestion.max_file_bytes)
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
        configured=configured_embedding(settings.embedding, pointer.embedding),
        edges=pointer.edges,
        linked=sorted(FULLY_LINKED.intersection(record.language for record in indexed)),
    )
