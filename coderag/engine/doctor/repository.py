"""Is the folder one that can be indexed, is its index usable and fresh, can conversations be kept, do spans have an end?"""

import asyncio
import socket
import tempfile
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

from coderag.config.environment import read_environment_key
from coderag.engine.doctor.configuration import LOADED
from coderag.engine.doctor.probes import Finding, Probe
from coderag.engine.doctor.setup import Setup
from coderag.errors import ConfigurationError, IndexModelError, StoreError

_CONNECT_S = 5.0
_STALE_SHOWN = 3
_OTLP_VARIABLES = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_OTLP_ADDRESS = "http://localhost:4318"  # Source: opentelemetry.io/docs/specs/otel/protocol/exporter
_FOLDER = "repository.folder"
_INDEX = "index.generation"


def repository_probes(setup: Setup) -> Iterator[Probe]:
    """Yield what is checked of the folder and its index."""
    yield Probe(_FOLDER, partial(_folder, setup))
    yield Probe("repository.storage", partial(_storage, setup), needs=[LOADED, _FOLDER])
    yield Probe(_INDEX, partial(_generation, setup), needs=[LOADED, _FOLDER], overdue=StoreError)
    yield Probe("index.files", partial(_freshness, setup), needs=[LOADED, _INDEX], overdue=StoreError)
    yield Probe("index.embedding", partial(_embedding, setup), needs=[LOADED, _INDEX], overdue=StoreError)


def service_probes(setup: Setup) -> Iterator[Probe]:
    """Yield what is checked of what goes on beside searching."""
    settings = setup.settings
    if settings.chat.memory != "none":
        connects = settings.chat.memory == "postgres"
        limit = setup.limit_s(30.0)
        yield Probe("chat.memory", partial(_chat, setup), connects, timeout_s=limit, overdue=StoreError)
    if settings.telemetry.traces == "otlp":
        yield Probe("telemetry.endpoint", _telemetry, connects=True, timeout_s=2 * _CONNECT_S)


def _folder(setup: Setup) -> Finding:
    from coderag.ingestion.files.git_repository import find_repository  # noqa: PLC0415  # takes a while
    from coderag.ingestion.files.scanner import check_root  # noqa: PLC0415  # as above

    root = check_root(setup.root)
    if find_repository(root) is None:
        return Finding(f"{root}, not in git: changes are found all the same, `--changed-since` is not", status="note")
    return Finding(str(root))


def _storage(setup: Setup) -> Finding:
    """Try to write where the index is, or will be."""
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


def _generation(setup: Setup) -> Finding:
    pointer = setup.store.read_pointer()
    if pointer is None:
        return Finding(
            "nothing is indexed yet", "Run `coderag index`, or just ask: the first question indexes.", "note"
        )
    snapshot = setup.store.open()
    snapshot.check_files()
    snapshot.read_files()
    snapshot.read_counts()  # they are compared with the vocabulary and the chunks
    return Finding(f"generation {pointer.generation} of {pointer.created}: {pointer.chunks:,} chunks")


def _freshness(setup: Setup) -> Finding:
    from coderag.engine.index_status import read_index_status  # noqa: PLC0415  # as above
    from coderag.ingestion.files.scanner import check_root  # noqa: PLC0415  # takes a while

    if setup.store.read_pointer() is None:
        return Finding("nothing is indexed yet", status="skipped")
    status = read_index_status(check_root(setup.root), setup.settings, setup.store.open())
    changes = {name: len(getattr(status, name)) for name in ("added", "changed", "removed")}
    if any(changes.values()):
        told = ", ".join(f"{number:,} {name}" for name, number in changes.items() if number)
        return Finding(f"out of date: {told}", "Run `coderag index`.", "note")
    if status.failed:
        first = "; ".join(f"{path}: {error}" for path, error in status.failed[:_STALE_SHOWN])
        return Finding(f"{len(status.failed):,} files failed: {first}", "`coderag status` lists all.", "note")
    return Finding(f"{status.files:,} files, up to date")


def _embedding(setup: Setup) -> Finding:
    from coderag.models.providers import describe_configured_embedding  # noqa: PLC0415  # takes a while

    pointer = setup.store.read_pointer()
    if pointer is None:
        return Finding("nothing is indexed yet", status="skipped")
    configured = describe_configured_embedding(setup.settings.embedding, pointer.embedding)
    if configured == pointer.embedding.name:
        return Finding(f"vectors of {pointer.embedding}, as configured")
    message = f"the index has vectors of {pointer.embedding}; configured is {configured}"
    if setup.settings.embedding.provider == pointer.embedding.provider == "embedded":
        hint = "Searches make them anew in memory; `coderag index` stores them."
        return Finding(message, hint, "note")
    hint = "Run `coderag index` to switch, or set embedding.provider and embedding.model back."
    raise IndexModelError(message, hint=hint)


def _chat(setup: Setup) -> Finding:
    from coderag.stores.chat_memory import ChatMemory  # noqa: PLC0415  # takes a while

    settings = setup.settings
    memory = ChatMemory(settings.chat, setup.directory, settings.project or setup.root.name)
    number = len(asyncio.run(memory.list_threads()))
    return Finding(f"{settings.chat.memory}: {number:,} conversation{'' if number == 1 else 's'}")


def _telemetry() -> Finding:
    """Connect to where spans are sent. Nothing is sent."""
    address = read_environment_key(*_OTLP_VARIABLES) or _OTLP_ADDRESS
    parts = urlsplit(address)
    shown = f"{parts.scheme}://{parts.hostname}"  # an address may hold a password
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        shown = f"{shown}:{port}"
        socket.create_connection((parts.hostname or "", port), _CONNECT_S).close()
    except (OSError, ValueError) as error:
        message = f"{shown} cannot be reached: {error}"
        raise ConfigurationError(message, hint="Start the collector, or set OTEL_EXPORTER_OTLP_ENDPOINT.") from error
    return Finding(f"{shown} can be reached")
