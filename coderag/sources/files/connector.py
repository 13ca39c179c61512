"""Connector to Markdown, AsciiDoc, reStructuredText and OpenAPI documents of another folder or git repository."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from coderag.config.source_sections import FilesSection
from coderag.errors import SourceError
from coderag.schema.items import PUBLIC, Item, ItemFailure
from coderag.sources.connector_table import ConnectorContext
from coderag.sources.files.document_store import (
    MAX_DOCUMENT_BYTES,
    SPECIFICATION_SUFFIXES,
    DocumentContent,
    DocumentEntry,
    DocumentFilter,
    DocumentStore,
)
from coderag.sources.files.folder_store import FolderStore
from coderag.sources.files.git_store import GitStore
from coderag.sources.files.markup import build_title, convert_markup
from coderag.sources.files.openapi import OpenAPIError, is_openapi, render_openapi
from coderag.sources.protocol import Checkpoint, Page, SourceKind

_PAGE_DOCUMENTS: Final = 200


class FilesSource:
    """Documents, compared by their hashes. The id of each is its path.

    Args:
        store: Where they are.
        base_url: Address for people, to which each path is appended; empty if there is none.
        page_documents: Documents on a page.
    """

    kind: SourceKind = "documentation"

    def __init__(self, store: DocumentStore, base_url: str = "", page_documents: int = _PAGE_DOCUMENTS) -> None:
        self._store = store
        self._base_url = base_url.rstrip("/")
        self._page_documents = page_documents

    def check(self) -> str:
        """Check that the documents can be listed; return their place and number."""
        self._store.find_version()
        number = len(self._store.list_entries())
        if not number:
            hint = "Check `path`, `include` and `exclude` of the source."
            raise SourceError(f"{self._store.describe()} has no documents", hint=hint)
        return f"{self._store.describe()}, {number:,} {'file' if number == 1 else 'files'}"

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        """Yield pages of new and changed documents; see `Source`."""
        version = self._store.find_version()
        hashes = _get_hashes(checkpoint)
        if version and checkpoint is not None and checkpoint.get("version") == version:
            yield Page((), checkpoint)
            return
        entries = self._store.list_entries()
        paths = {entry.path for entry in entries}
        hashes = {path: digest for path, digest in hashes.items() if path in paths}
        changed = [entry for entry in entries if hashes.get(entry.path) != entry.hash or not entry.hash]
        for start in range(0, len(changed), self._page_documents):
            batch = changed[start : start + self._page_documents]
            page = self._read_page(batch)
            hashes |= {entry.path: entry.hash for entry in batch}
            is_last = start + self._page_documents >= len(changed)
            position = {"hashes": dict(hashes), "version": version if is_last else ""}
            yield Page(page.items, position, page.deleted, page.failures, len(changed))
        if not changed:
            yield Page((), {"hashes": hashes, "version": version})

    def read_items(self, ids: Sequence[str]) -> Page:
        """Read some documents again; see `Source`."""
        entries = {entry.path: entry for entry in self._store.list_entries()}
        page = self._read_page([entries[path] for path in ids if path in entries])
        return Page(page.items, {}, [*page.deleted, *(path for path in ids if path not in entries)], page.failures)

    def list_ids(self) -> Iterator[str]:
        """Yield the paths of all documents; see `Source`."""
        entries = self._store.list_entries()
        yield from (entry.path for entry in entries if not _is_specification(entry.path))
        candidates = [entry for entry in entries if _is_specification(entry.path)]
        for entry, content in zip(candidates, self._store.read_contents(candidates), strict=True):
            if isinstance(content, str) or is_openapi(content.data):
                yield entry.path

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def _read_page(self, entries: Sequence[DocumentEntry]) -> Page:
        items: list[Item] = []
        deleted: list[str] = []
        failures: list[ItemFailure] = []
        for entry, content in zip(entries, self._store.read_contents(entries), strict=True):
            url = f"{self._base_url}/{quote(entry.path)}" if self._base_url else ""
            if isinstance(content, str) or len(content.data) > MAX_DOCUMENT_BYTES:
                reason = content if isinstance(content, str) else f"it is larger than {MAX_DOCUMENT_BYTES:,} bytes"
                failures.append(ItemFailure(entry.path, reason, url))
                continue
            try:
                item = _make_item(entry, content, url)
            except OpenAPIError as error:
                failures.append(ItemFailure(entry.path, str(error), url))
                continue
            if item is not None:
                items.append(item)
            else:
                deleted.append(entry.path)  # it was an OpenAPI document, and is none any more
        return Page(items, {}, deleted, failures)


def open_files(section: FilesSection, context: ConnectorContext) -> FilesSource:
    """Open the documents of a settings section.

    Raises:
        SourceError: The home folder is unknown.
    """
    document_filter = DocumentFilter(section.include, section.exclude)
    if section.git:
        local = context.root / Path(section.git).expanduser() if "://" not in section.git else None
        location = str(local) if local is not None and local.is_dir() else section.git
        store: DocumentStore = GitStore(location, section.branch, context.folder, document_filter)
        return FilesSource(store, section.url)
    folder = (context.root / Path(section.path).expanduser()).resolve()
    return FilesSource(FolderStore(folder, document_filter), section.url or folder.as_uri())


def _make_item(entry: DocumentEntry, content: DocumentContent, url: str) -> Item | None:
    """Make the item of a document; None for YAML and JSON that is not OpenAPI."""
    if _is_specification(entry.path):
        rendered = render_openapi(content.data, entry.path) if is_openapi(content.data) else None
        if rendered is None:
            return None
        title, text = rendered
        kind = "OpenAPI"
    else:
        text = convert_markup(entry.path, _decode(content.data))
        title, kind = build_title(entry.path, text), ""
    return Item(
        id=entry.path,
        kind="file",
        title=title,
        text=text,
        url=url,
        revision=entry.hash,
        modified=content.modified,
        type=kind,
        fields={"Path": entry.path},
        access=PUBLIC,
    )


def _get_hashes(checkpoint: Checkpoint | None) -> dict[str, Any]:
    hashes = checkpoint.get("hashes") if checkpoint is not None else None
    return dict(hashes) if isinstance(hashes, dict) else {}


def _is_specification(path: str) -> bool:
    return path.lower().endswith(SPECIFICATION_SUFFIXES)


def _decode(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")
