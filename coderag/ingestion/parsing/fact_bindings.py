"""The names of a file for values, as facts; the captures are explained in `coderag.ingestion.parsing.facts`."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set

from coderag.ingestion.parsing.chains import Chains
from coderag.ingestion.parsing.declaration_records import CLASS_LIKE, DATA
from coderag.ingestion.parsing.enclosing import Parts
from coderag.ingestion.parsing.fact_scopes import Scopes
from coderag.ingestion.parsing.source_text import LONGEST_TYPE, Captures, SourceText
from coderag.schema.facts import MODULE_SCOPE, Binding

_HEAD = re.compile(r"[^.(\[{|/]*")  # the first name of a chain
_PLAIN_TYPE = re.compile(r"[\w.$]+")
_OWN_TYPES = frozenset({"cls", "Self", "static"})
_OF_TYPES = re.compile(r"(?i)\btype(?:of)?\b")
_DEEPEST_LOCALS = 3
_INFERRED = frozenset({"var"})  # what stands for a type that is the value's
_SEEN_OUTSIDE = CLASS_LIKE | {"namespace", "type_alias"}
_STEPS = {"value": "", "elements": "[]", "entered": ".__enter__()", "made": "{}"} | {
    f"value.{n}": f".{n}" for n in range(4)
}


class Bindings:
    """Reads the names for values of a file.

    Attributes:
        outside: Those of the module and of types.
        local: Those of functions.
    """

    def __init__(self, source: SourceText, scopes: Scopes, chains: Chains) -> None:
        self.outside: dict[Binding, None] = {}
        self.local: dict[Binding, None] = {}
        self._values_in: dict[Binding, int] = {}  # the scope in which a field gets its value
        self._source = source
        self._scopes = scopes
        self._chains = chains

    def read(self, captures: Captures, blocks: Parts) -> None:
        """Read what a name is bound to.

        Args:
            blocks: All of the file.
        """
        kind = "bind" if "bind" in captures else "bind.member" if "bind.member" in captures else "bind.type"
        member = "bind.member" in captures
        type_text = self._type(captures)
        value = "" if type_text else self._value(captures)
        whole = self._whole(captures)
        since = captures.get("from")
        for node in captures[kind]:
            start, name = node.start_byte, self._source.of(node)
            scope = self._scopes.binding_at(start, name, member=member)
            seen_outside = kind == "bind.type" or scope == MODULE_SCOPE or self._scopes.kinds[scope] in _SEEN_OUTSIDE
            if member and not seen_outside:
                continue
            if whole:
                value = f"{whole}.{self._source.quoted(captures, 'key') or name}"
            block = None if member else blocks.around(start)
            line = self._source.line(since[0].start_byte if since else start)
            if block is not None:
                self.local[Binding(scope, name, type_text, value, line, block.first_line, block.last_line)] = None
            elif not seen_outside:
                self.local[Binding(scope, name, type_text, value, line)] = None
            else:
                binding = Binding(scope, name, type_text, value, line)
                self.outside[binding] = None
                self._values_in[binding] = self._scopes.binding_at(start, name, member=False) if member else scope

    def read_item(self, captures: Captures) -> None:
        """Read a field that has a position for its name."""
        for node in captures["bind.item"]:
            scope = self._scopes.binding_at(node.start_byte, self._source.of(node), member=True)
            siblings = node.parent.children_by_field_name("type") if node.parent is not None else []
            line = self._source.line(node.start_byte)
            self.outside[Binding(scope, str(siblings.index(node)), self._source.type_of(node), "", line)] = None

    def read_entry(self, captures: Captures) -> None:
        """Read a member of an object that a variable holds."""
        for node in captures["bind.entry"]:
            declaration = self._scopes.declaration_at(node.start_byte)
            value = self._chains.of(captures["value"][0])[0]
            if declaration is not None and declaration.kind in DATA and value:
                name, line = self._source.of(node).strip("\"'"), self._source.line(node.start_byte)
                self.outside[Binding(self._scopes.of(declaration), name, "", value, line)] = None

    def settle(self, imported: Set[tuple[int, str, int]]) -> None:
        """Drop what says nothing, and spell out what other files see.

        Args:
            imported: Scope, name and line of names that an import brings: ``const a = require("a")``.
        """
        for bindings in (self.outside, self.local):
            for one in [one for one in bindings if (one.scope, one.name, one.line) in imported] if imported else ():
                del bindings[one]
            _drop_hiding(bindings)
        self._spell_out()

    def variables(self) -> dict[tuple[int, str], list[Binding]]:
        """Return by scope and name the bindings of what is a variable for sure: its name means no declaration.

        One that holds a type, ``cls`` or ``kind: type[Foo]``, means that type.
        """
        bound = _by_place(self.local)
        inside_types = {scope for scope, kind in enumerate(self._scopes.kinds) if kind in CLASS_LIKE}
        return {
            place: found
            for place, found in bound.items()
            if place[0] not in inside_types
            and place[1] not in _OWN_TYPES
            and not any(_OF_TYPES.search(one.type) for one in found if one.type)
        }

    def _type(self, captures: Captures) -> str:
        text = self._source.type_of(captures["typed"][0]) if "typed" in captures else ""
        if "typed.elements" in captures:
            text = f"[]{self._source.type_of(captures['typed.elements'][0])}"
        return "" if text in _INFERRED else text

    def _value(self, captures: Captures) -> str:
        for capture, nodes in captures.items():
            if capture in _STEPS:
                found, step = self._chains.of(nodes[0])[0], _STEPS[capture]
                return "|".join(f"{chain}{step}" for chain in found.split("|")) if found else ""
        return ""

    def _whole(self, captures: Captures) -> str:
        """Return the chain of what a name is a member of; empty if that is unknown."""
        if "typed.whole" in captures:
            text = self._source.type_of(captures["typed.whole"][0])
            return f"{text}{{}}" if _PLAIN_TYPE.fullmatch(text) else ""
        text = self._chains.of(captures["whole"][0])[0] if "whole" in captures else ""
        return "" if "|" in text else text

    def _spell_out(self) -> None:
        """Put in place of local names what they stand for, where other files ask: in fields, and in what functions return."""
        bound = _by_place(self.local)
        for one in [one for one in self.outside if one.value and not one.type]:
            scope = self._values_in.get(one, one.scope)
            typed = next((local.type for local in bound.get((scope, one.value), ()) if local.type), "")
            value = "" if typed else "|".join(_spelt_out(chain, scope, bound) for chain in one.value.split("|"))
            del self.outside[one]
            self.outside[one._replace(type=typed, value=value)] = None
        for scope, returned in enumerate(self._scopes.returns):
            if returned.startswith("="):
                chains = returned[1:].split("|")
                self._scopes.returns[scope] = "=" + "|".join(_spelt_out(chain, scope, bound) for chain in chains)


def _drop_hiding(bindings: dict[Binding, None]) -> None:
    """Drop bindings that say nothing of a name of which another one in the same place says more."""
    silent = [one for one in bindings if not (one.type or one.value)]
    if silent:
        told = {(one.scope, one.name, one.line) for one in bindings if one.type or one.value}
        for one in silent:
            if (one.scope, one.name, one.line) in told:
                del bindings[one]


def _spelt_out(chain: str, scope: int, bound: Mapping[tuple[int, str], Sequence[Binding]]) -> str:
    """Return a chain with what its first name stands for in a function, if that is one thing only."""
    for _ in range(_DEEPEST_LOCALS):
        head = _head(chain)
        known = bound.get((scope, head), ())
        if len(known) != 1:
            break
        one, rest = known[0], chain[len(head) :]
        if one.type and _PLAIN_TYPE.fullmatch(one.type):
            return f"{one.type}{{}}{rest}"
        if not one.value or "|" in one.value or _head(one.value) == head:
            break
        chain = one.value + rest
    return chain if len(chain) <= LONGEST_TYPE else ""


def known_at(bindings: Sequence[Binding], line: int) -> bool:
    """Return whether one of some bindings is known at a line."""
    return any(not one.last_line or one.first_line <= line <= one.last_line for one in bindings)


def _by_place(bindings: Iterable[Binding]) -> dict[tuple[int, str], list[Binding]]:
    found: dict[tuple[int, str], list[Binding]] = {}
    for one in bindings:
        found.setdefault((one.scope, one.name), []).append(one)
    return found


def first_names(chains: Set[str]) -> set[str]:
    """Return the first name of each of some chains."""
    return {_head(chain) for chain in chains}


def _head(chain: str) -> str:
    match = _HEAD.match(chain)
    return match[0] if match else ""
