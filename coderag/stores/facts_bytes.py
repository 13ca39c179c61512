"""Facts as bytes, in two halves: the interface, which linking other files may ask for, and the body, which it never does.

JSON, because an index may come from elsewhere and reading it must not run anything.
"""

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import orjson

from coderag.facts import Base, Binding, Definition, FileFacts, Import, Mention, Reference

Fact = TypeVar("Fact", Definition, Import, Base, Binding, Reference, Mention)

_PLACES = frozenset({"line", "start_line", "end_line"})


class PackedFacts(NamedTuple):
    """What `pack_facts` made.

    Attributes:
        digest: Hash of the interface without line numbers: while it stays, no other file has to be linked again.
    """

    interface: bytes
    body: bytes
    digest: bytes


def pack_facts(facts: FileFacts) -> PackedFacts:
    """Return the facts of a file as bytes."""
    kinds = (facts.definitions, facts.imports, facts.bases, facts.bindings)
    columns = list(map(_columns, kinds))
    unplaced = list(map(_without_lines, (Definition, Import, Base, Binding), columns))
    interface = [facts.language, facts.package, *columns, facts.settings]
    unplaced_interface = [facts.language, facts.package, *unplaced, facts.settings]
    body = list(map(_columns, (facts.local_bindings, facts.references, facts.mentions)))
    digest = sha256(orjson.dumps(unplaced_interface, option=orjson.OPT_SORT_KEYS)).digest()[:16]
    return PackedFacts(orjson.dumps(interface), orjson.dumps(body), digest)


def unpack_interface(packed: bytes) -> FileFacts:
    """Return the half of a file's facts that other files may see.

    Raises:
        ValueError: These are not the bytes of an interface.
    """
    try:
        language, package, definitions, imports, bases, bindings, settings = orjson.loads(packed)
        _require(type(language) is type(package) is str and type(settings) is dict)
        declared = _rows(Definition, definitions)
        _require(all(one.parent < index for index, one in enumerate(declared)))  # or walking outwards would not end
        return FileFacts(
            language,
            package,
            declared,
            _rows(Import, imports),
            _rows(Base, bases),
            _rows(Binding, bindings),
            settings=settings,
        )
    except (TypeError, IndexError) as error:
        raise ValueError("not the facts of a file") from error


def unpack_body(packed: bytes) -> tuple[list[Binding], list[Reference], list[Mention]]:
    """Return a file's local bindings, references and mentions.

    Raises:
        ValueError: These are not the bytes of a body.
    """
    try:
        bindings, references, mentions = orjson.loads(packed)
        return _rows(Binding, bindings), _rows(Reference, references), _rows(Mention, mentions)
    except (TypeError, IndexError) as error:
        raise ValueError("not the facts of a file") from error


def _columns(facts: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list(zip(*facts, strict=True))


def _without_lines(kind: type[Fact], columns: Sequence[tuple[Any, ...]]) -> list[Sequence[Any]]:
    """Return columns of facts with zeros for the lines at which they stand; a block's are part of what is said."""
    return [
        [0] * len(column) if name in _PLACES else column
        for name, column in zip(kind._fields, columns, strict=bool(columns))
    ]


def _rows(kind: type[Fact], columns: Sequence[Sequence[Any]]) -> list[Fact]:
    """Return columns as facts, after a look at the types in them."""
    _require(type(columns) is list)
    if not columns:
        return []
    annotations = kind.__annotations__.values()
    _require(len(columns) == len(annotations))
    for column, expected in zip(columns, annotations, strict=True):
        _require(type(column) is list and set(map(type, column)) <= {expected})
    return list(map(kind._make, zip(*columns, strict=True)))


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("not the facts of a file")
