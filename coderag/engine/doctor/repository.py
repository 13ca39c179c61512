"""Checks of the repository folder, its index, chat memory and telemetry endpoint."""

import asyncio
import socket
import tempfile
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

from coderag.config.environment import read_environment_key
from coderag.engine.doctor.configuration import SETTINGS_PROBE
from coderag.engine.doctor.probes import Finding, Probe
from coderag.engine.doctor.setup import Setup
from coderag.errors import ConfigurationError, IndexModelError, ObjectStorageUnavailableError, StoreError
from coderag.stores.index_locations import open_object_index

_CONNECT_S = 5.0
_MAX_FAILED_SHOWN = 3
_OTLP_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_DEFAULT_OTLP_ADDRESS = "http://localhost:4318"  # Source: opentelemetry.io/docs/specs/otel/protocol/exporter
_FOLDER_PROBE = "repository.folder"
_INDEX_PROBE = "index.generation"


def make_repository_probes(setup: Setup) -> Iterator[Probe]:
    """Yield the probes of the folder and its index."""
    yield Probe(_FOLDER_PROBE, partial(_check_folder, setup))
    yield Probe("repository.storage", partial(_check_storage, setup), needs=[SETTINGS_PROBE, _FOLDER_PROBE])
    yield Probe(
        _INDEX_PROBE, partial(_check_generation, setup), needs=[SETTINGS_PROBE, _FOLDER_PROBE], timeout_error=StoreError
    )
    yield Probe(
        "index.files", partial(_check_freshness, setup), needs=[SETTINGS_PROBE, _INDEX_PROBE], timeout_error=StoreError
    )
    yield Probe(
        "index.embedding",
        partial(_check_embedding, setup),
        needs=[SETTINGS_PROBE, _INDEX_PROBE],
        timeout_error=StoreError,
    )


def make_service_probes(setup: Setup) -> Iterator[Probe]:
    """Yield the probes of object storage, chat memory and telemetry."""
    settings = setup.settings
    if settings.storage.url:
        limit = setup.limit_s(settings.storage.timeout_s)
        check = partial(_check_object_storage, setup)
        away = ObjectStorageUnavailableError
        yield Probe("storage.objects", check, connects=True, timeout_s=2 * limit, timeout_error=away)
    if settings.chat.memory != "none":
        connects = settings.chat.memory == "postgres"
        limit = setup.limit_s(30.0)
        yield Probe(
            "chat.memory", partial(_check_chat_memory, setup), connects, timeout_s=limit, timeout_error=StoreError
        )
    if settings.telemetry.traces == "otlp":
        yield Probe("telemetry.endpoint", _check_telemetry, connects=True, timeout_s=2 * _CONNECT_S)


def _check_folder(setup: Setup) -> Finding:
    from coderag.ingestion.files.git_repository import find_repository  # noqa: PLC0415  # takes a while
    from coderag.ingestion.files.scanner import check_root  # noqa: PLC0415  # as above

    root = check_root(setup.root)
    if find_repository(root) is None:
        return Finding(f"{root}, not in git: `--changed-since` is unavailable", status="note")
    return Finding(str(root))


def _check_storage(setup: Setup) -> Finding:
    """Check that the index folder, or its nearest existing parent, is writable."""
    directory = setup.directory
    existing = next(folder for folder in (directory, *directory.parents) if folder.exists())
    try:
        with tempfile.TemporaryFile(dir=existing) as file:
            file.write(b"x")
    except OSError as error:
        message = f"{existing} cannot be written: {error.strerror or error}"
        raise StoreError(
            message, hint="Make it writable, or name another folder in CODERAG_STORAGE__DIRECTORY."
        ) from error
    return Finding(f"{directory} can be written")


