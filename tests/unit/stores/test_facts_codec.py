"""Round trips of encoded facts, and rejection of invalid bytes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.schema.facts import Base, Binding, Definition, FileFacts, Import, Mention, Reference
from coderag.stores.facts_codec import pack_facts, unpack_body, unpack_interface

_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)
_NUMBER = st.integers(-1, 2**31)
_SETTINGS = st.dictionaries(_TEXT, st.recursive(_TEXT | st.booleans() | st.none(), st.lists, max_leaves=3), max_size=2)


def _rows(kind):
    of_type = {str: _TEXT, int: _NUMBER, bool: st.booleans()}
    return st.lists(st.builds(kind, *(of_type[fact] for fact in kind.__annotations__.values())), max_size=3)


def _nested(definitions):
    """Return definitions each of which is in an earlier one, or in none."""
    return [fact._replace(parent=fact.parent % (index + 1) - 1) for index, fact in enumerate(definitions)]


_FACTS = st.builds(
    FileFacts,
    language=_TEXT,
    package=_TEXT,
    definitions=_rows(Definition).map(_nested),
    imports=_rows(Import),
    bases=_rows(Base),
    bindings=_rows(Binding),
    local_bindings=_rows(Binding),
    references=_rows(Reference),
    mentions=_rows(Mention),
    settings=_SETTINGS,
)


@given(_FACTS)
def test_facts_survive_a_round_trip(facts: FileFacts) -> None:
    packed = pack_facts(facts)
    interface, body = unpack_interface(packed.interface), unpack_body(packed.body)
    names = ("language", "package", "definitions", "imports", "bases", "bindings", "settings")
    assert [getattr(interface, name) for name in names] == [getattr(facts, name) for name in names]
    assert (body.bindings, body.build_references(), body.mentions) == (
        facts.local_bindings,
        facts.references,
        facts.mentions,
    )
    assert b"\n" not in packed.interface + packed.body


def test_cyclic_parent_is_rejected() -> None:
    inside = Definition("a", "a", "class", 0, 1, 2)
    with pytest.raises(ValueError, match="not the facts"):
        unpack_interface(pack_facts(FileFacts("python", definitions=[inside])).interface)


def _build_facts(**values: object) -> FileFacts:
    definition = Definition("f", "f", "function", -1, 1, 2)
    return FileFacts("python", "", **{"definitions": [definition], **values})  # type: ignore[arg-type]


def test_digest_depends_on_the_interface_not_its_lines() -> None:
    digest = pack_facts(_build_facts()).digest
    moved = _build_facts(definitions=[Definition("f", "f", "function", -1, 5, 6)])
    assert pack_facts(moved).digest == digest
    inside = _build_facts(references=[Reference(0, "call", "g", 2)], local_bindings=[Binding(0, "x", "", "y", 1)])
    assert pack_facts(inside).digest == digest
    other_facts = [
        _build_facts(definitions=[Definition("g", "g", "function", -1, 1, 2)]),
        _build_facts(definitions=[Definition("f", "f", "function", -1, 1, 2, returns="T")]),
        _build_facts(imports=[Import("m", "x", "", -1, 1)]),
        _build_facts(bases=[Base(0, "B", 1)]),
        _build_facts(bindings=[Binding(-1, "x", "T", "", 1)]),
        _build_facts(settings={"name": "x"}),
        FileFacts("python", "p", [Definition("f", "f", "function", -1, 1, 2)]),
    ]
    assert len({digest, *(pack_facts(fact).digest for fact in other_facts)}) == len(other_facts) + 1


def test_digest_depends_on_the_order_of_duplicate_declarations() -> None:
    def digest(*lines: int) -> bytes:
        first, second, passed_on = lines
        definitions = [Definition("f", "f", "function", -1, line, line) for line in (first, second)]
        return pack_facts(
            _build_facts(definitions=definitions, imports=[Import("", "f", "g", -1, passed_on, True)])
        ).digest

    assert digest(1, 3, 2) == digest(1, 9, 4) != digest(1, 3, 5)


_PACKED = pack_facts(
    FileFacts(
        "python",
        "p",
        [Definition("f", "f", "function", -1, 1, 2)],
        [Import("m", "x", "", -1, 1)],
        [Base(0, "B", 1)],
        [Binding(-1, "x", "T", "", 1)],
        [Binding(0, "x", "T", "", 1)],
        [Reference(0, "call", "g", 2)],
        [Mention("f", 1)],
        {"name": "x"},
    )
)


def _unpacked(packed: bytes) -> None:
    for unpack in (unpack_interface, unpack_body):
        try:
            unpack(packed)
        except ValueError:
            continue


@given(st.binary(max_size=40))
def test_arbitrary_bytes_are_rejected(packed: bytes) -> None:
    _unpacked(packed)


@given(
    st.sampled_from([_PACKED.interface, _PACKED.body]), st.integers(0, 400), st.binary(max_size=3), st.integers(0, 5)
)
def test_damaged_bytes_are_rejected_or_decoded(packed: bytes, at: int, put: bytes, dropped: int) -> None:
    _unpacked(packed[:at] + put + packed[at + dropped :])


@pytest.mark.parametrize("position", [-1, 1])
def test_reference_to_a_missing_chain_is_rejected(position: int) -> None:
    stored = json.loads(_PACKED.body)
    stored[-1][-1] = [position]
    with pytest.raises(ValueError, match="not the facts"):
        unpack_body(json.dumps(stored).encode())


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 9) | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=11) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=40,
)


@given(_JSON)
def test_unrelated_json_is_rejected(value: object) -> None:
    _unpacked(json.dumps(value).encode())


@given(st.integers(0, 6), _JSON)
def test_part_of_a_wrong_type_is_rejected(part: int, value: object) -> None:
    stored = json.loads(_PACKED.interface)
    stored[part] = value
    _unpacked(json.dumps(stored).encode())


@pytest.mark.parametrize(
    "change",
    [
        lambda stored: stored.append(1),
        lambda stored: stored.pop(),
        lambda stored: stored.__setitem__(0, 1),
        lambda stored: stored.__setitem__(6, []),
        lambda stored: stored[2].pop(),
        lambda stored: stored[2].__setitem__(0, [1]),
        lambda stored: stored[2].__setitem__(0, ["f", "g"]),
        lambda stored: stored[2].__setitem__(3, [True]),
        lambda stored: stored[3].__setitem__(5, [0]),
        lambda stored: stored.__setitem__(3, {"a": 1}),
    ],
)
def test_invalid_interface_is_rejected(change) -> None:
    stored = json.loads(_PACKED.interface)
    change(stored)
    with pytest.raises(ValueError, match=r"."):
        unpack_interface(json.dumps(stored).encode())
