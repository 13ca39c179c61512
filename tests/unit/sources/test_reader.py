from collections.abc import Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from coderag.config.source_sections import ReaderSection
from coderag.errors import ConfigurationError, SourceError
from coderag.integrations.llama_index.reader_source import as_source
from coderag.sources.connector_table import open_source
from coderag.sources.mirror import ItemMirror
from coderag.sources.reader import ReaderSource
from coderag.sources.synchronization import synchronize


class ListReader:
    """A reader of given documents."""

    def __init__(self, documents: Iterable[Any] = (), number: int = 0) -> None:
        self.documents: Iterable[Any] | Exception = [
            *documents,
            *(make_document(f"Text {index}", id_=f"doc-{index}") for index in range(number)),
        ]

    def load_data(self, **_: Any) -> list[Any]:
        if isinstance(self.documents, Exception):
            raise self.documents
        return list(self.documents)


def make_document(text: str, id_: str = "", **metadata: object) -> SimpleNamespace:
    return SimpleNamespace(text=text, id_=id_, metadata=metadata)


def sync(mirror: ItemMirror, reader: Any) -> tuple[int, int, int]:
    run = synchronize("notes", as_source(reader, "notes"), mirror)
    assert run.outcome == "complete", run.message
    return run.changes.added, run.changes.changed, run.changes.deleted


def test_only_what_differs_is_written_and_what_is_gone_is_deleted(tmp_path: Path) -> None:
    mirror, reader = ItemMirror(tmp_path), ListReader(number=5)

    assert sync(mirror, reader) == (5, 0, 0)
    assert sync(mirror, reader) == (0, 0, 0)
    reader.documents = [
        make_document("Changed", id_="doc-0"),
        *list(reader.documents)[1:4],
        make_document("New", id_="new"),
    ]
    assert sync(mirror, reader) == (1, 1, 1)
    assert sorted(mirror.list_ids("notes")) == ["doc-0", "doc-1", "doc-2", "doc-3", "new"]


def test_documents_of_llama_index_with_random_ids_are_known_by_their_place(tmp_path: Path) -> None:
    from llama_index.core.readers.base import BaseReader
    from llama_index.core.schema import Document

    class PageReader(BaseReader):
        suffix = ""

        def load_data(self, *_: Any, **__: Any) -> list[Document]:
            metadata = {"url": "https://docs.example/a", "title": "A page", "size": 3}
            return [
                Document(text=f"Page {number}{self.suffix}", metadata={**metadata, "page_label": number})
                for number in (1, 2)
            ]

    mirror, reader = ItemMirror(tmp_path), PageReader()
    assert sync(mirror, reader) == (2, 0, 0)
    reader.suffix = "."
    assert sync(mirror, reader) == (0, 2, 0)

    item = mirror.get("notes", "https://docs.example/a 1")
    assert item is not None
    assert (item.title, item.url, item.fields["size"]) == ("A page", "https://docs.example/a", "3")
    assert "Page 1." in mirror.read_text(item)


def test_lazy_reader_is_read_lazily_and_document_without_place_is_known_by_its_content(tmp_path: Path) -> None:
    class LazyReader:
        def lazy_load_data(self) -> Iterator[Any]:
            yield from (make_document(f"Text {number}") for number in range(3))

        def load_data(self) -> list[Any]:
            raise AssertionError

    mirror = ItemMirror(tmp_path)
    assert sync(mirror, LazyReader()) == (3, 0, 0)
    assert sync(mirror, LazyReader()) == (0, 0, 0)


def test_reader_that_fails_keeps_the_mirror_and_its_key_out_of_the_message(tmp_path: Path) -> None:
    mirror, reader = ItemMirror(tmp_path), ListReader(number=3)
    sync(mirror, reader)
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    reader.documents = RuntimeError(f"401 for {key}")
    run = synchronize("notes", ReaderSource("notes", reader), mirror)

    assert run.outcome == "failed"
    assert run.message.startswith("the reader notes failed: RuntimeError: 401")
    assert key not in run.message
    assert len(mirror.list_ids("notes")) == 3


def test_reader_that_suddenly_returns_nothing_deletes_nothing(tmp_path: Path) -> None:
    mirror, reader = ItemMirror(tmp_path), ListReader(number=3)
    sync(mirror, reader)
    reader.documents = []

    assert synchronize("notes", ReaderSource("notes", reader), mirror).outcome == "incomplete"
    assert len(mirror.list_ids("notes")) == 3


def open_reader(**values: Any) -> ReaderSource:
    section = ReaderSection.model_validate({"system": "reader", **values})
    source = open_source("notes", section, Path(), Path())
    assert isinstance(source, ReaderSource)
    return source


def test_class_named_in_the_settings_is_made_with_its_arguments() -> None:
    source = open_reader(reader=f"{__name__}:ListReader", arguments={"number": 2}, kind="backlog")

    assert source.check() == "ListReader"
    assert [item.kind for page in source.read_changes(None) for item in page.items] == ["ticket", "ticket"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"reader": "none_such:Reader"}, "cannot be imported"),
        ({"reader": "json:Reader"}, "cannot be imported"),
        ({"reader": "collections:OrderedDict"}, "has no load_data"),
        ({"reader": f"{__name__}:ListReader", "arguments": {"none": 1}}, "cannot be made: TypeError"),
    ],
)
def test_reader_that_cannot_be_made_is_an_error_of_the_settings(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        open_reader(**values)


def test_check_of_a_failing_reader_is_an_error() -> None:
    reader = ListReader()
    reader.documents = ValueError("no such space")

    with pytest.raises(SourceError, match="no such space"):
        as_source(reader).check()