def _check_object_storage(setup: Setup) -> Finding:
    """Check that the store can be read, and compare its index with that of this machine."""
    index = open_object_index(setup.root, setup.settings)
    assert index is not None
    status = index.status()
    if status.published is None:
        return Finding(f"{status.place}: nothing is published yet", "`coderag index` publishes.", "note")
    text = f"{status.place}: generation {status.published} by {status.writer}, {status.state}"
    if status.state == "diverged":
        hint = (
            "`coderag storage pull` takes the published index; `coderag index` then adds the changes of this machine."
        )
        return Finding(text, hint, "note")
    return Finding(text)


def _check_generation(setup: Setup) -> Finding:
    pointer = setup.store.read_pointer()
    if pointer is None:
        return Finding(
            "not indexed yet", "Run `coderag index`, or ask a question: the first one builds the index.", "note"
        )
    snapshot = setup.store.open()
    snapshot.check_files()
    snapshot.read_files()
    snapshot.read_counts()  # verified against the vocabulary and the chunks
    return Finding(f"generation {pointer.generation} of {pointer.created}: {pointer.chunks:,} chunks")


def _check_freshness(setup: Setup) -> Finding:
    from coderag.engine.index_status import read_index_status  # noqa: PLC0415  # as above
    from coderag.ingestion.files.scanner import check_root  # noqa: PLC0415  # takes a while

    if setup.store.read_pointer() is None:
        return Finding("not indexed yet", status="skipped")
    status = read_index_status(check_root(setup.root), setup.settings, setup.store.open())
    changes = {name: len(getattr(status, name)) for name in ("added", "changed", "removed")}
    if any(changes.values()):
        summary = ", ".join(f"{number:,} {name}" for name, number in changes.items() if number)
        return Finding(f"out of date: {summary}", "Run `coderag index`.", "note")
    if status.failed:
        examples = "; ".join(f"{path}: {error}" for path, error in status.failed[:_MAX_FAILED_SHOWN])
        return Finding(f"{len(status.failed):,} files failed: {examples}", "`coderag status` lists all.", "note")
    return Finding(f"{status.files:,} files, up to date")


def _check_embedding(setup: Setup) -> Finding:
    from coderag.models.providers import describe_configured_embedding  # noqa: PLC0415  # takes a while

    pointer = setup.store.read_pointer()
    if pointer is None:
        return Finding("not indexed yet", status="skipped")
    configured = describe_configured_embedding(setup.settings.embedding, pointer.embedding)
    if configured == pointer.embedding.name:
        return Finding(f"vectors of {pointer.embedding}, as configured")
    message = f"the index has vectors of {pointer.embedding}; configured is {configured}"
    if setup.settings.embedding.provider == pointer.embedding.provider == "embedded":
        hint = "Searches recompute them in memory; `coderag index` stores them."
        return Finding(message, hint, "note")
    hint = "Run `coderag index` to switch, or set embedding.provider and embedding.model back."
    raise IndexModelError(message, hint=hint)


def _check_chat_memory(setup: Setup) -> Finding:
    from coderag.stores.chat_storage import ChatMemory  # noqa: PLC0415  # takes a while

    settings = setup.settings
    memory = ChatMemory(settings.chat, setup.directory, settings.project or setup.root.name)
    number = len(asyncio.run(memory.list_threads()))
    return Finding(f"{settings.chat.memory}: {number:,} conversation{'' if number == 1 else 's'}")


def _check_telemetry() -> Finding:
    """Connect to the OTLP endpoint without sending anything."""
    address = read_environment_key(*_OTLP_VARIABLES) or _DEFAULT_OTLP_ADDRESS
    parts = urlsplit(address)
    endpoint = f"{parts.scheme}://{parts.hostname}"  # without a password that the address may hold
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        endpoint = f"{endpoint}:{port}"
        socket.create_connection((parts.hostname or "", port), _CONNECT_S).close()
    except (OSError, ValueError) as error:
        message = f"{endpoint} cannot be reached: {error}"
        raise ConfigurationError(message, hint="Start the collector, or set OTEL_EXPORTER_OTLP_ENDPOINT.") from error
    return Finding(f"{endpoint} can be reached")
