"""Bindings of a file as facts; `coderag.ingestion.parsing.facts` explains the captures."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set

from coderag.ingestion.parsing.chains import ChainParser
from coderag.ingestion.parsing.declaration_records import CLASS_LIKE, DATA
from coderag.ingestion.parsing.fact_scopes import ScopeTable
from coderag.ingestion.parsing.source_text import MAX_TYPE_CHARS, Captures, SourceText
from coderag.ingestion.parsing.text_ranges import TextRange, TextRanges
from coderag.schema.facts import MODULE_SCOPE, RECEIVER_NAME, Binding

_CHAIN_HEAD = re.compile(r"[^.(\[{|/]*")
_PLAIN_TYPE = re.compile(r"[\w.$]+")
_SELF_TYPES = frozenset({"cls", "Self", "static"})
_METATYPE = re.compile(r"(?i)\btype(?:of)?\b")
_MAX_LOCAL_STEPS = 3
_INFERRED_TYPES = frozenset({"auto", "var"})  # keywords for an inferred type
_VISIBLE_KINDS = CLASS_LIKE | {"namespace", "type_alias"}
_VALUE_STEPS = {"value": "", "elements": "[]", "entered": ".__enter__()", "made": "{}"} | {
    f"value.{n}": f".{n}" for n in range(4)
}


class BindingReader:
    """Reads the bindings of a file: names and the types or values that they are bound to.

    Attributes:
        visible: Bindings of the module and of types, which other files see.
        local: Bindings of functions.
    """

    def __init__(self, source: SourceText, scopes: ScopeTable, chains: ChainParser) -> None:
        self.visible: dict[Binding, None] = {}
        self.local: dict[Binding, None] = {}
        self._value_scopes: dict[Binding, int] = {}  # scope in which a field gets its value
        self._source = source
        self._scopes = scopes
        self._chains = chains

    def read(self, captures: Captures, blocks: TextRanges) -> None:
        """Read the bindings of a match.

        Args:
            blocks: All blocks of the file.
        """
        kind = "bind" if "bind" in captures else "bind.member" if "bind.member" in captures else "bind.type"
        member = "bind.member" in captures
        type_text = self._read_type(captures)
        value = "" if type_text else self._read_value(captures)
        container = self._read_container(captures)
        since, limits = captures.get("from"), captures.get("within")
        for node in captures[kind]:
            start, name = node.start_byte, self._source.read_node(node).removeprefix(":")
            if kind == "bind.type":  # in C++ above the declaration
                scope = self._scopes.find_decorated_scope(start)
            else:
                scope = self._scopes.find_binding_scope(start, name, member=member)
            is_visible = kind == "bind.type" or scope == MODULE_SCOPE or self._scopes.kinds[scope] in _VISIBLE_KINDS
            if member and not is_visible:
                continue
            if container:
                value = f"{container}.{self._source.read_unquoted(captures, 'key') or name}"
            block = None if member else self._find_block(captures, blocks, start)
            line = self._source.find_line(since[0].start_byte if since else start)
            if limits:
                first, last = (self._source.find_line(offset) for offset in (limits[0].start_byte, limits[0].end_byte))
                self.local[Binding(scope, name, type_text, value, first, first, last)] = None
            elif block is not None:
                self.local[Binding(scope, name, type_text, value, line, block.first_line, block.last_line)] = None
            elif not is_visible:
                self.local[Binding(scope, name, type_text, value, line)] = None
            else:
                for visible_name in self._list_field_names(scope, name):
                    binding = Binding(scope, visible_name, type_text, value, line)
                    self.visible[binding] = None
                    self._value_scopes[binding] = (
                        self._scopes.find_binding_scope(start, name, member=False) if member else scope
                    )

    def _list_field_names(self, scope: int, name: str) -> list[str]:
        """Return the names of a field: in Ruby ``@a``, and ``a`` if the type declares that attribute."""
        attribute = name.lstrip("@")
        return [name, attribute] if attribute != name and (scope, attribute) in self._scopes.fields else [name]

    def add(self, bindings: Iterable[Binding]) -> None:
        """Add bindings that were read elsewhere."""
        for binding in bindings:
            is_local = binding.scope != MODULE_SCOPE and self._scopes.kinds[binding.scope] not in _VISIBLE_KINDS
            (self.local if is_local else self.visible)[binding] = None

    def _find_block(self, captures: Captures, blocks: TextRanges, start: int) -> TextRange | None:
        """Return the range in which a name is visible; None if it is visible in all of its scope."""
        if "within" not in captures:
            return blocks.find_innermost(start)
        first, last = captures["within"][0].start_byte, captures["within"][0].end_byte
        return TextRange(first, last, self._source.find_line(first), self._source.find_line(last))

    def read_item(self, captures: Captures) -> None:
        """Read a field that is named by its position."""
        for node in captures["bind.item"]:
            scope = self._scopes.find_binding_scope(node.start_byte, self._source.read_node(node), member=True)
            siblings = node.parent.children_by_field_name("type") if node.parent is not None else []
            line = self._source.find_line(node.start_byte)
            self.visible[Binding(scope, str(siblings.index(node)), self._source.read_type(node), "", line)] = None

    def read_entry(self, captures: Captures) -> None:
        """Read a member of an object literal that is bound to a variable."""
        for node in captures["bind.entry"]:
            declaration = self._scopes.find_declaration(node.start_byte)
            value = self._chains.parse(captures["value"][0])[0]
            if declaration is not None and declaration.kind in DATA and value:
                name, line = self._source.read_node(node).strip("\"'"), self._source.find_line(node.start_byte)
                self.visible[Binding(self._scopes.get_scope(declaration), name, "", value, line)] = None

    def settle(self, imported: Set[tuple[int, str, int]]) -> None:
        """Drop bindings without information, and expand local names in bindings that other files see.

        Args:
            imported: Scope, name and line of imported names: ``const a = require("a")``.
        """
        for bindings in (self.visible, self.local):
            for binding in (
                [binding for binding in bindings if (binding.scope, binding.name, binding.line) in imported]
                if imported
                else ()
            ):
                del bindings[binding]
            _drop_uninformative(bindings)
        self._expand_locals()

    def find_variables(self) -> dict[tuple[int, str], list[Binding]]:
        """Return the bindings of unambiguous variables by scope and name: names that mean no declaration.

        A variable that holds a type, ``cls`` or ``kind: type[Foo]``, means that type and is excluded.
        """
        local_bindings = _group_by_name(self.local)
        type_scopes = {scope for scope, kind in enumerate(self._scopes.kinds) if kind in CLASS_LIKE}
        return {
            key: candidates
            for key, candidates in local_bindings.items()
            if key[0] not in type_scopes
            and key[1] not in _SELF_TYPES
            and not any(_METATYPE.search(binding.type) for binding in candidates if binding.type)
        }

    def group_variables(self) -> dict[tuple[int, str], list[Binding]]:
        """Return all bindings by scope and name, without those of declared fields."""
        bindings = (binding for group in (self.visible, self.local) for binding in group)
        return _group_by_name(item for item in bindings if (item.scope, item.name) not in self._scopes.fields)

    def _read_type(self, captures: Captures) -> str:
        text = self._source.read_type(captures["typed"][0]) if "typed" in captures else ""
        if "typed.elements" in captures:
            text = f"[]{self._source.read_type(captures['typed.elements'][0])}"
        return "" if text in _INFERRED_TYPES else text

    def _read_value(self, captures: Captures) -> str:
        for capture, nodes in captures.items():
            if capture in _VALUE_STEPS:
                chains, step = self._chains.parse(nodes[0])[0], _VALUE_STEPS[capture]
                return "|".join(f"{chain}{step}" for chain in chains.split("|")) if chains else ""
        return ""

    def _read_container(self, captures: Captures) -> str:
        """Return the chain of the value that contains the name as a member; empty if it is unknown."""
        if "typed.whole" in captures:
            text = self._source.read_type(captures["typed.whole"][0])
            return f"{text}{{}}" if _PLAIN_TYPE.fullmatch(text) else ""
        text = self._chains.parse(captures["whole"][0])[0] if "whole" in captures else ""
        return "" if "|" in text else text

    def _expand_locals(self) -> None:
        """Replace local names by their values where other files look: in fields, and in return values."""
        local_bindings = _group_by_name(self.local)
        for binding in [binding for binding in self.visible if binding.value and not binding.type]:
            scope = self._value_scopes.get(binding, binding.scope)
            typed = next(
                (candidate.type for candidate in local_bindings.get((scope, binding.value), ()) if candidate.type), ""
            )
            value = (
                ""
                if typed
                else "|".join(_expand_chain(chain, scope, local_bindings) for chain in binding.value.split("|"))
            )
            del self.visible[binding]
            self.visible[binding._replace(type=typed, value=value)] = None
        for scope, returned in enumerate(self._scopes.returns):
            if returned.startswith("="):
                chains = returned[1:].split("|")
                self._scopes.returns[scope] = "=" + "|".join(
                    _expand_chain(chain, scope, local_bindings) for chain in chains
                )


def _drop_uninformative(bindings: dict[Binding, None]) -> None:
    """Drop bindings without type and value if another binding of the name on the same line has one."""
    uninformative = [binding for binding in bindings if not (binding.type or binding.value)]
    if uninformative:
        informative = {
            (binding.scope, binding.name, binding.line) for binding in bindings if binding.type or binding.value
        }
        for binding in uninformative:
            if (binding.scope, binding.name, binding.line) in informative:
                del bindings[binding]


def _expand_chain(chain: str, scope: int, local_bindings: Mapping[tuple[int, str], Sequence[Binding]]) -> str:
    """Replace the first name of a chain by its value in a function, if that is unambiguous."""
    for _ in range(_MAX_LOCAL_STEPS):
        head = _get_first_name(chain)
        candidates = local_bindings.get((scope, head), ())
        if len(candidates) != 1:
            break
        binding, rest = candidates[0], chain[len(head) :]
        if head == RECEIVER_NAME and binding.last_line:
            break  # the receiver of a closure, not that of the function
        if binding.type and _PLAIN_TYPE.fullmatch(binding.type):
            return f"{binding.type}{{}}{rest}"
        if not binding.value or "|" in binding.value or _get_first_name(binding.value) == head:
            break
        chain = binding.value + rest
    return chain if len(chain) <= MAX_TYPE_CHARS else ""


def is_bound_at(bindings: Sequence[Binding], line: int) -> bool:
    """Return whether at least one of the bindings is in effect at a line."""
    return any(not binding.last_line or binding.first_line <= line <= binding.last_line for binding in bindings)


def _group_by_name(bindings: Iterable[Binding]) -> dict[tuple[int, str], list[Binding]]:
    groups: dict[tuple[int, str], list[Binding]] = {}
    for binding in bindings:
        groups.setdefault((binding.scope, binding.name), []).append(binding)
    return groups


def collect_first_names(chains: Set[str]) -> set[str]:
    """Return the first name of each chain."""
    return {_get_first_name(chain) for chain in chains}


def _get_first_name(chain: str) -> str:
    match = _CHAIN_HEAD.match(chain)
    return match[0] if match else ""
