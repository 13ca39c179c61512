"""Connector to any reader of LlamaIndex, or anything with its methods: all is loaded each time and compared by content."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any, Final

from coderag.config.source_sections import ReaderSection
from coderag.errors import ConfigurationError, SourceError
from coderag.schema.items import Item
from coderag.sources.connector_table import ConnectorContext
from coderag.sources.protocol import Checkpoint, Page, SourceKind

_PAGE_DOCUMENTS: Final = 200
_RANDOM_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_PLACE_KEYS: Final = ("url", "source", "file_path", "path", "page_label", "page_number")
"""Metadata by which readers say where a document is from; together they identify it."""
_TITLE_KEYS: Final = ("title", "page_title", "file_name", "name")
_PEOPLE_KEYS: Final = ("author", "assignee", "owner", "creator", "reporter")
_MAX_FIELD_CHARS: Final = 300


class ReaderSource:
    """Documents of a reader.

    Args:
        name: Name of the reader in messages.
        reader: A ``BaseReader`` of LlamaIndex, or any object with ``load_data`` or ``lazy_load_data``.
        kind: Kind of its documents.
        load_arguments: Arguments of its loading method.
    """

    def __init__(
        self,
        name: str,
        reader: Any,  # noqa: ANN401  # LlamaIndex is not imported for its type
        kind: SourceKind = "documentation",
        load_arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self.kind: SourceKind = kind
        self._name = name
        self._reader = reader
        self._load_arguments = dict(load_arguments or {})
        self._loaded_ids: set[str] | None = None

    def check(self) -> str:
        """Load the first document; return the name of the reader's class."""
        next(self._load(), None)
        return type(self._reader).__name__

    def read_changes(self, checkpoint: Checkpoint | None) -> Iterator[Page]:
        """Load everything and yield pages of what differs by its hash; see `Source`."""
        stored = checkpoint.get("hashes") if checkpoint is not None else None
        hashes: dict[str, str] = dict(stored) if isinstance(stored, dict) else {}
        loaded: set[str] = set()
        batch: list[Item] = []
        for item in self._load():
            loaded.add(item.id)
            if hashes.get(item.id) == item.revision:
                continue
            hashes[item.id] = item.revision
            batch.append(item)
            if len(batch) == _PAGE_DOCUMENTS:
                yield Page(batch, {"hashes": dict(hashes)})
                batch = []
        self._loaded_ids = loaded
        yield Page(batch, {"hashes": {item_id: digest for item_id, digest in hashes.items() if item_id in loaded}})

    def read_items(self, ids: Sequence[str]) -> Page:
        """Load everything and keep some; see `Source`."""
        items = {item.id: item for item in self._load() if item.id in set(ids)}
        return Page(list(items.values()), {}, [item_id for item_id in ids if item_id not in items])

    def list_ids(self) -> Iterator[str]:
        """Yield the ids of all documents, those of the last complete load if there was one; see `Source`."""
        ids = self._loaded_ids if self._loaded_ids is not None else {item.id for item in self._load()}
        return iter(sorted(ids))

    def close(self) -> None:
        """Do nothing: readers have no connection to close."""

    def _load(self) -> Iterator[Item]:
        try:
            documents: Iterable[Any] = (
                self._reader.lazy_load_data(**self._load_arguments)
                if _has_lazy_loading(self._reader)
                else self._reader.load_data(**self._load_arguments)
            )
            for document in documents:
                yield self._make_item(document)
        except Exception as error:
            # A reader may raise anything, and its message may hold an address with a key.
            from coderag.models.redaction.redactor import get_redactor  # noqa: PLC0415  # 0.3 s

            reason = get_redactor().redact(f"{type(error).__name__}: {error}").text
            raise SourceError(f"the reader {self._name} failed: {reason}") from error

    def _make_item(self, document: Any) -> Item:  # noqa: ANN401  # a document of LlamaIndex
        metadata = {str(key): value for key, value in (getattr(document, "metadata", None) or {}).items()}
        text = str(getattr(document, "text", "") or "")
        fields = {
            key: str(value) for key, value in metadata.items() if isinstance(value, (str, int, float)) and value != ""
        }
        digest = hashlib.sha256(json.dumps([text, fields], sort_keys=True).encode()).hexdigest()
        item_id = _find_id(document, fields) or digest
        title = next((fields[key] for key in _TITLE_KEYS if key in fields), "") or item_id
        return Item(
            id=item_id,
            kind="page" if self.kind == "documentation" else "ticket",
            title=title,
            text=text,
            url=fields.get("url", ""),
            revision=digest,
            people={key: (fields[key],) for key in _PEOPLE_KEYS if key in fields},
            fields={key: value for key, value in fields.items() if _is_field(key, value)},
        )


def open_reader(section: ReaderSection, context: ConnectorContext) -> ReaderSource:
    """Import the class of a settings section and make the reader.

    Raises:
        ConfigurationError: The class cannot be imported or made.
    """
    module_name, _, class_name = section.reader.partition(":")
    try:
        reader_class = getattr(import_module(module_name), class_name)
    except (ImportError, AttributeError) as error:
        message = f"sources.{context.name}.reader: {section.reader} cannot be imported: {error}"
        raise ConfigurationError(message, hint="Install the package of the reader, or correct the name.") from error
    try:
        reader = reader_class(**section.arguments)
    except Exception as error:
        message = f"sources.{context.name}.arguments: {class_name} cannot be made: {type(error).__name__}"
        raise ConfigurationError(message, hint="Compare the arguments with the documentation of the reader.") from error
    if not hasattr(reader, "load_data"):
        raise ConfigurationError(f"sources.{context.name}.reader: {section.reader} has no load_data")
    return ReaderSource(context.name, reader, section.kind, section.load_arguments)


def _has_lazy_loading(reader: Any) -> bool:  # noqa: ANN401  # a reader of LlamaIndex
    """Return whether a reader loads lazily itself; LlamaIndex's base class has methods that only raise."""
    method = getattr(type(reader), "lazy_load_data", None)
    return method is not None and not getattr(method, "__module__", "").startswith("llama_index.core.readers.base")


def _is_field(key: str, value: str) -> bool:
    return key not in ("url", *_PEOPLE_KEYS) and len(value) <= _MAX_FIELD_CHARS


def _find_id(document: Any, fields: Mapping[str, str]) -> str:  # noqa: ANN401  # a document of LlamaIndex
    """Return an id that is the same in every load; empty if the document has none.

    LlamaIndex makes a random one where the reader gives none.
    """
    given = str(getattr(document, "id_", "") or "")
    if given and not _RANDOM_ID.fullmatch(given):
        return given
    return " ".join(fields[key] for key in _PLACE_KEYS if key in fields)
