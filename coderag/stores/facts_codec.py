"""Codec of facts, in two halves: the interface that linking other files reads, and the body that it does not.

The encoding is JSON: an index may come from elsewhere, and reading it must not run code.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import orjson

from coderag.schema.facts import Base, Binding, Definition, FileFacts, Import, Mention, Reference, rank_lines

Fact = TypeVar("Fact", Definition, Import, Base, Binding, Reference, Mention)

_LINE_FIELDS = frozenset({"line", "start_line", "end_line", "name_line"})


class PackedFacts(NamedTuple):
    """Encoded facts of a file.

    Attributes:
        digest: Hash of the interface without line numbers, but with their order where it matters. While it is
            unchanged, no other file needs relinking.
    """

    interface: bytes
    body: bytes
    digest: bytes


class FactsBody(NamedTuple):
    """Facts that matter only inside a file.

    Attributes:
        bindings: Local bindings.
        chains: Distinct chains of all references.
        uses: Columns of the references: scope, kind, line, position of the chain.
    """

    bindings: list[Binding]
    mentions: list[Mention]
    chains: list[str]
    uses: Sequence[Sequence[Any]]

    def build_references(self, is_wanted: Callable[[str], bool] | None = None) -> list[Reference]:
        """Build the references, in order.

        Args:
            is_wanted: Filter on chains, called once for each.
        """
        chains = [chain if is_wanted is None or is_wanted(chain) else None for chain in self.chains]
        return [
            Reference(scope, kind, chain, line)
            for scope, kind, line, position in zip(*self.uses, strict=True)
            if (chain := chains[position]) is not None
        ]


def pack_facts(facts: FileFacts) -> PackedFacts:
    """Encode the facts of a file."""
    kinds = (facts.definitions, facts.imports, facts.bases, facts.bindings)
    columns = list(map(_to_columns, kinds))
    columns_without_lines = list(map(_strip_lines, (Definition, Import, Base, Binding), columns))
    interface = [facts.language, facts.package, *columns, facts.settings]
    interface_without_lines = [facts.language, facts.package, *columns_without_lines, facts.settings, rank_lines(facts)]
    scopes, uses, chains, lines = _to_columns(facts.references) or [()] * 4
    positions = {chain: position for position, chain in enumerate(dict.fromkeys(chains))}
    references = (scopes, uses, lines, [positions[chain] for chain in chains])
    body = [_to_columns(facts.local_bindings), _to_columns(facts.mentions), list(positions), references]
    digest = sha256(orjson.dumps(interface_without_lines, option=orjson.OPT_SORT_KEYS)).digest()[:16]
    return PackedFacts(orjson.dumps(interface), orjson.dumps(body), digest)


def unpack_interface(packed: bytes) -> FileFacts:
    """Decode the interface of a file's facts.

    Raises:
        ValueError: The bytes are not an interface.
    """
    try:
        language, package, definitions, imports, bases, bindings, settings = orjson.loads(packed)
        _require(type(language) is type(package) is str and type(settings) is dict)
        unpacked_definitions = _to_facts(Definition, definitions)
        _require(
            all(definition.parent < index for index, definition in enumerate(unpacked_definitions))
        )  # a cycle would make the walk to outer scopes endless
        return FileFacts(
            language,
            package,
            unpacked_definitions,
            _to_facts(Import, imports),
            _to_facts(Base, bases),
            _to_facts(Binding, bindings),
            settings=settings,
        )
    except (TypeError, IndexError) as error:
        raise ValueError("not the facts of a file") from error


def unpack_body(packed: bytes) -> FactsBody:
    """Decode a file's local bindings, mentions and references.

    Raises:
        ValueError: The bytes are not a body.
    """
    try:
        bindings, mentions, chains, uses = orjson.loads(packed)
        _require_columns([chains], (str,))
        _require_columns(uses, (int, str, int, int))
        _require(not uses[-1] or 0 <= min(uses[-1]) <= max(uses[-1]) < len(chains))
        return FactsBody(_to_facts(Binding, bindings), _to_facts(Mention, mentions), chains, uses)
    except (TypeError, IndexError) as error:
        raise ValueError("not the facts of a file") from error


def _to_columns(facts: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list(zip(*facts, strict=True))


def _strip_lines(kind: type[Fact], columns: Sequence[tuple[Any, ...]]) -> list[Sequence[Any]]:
    """Replace line numbers in columns of facts by zeros; those of a block stay, as they carry meaning."""
    return [
        [0] * len(column) if name in _LINE_FIELDS else column
        for name, column in zip(kind._fields, columns, strict=bool(columns))
    ]


def _to_facts(kind: type[Fact], columns: Sequence[Sequence[Any]]) -> list[Fact]:
    """Convert columns to facts after checking their types."""
    if columns == []:
        return []
    _require_columns(columns, kind.__annotations__.values())
    return list(map(kind._make, zip(*columns, strict=True)))


def _require_columns(columns: Sequence[Sequence[Any]], types: Collection[type]) -> None:
    """Require columns of the given types and equal length."""
    _require(type(columns) is list and len(columns) == len(types))
    for column, expected in zip(columns, types, strict=True):
        _require(type(column) is list and len(column) == len(columns[0]) and set(map(type, column)) <= {expected})


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError("not the facts of a file")
