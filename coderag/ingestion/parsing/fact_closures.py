"""Closures after the arguments of a call: the values of their first parameters and of their receivers."""

from operator import itemgetter
from typing import Final

from tree_sitter import Node

from coderag.ingestion.parsing.chains import ChainParser
from coderag.ingestion.parsing.fact_bindings import BindingReader
from coderag.ingestion.parsing.fact_scopes import ScopeTable
from coderag.ingestion.parsing.languages import read_toml
from coderag.ingestion.parsing.source_text import Captures, SourceText
from coderag.schema.facts import ARGUMENT_STEP, IMPLIED_OWNER, MODULE_SCOPE, RECEIVER_NAME, RECEIVER_STEP, Binding

_get_start = itemgetter(0)
_PARAMETER_LISTS: Final = frozenset({"lambda_parameters", "lambda_function_type", "lambda_function_type_parameters"})
_PARAMETERS: Final = frozenset({"variable_declaration", "lambda_parameter"})
_FUNCTION_KINDS: Final = {
    grammar: {name: kind for kind, names in table.items() if kind != "parameter" for name in names.split()}
    for grammar, table in read_toml("closures.toml").items()
}
_PARAMETER_NAMES: Final = {grammar: table["parameter"] for grammar, table in read_toml("closures.toml").items()}


class ClosureReader:
    """Reads the bindings of closures.

    Args:
        bindings: Receives the bindings.
        grammar: Name of the grammar.
    """

    def __init__(
        self, source: SourceText, scopes: ScopeTable, chains: ChainParser, bindings: BindingReader, grammar: str
    ) -> None:
        self._source = source
        self._scopes = scopes
        self._chains = chains
        self._bindings = bindings
        self._kinds = _FUNCTION_KINDS.get(grammar, {})
        self._implied_name = _PARAMETER_NAMES.get(grammar, "")
        self._calls: list[tuple[int, Node, Node]] = []  # start of the closure, call, closure

    def read_call(self, captures: Captures) -> None:
        """Read a call with a closure: ``items.forEach { it.run() }``, ``repository.apply { load() }``."""
        call, closure = captures["closure.call"][0], captures["closure"][0]
        self._calls.append((closure.start_byte, call, closure))

    def settle(self) -> None:
        """Bind the parameters and receivers of all closures, in order: a closure comes before those inside it."""
        for _, call, closure in sorted(self._calls, key=_get_start):
            self._bind_closure(call, closure)

    def _bind_closure(self, call: Node, closure: Node) -> None:
        chain = self._chains.parse(call)[0].removesuffix("()")
        if not chain or chain.startswith(("?", IMPLIED_OWNER)) or "|" in chain:
            return
        owner, _, name = chain.rpartition(".")
        kind = self._kinds.get(name.partition("/")[0], "")
        if kind == "arguments" and not owner:
            self._bind(closure, RECEIVER_NAME, self._read_first_argument(call))
            return
        kind = kind if owner else ""
        if kind == "receivers":
            self._bind(closure, RECEIVER_NAME, owner)
        elif kind:
            self._bind_parameter(closure, owner if kind == "values" else f"{owner}[]")
        else:
            if "arguments" in self._kinds.values():
                self._bind(closure, RECEIVER_NAME, f"{chain}.{RECEIVER_STEP}")
            self._bind_parameter(closure, f"{chain}.{ARGUMENT_STEP}")

    def read_receiver(self, captures: Captures) -> None:
        """Read the receiver of an extension function."""
        function, receiver = captures["bind.receiver"][0], captures["typed"][0]
        scope, line = self._scopes.find_scope(function.start_byte), self._source.find_line(function.start_byte)
        self._bindings.local[Binding(scope, RECEIVER_NAME, self._source.read_type(receiver), "", line)] = None

    def read_parameter(self, captures: Captures) -> None:
        """Read the type of a parameter that may be a closure: the last one of a function counts."""
        node = captures["closure.parameter"][0]
        scope = self._scopes.find_scope(node.start_byte)
        if scope != MODULE_SCOPE:
            self._scopes.parameters[scope] = self._source.read_type(node)

    def _bind_parameter(self, closure: Node, value: str) -> None:
        """Bind the first parameter of a closure, or the implied one."""
        parameters = [child for child in closure.named_children if child.type in _PARAMETER_LISTS]
        while parameters and (inner := [child for child in parameters[0].children if child.type in _PARAMETER_LISTS]):
            parameters = inner
        if not parameters:
            self._bind(closure, self._implied_name, value)
            return
        declared = [child for child in parameters[0].named_children if child.type in _PARAMETERS]
        if declared and declared[0] == parameters[0].named_children[0] and declared[0].named_child_count == 1:
            self._bind(closure, self._source.read_node(declared[0]), value)

    def _bind(self, closure: Node, name: str, value: str) -> None:
        if not value:
            return
        scope = self._scopes.find_binding_scope(closure.start_byte, name, member=False)
        first, last = (self._source.find_line(offset) for offset in (closure.start_byte, closure.end_byte))
        self._bindings.local[Binding(scope, name, "", value, first, first, last)] = None

    def _read_first_argument(self, call: Node) -> str:
        for suffix in call.named_children[-1].named_children:
            if suffix.type == "value_arguments" and suffix.named_children:
                text = self._chains.parse(suffix.named_children[0].named_children[-1])[0]
                return "" if "|" in text else text
        return ""
