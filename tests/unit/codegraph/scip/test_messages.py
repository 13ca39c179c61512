import re
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.codegraph.scip.messages import (
    Descriptor,
    Occurrence,
    Relationship,
    parse_descriptor,
    read_documents,
    read_metadata,
)
from coderag.codegraph.scip.protobuf import ProtobufError, stream_fields
from coderag.errors import StoreError
from tests.support.scip_index import DEFINITION, ScipDocument, ScipIndex, message, packed, symbol, varint

CART = symbol("cart/", "Cart#")
INDEX = ScipIndex(
    [
        ScipDocument(
            "a.py", [(3, 4, 2, symbol("x.")), (1, 6, 4, CART, DEFINITION)], [(CART, symbol("B#"), "implementation")]
        ),
        ScipDocument("b.py", [(300, 0, 4, CART)]),
    ],
    "file:///work",
)


@pytest.fixture
def write(tmp_path):
    def write(content):
        path = tmp_path / "index.scip"
        path.write_bytes(content)
        return path

    return write


def encode_occurrence(write, *fields):
    document = message((1, "a.py"), (2, message(*fields)))
    [read] = read_documents(write(message((2, document))))
    return read.occurrences[0]


def test_occurrences_are_ordered_with_one_based_lines(write):
    path = write(INDEX.to_bytes())
    assert read_metadata(path) == ("scip-test", "1.2", "file:///work")
    first, second = read_documents(path)
    assert first.path == "a.py"
    assert first.occurrences == [Occurrence(1, 6, 4, CART, DEFINITION), Occurrence(3, 4, 2, symbol("x."), 0)]
    assert first.symbols[0].symbol == CART
    assert first.symbols[0].relationships == [Relationship(symbol("B#"), is_implementation=True)]
    assert second.occurrences == [Occurrence(300, 0, 4, CART, 0)]


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ([(1, packed([4, 2, 9]))], (5, 2, 7)),
        ([(1, packed([4, 2, 4, 9]))], (5, 2, 7)),
        ([(1, packed([4, 2, 6, 9]))], (5, 2, -1)),
        ([(1, 4), (1, 2), (1, 9)], (5, 2, 7)),
        ([(8, message((1, 4), (2, 2), (3, 9)))], (5, 2, 7)),
        ([(8, message((3, 9)))], (1, 0, 9)),
        ([(9, message((1, 4), (2, 2), (3, 6), (4, 9)))], (5, 2, -1)),
    ],
    ids=[
        "one line",
        "one line, four numbers",
        "several lines",
        "not packed",
        "typed",
        "typed, zeros left out",
        "typed, several",
    ],
)
def test_every_range_encoding_is_read(write, place, expected):
    assert encode_occurrence(write, *place, (2, CART))[:3] == expected


def test_unknown_fields_are_skipped(write):
    fixed = varint(99 << 3 | 5) + struct.pack("<f", 1.0) + varint(98 << 3 | 1) + struct.pack("<d", 1.0)
    document = message((1, "a.py"), (77, "new"), (2, message((1, packed([0, 0, 1])), (2, CART), (55, 3)))) + fixed
    [read] = read_documents(write(fixed + message((2, document), (60, "new"), (61, 5))))
    assert read.occurrences == [Occurrence(1, 0, 1, CART, 0)]


@pytest.mark.parametrize(
    ("name", "descriptor"),
    [
        (symbol("cart/", "Cart#"), ("Cart", "#")),
        (symbol("cart/", "Cart#add()."), ("add", "()")),
        (symbol("cart/", "Cart#add(+1)."), ("add", "()")),
        (symbol("`a.ts`/", "`<constructor>`()."), ("<constructor>", "()")),
        (symbol("`odd ``name```#"), ("odd `name`", "#")),
        (symbol("cart/", "limit."), ("limit", ".")),
        (symbol("`pkg.base`/", "__init__:"), ("__init__", ":")),
        (symbol("vec!"), ("vec", "!")),
        (symbol("`src/a.ts`/"), ("src/a.ts", "/")),
        (symbol("f().(x)"), ("", "")),
        (symbol("Box#[T]"), ("", "")),
        ("local 12", ("", "")),
        ("", ("", "")),
        ("nonsense", ("", "")),
    ],
)
def test_descriptor_has_name_and_suffix(name, descriptor):
    assert parse_descriptor(name) == Descriptor(*descriptor)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00",
        b"SCIP index",
        b'{"lsif": true}',
        b"\xff" * 40,
        message((2, message((1, "a.py")))),
        message((1, 5)),
        message((1, message((2, message((1, b"\xff\xfe")))))),
    ],
    ids=["empty", "zero", "text", "JSON", "ones", "no metadata", "number as metadata", "not UTF-8"],
)
def test_invalid_file_raises(write, content):
    with pytest.raises(ProtobufError):
        read_metadata(write(content))


@pytest.mark.parametrize(
    "document",
    [
        message((2, message((1, packed([0, 0, 1]))))),
        message((1, "a.py"), (2, message((2, CART)))),
        message((1, "a.py"), (2, message((1, packed([0, 1]))))),
        message((1, "a.py"), (2, message((1, packed([2**64 - 5, 0, 1]))))),
        message((1, "a.py"), (2, message((1, packed([0, 0, 1])), (3, "roles")))),
        message((1, "a.py"), (2, 7)),
    ],
    ids=["no path", "no range", "half a range", "negative line", "text as roles", "number as occurrence"],
)
def test_incomplete_document_raises(write, document):
    with pytest.raises(ProtobufError):
        list(read_documents(write(message((2, document)))))


@pytest.mark.parametrize("size", range(1, len(INDEX.to_bytes()), 7))
def test_truncated_index_raises_or_has_complete_documents(write, size):
    path = write(INDEX.to_bytes()[:size])
    complete = list(read_documents(write(INDEX.to_bytes())))
    path = write(INDEX.to_bytes()[:size])
    try:
        read = list(read_documents(path))
    except ProtobufError:
        return
    assert read == complete[: len(read)]


@given(st.binary(max_size=300))
def test_arbitrary_bytes_raise_only_protobuf_errors(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "fuzzed.scip"
    path.write_bytes(content)
    try:
        read_metadata(path)
        list(read_documents(path))
    except ProtobufError as error:
        assert re.search(r"\w", str(error))


@given(st.data())
def test_corrupted_index_is_read_or_rejected(tmp_path_factory, data):
    content = bytearray(INDEX.to_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "changed.scip"
    path.write_bytes(bytes(content))
    try:
        for document in read_documents(path):
            assert all(occurrence.line >= 1 for occurrence in document.occurrences)
            for occurrence in document.occurrences:
                parse_descriptor(occurrence.symbol)
    except ProtobufError:
        pass


def test_unrequested_fields_are_not_read(write):
    large = message((3, b"x" * 1_000_000), (2, b"y"))
    assert [field.value for field in stream_fields(write(large), frozenset({2}))] == [b"y"]


def test_missing_file_raises_a_store_error(tmp_path):
    with pytest.raises(StoreError, match=r"none\.scip"):
        read_metadata(tmp_path / "none.scip")
