"""Task of a cluster: fetch one repository, index it and publish the index. It runs in any process of any machine."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coderag.cluster.checkout import fetch_commit, resolve_commit
from coderag.cluster.published_record import PublishedRecord, read_record, write_record
from coderag.config.sections import StorageSettings
from coderag.errors import CodeRAGError
from coderag.schema.cluster import ClusterRepository, RepositoryResult, RepositoryState
from coderag.stores.object_storage.bucket import Bucket
from coderag.stores.object_storage.layout import RepositoryFolder


@dataclass(frozen=True, slots=True)
class RepositoryTask:
    """A repository to index.

    Attributes:
        repository: The repository.
        storage: Section `storage` of the settings, with the address of the store.
        work_folder: Folder of checkouts and indexes; on each machine its own.
        workers: Parsing processes.
        keeps_work: Whether checkout and index stay for the next run.
    """

    repository: ClusterRepository
    storage: Mapping[str, Any]
    work_folder: Path
    workers: int = 1
    keeps_work: bool = True


def find_unchanged(
    bucket: Bucket, repository: ClusterRepository, record: PublishedRecord | None, commit: str
) -> RepositoryResult | None:
    """Return the result of a repository whose current commit is published already; None if it has to be indexed.

    Args:
        bucket: Bucket of the store.
        repository: The repository.
        record: What was published of it.
        commit: Its current commit; empty for a folder, where only reading the files tells whether they have changed.

    Raises:
        ObjectStorageError: The store cannot be read.
    """
    if not commit or record is None or (record.address, record.commit) != (repository.address, commit):
        return None
    head = RepositoryFolder(bucket, repository.name).read_head()
    if head is None or head.manifest != record.manifest:
        return None
    return RepositoryResult(repository.name, "unchanged", commit, record.lines, record.chunks)


def index_repository(task: RepositoryTask) -> RepositoryResult:
    """Fetch, index and publish a repository. An error of CodeRAG is part of the result."""
    started = time.monotonic()
    try:
        result = _index(task)
    except CodeRAGError as error:
        result = RepositoryResult(
            task.repository.name, "failed", error=str(error), hint=error.hint, is_retryable=error.retryable
        )
    except OSError as error:
        result = RepositoryResult(task.repository.name, "failed", error=str(error), is_retryable=True)
    return replace(result, seconds=round(time.monotonic() - started, 3))


def _index(task: RepositoryTask) -> RepositoryResult:
    repository, storage = task.repository, dict(task.storage)
    bucket = Bucket(StorageSettings.model_validate(storage))
    previous = read_record(bucket, repository.name)
    commit = "" if repository.is_folder else resolve_commit(repository)
    if (unchanged := find_unchanged(bucket, repository, previous, commit)) is not None:
        return unchanged
    from coderag import CodeRAG  # noqa: PLC0415  # 1.5 s, and a run without changes needs none

    root = Path(repository.address)
    own_folder = task.work_folder / repository.name.replace("/", "%2F")
    if not repository.is_folder:
        root = own_folder / "checkout"
        fetch_commit(repository, commit, root)
        storage["directory"] = str(own_folder / "index")
    ingestion = {"workers": task.workers}
    with CodeRAG(
        root, trusted=repository.is_folder, project=repository.name, storage=storage, ingestion=ingestion
    ) as rag:
        report = rag.index()
    head = RepositoryFolder(bucket, repository.name).read_head()
    seconds = report.elapsed_s
    if previous is not None and report.unchanged:
        seconds = max(seconds, previous.seconds)  # an update says nothing of the time from scratch
    manifest = head.manifest if head is not None else ""
    record = PublishedRecord(repository.address, commit, manifest, report.lines, report.chunks, round(seconds, 3))
    write_record(bucket, repository.name, record)
    if not task.keeps_work and not repository.is_folder:
        shutil.rmtree(own_folder, ignore_errors=True)
    state: RepositoryState = "unchanged" if previous and previous.manifest == manifest else "indexed"
    return RepositoryResult(repository.name, state, commit, report.lines, report.chunks)
