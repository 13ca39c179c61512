"""Facts of Elixir, in which every construct is a call or a module attribute; see ``queries/elixir.graph.scm``."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tree_sitter import Node

from coderag.ingestion.parsing.chains import ChainParser
from coderag.ingestion.parsing.fact_scopes import ScopeTable
from coderag.ingestion.parsing.form_nodes import (
    Span,
    build_containment_test,
    count_arguments,
    get_arguments,
    get_operator,
    get_span,
    iterate_pairs,
    iterate_type_names,
)
from coderag.ingestion.parsing.source_text import Captures, SourceText
from coderag.schema.facts import CALLBACK_MODIFIER, MODULE_SCOPE, Base, Binding, Import, ReferenceKind

USING_MACRO: Final = "__using__"
"""Macro that ``use Module`` runs."""

_OWN_MODULE: Final = "__MODULE__"
_DEFINING: Final = frozenset(
    {"def", "defp", "defdelegate", "defmacro", "defmacrop", "defguard", "defguardp", "defn", "defnp"}
)
_CONTAINERS: Final = frozenset({"defmodule", "defprotocol", "defimpl"})
_DIRECTIVES: Final = frozenset({"alias", "import", "require", "use"})
_TEST_GROUP: Final = "describe"
_TEST_HOOKS: Final = frozenset({"setup", "setup_all", "using"})
_HOOKS: Final = _TEST_HOOKS | {"plug", "on_mount"}
"""Macros that take functions of the module by name."""
_SCOPE: Final = "scope"
_ROUTES: Final = frozenset({"get", "post", "put", "patch", "delete", "head", "options", "match"})
"""Macros of a router that take a module and the name of its function; `_SCOPE` around them gives the start of its name."""
_ACTION_ARITY: Final = 2
_TYPE_ATTRIBUTES: Final = frozenset({"spec", "type", "typep", "opaque", "callback", "macrocallback"})
_FUNCTION_KINDS: Final = frozenset({"function", "method", "macro"})
_CALLBACK_ATTRIBUTES: Final = frozenset({"callback", "macrocallback"})

_TEMPLATE_CALL: Final = re.compile(
    rb"<(?P<component>(?:[A-Z]\w*(?:\.[A-Z]\w*)*)?\.[a-z_]\w*)"  # <.button>, <Icons.icon>
    rb"|(?P<code>\{[^{}]*\}|<%.*?%>)",
    re.DOTALL,
)
_CODE_CALL: Final = re.compile(rb"(?<![\w.@:])((?:[A-Z]\w*\.)*[a-z_]\w*[?!]?)\(")

_NameUse = tuple[ReferenceKind, int, str, int]


class FormReader:
    """Reads the forms of one file.

    Args:
        source: The file's text.
        scopes: Its definitions.
        chains: Parser of its expressions.

    Attributes:
        imports, bases, bindings: Facts in order of reading.
    """

    def __init__(self, source: SourceText, scopes: ScopeTable, chains: ChainParser) -> None:
        self.imports: dict[Import, None] = {}
        self.bases: dict[Base, None] = {}
        self.bindings: dict[Binding, None] = {}
        self._source = source
        self._scopes = scopes
        self._chains = chains
        self._calls: dict[Span, tuple[str, int, int]] = {}  # callee, number of arguments, offset of its name
        self._ignored: set[Span] = set()  # nodes that are no calls or mentions
        self._piped: set[Span] = set()
        self._structs: dict[Span, str] = {}
        self._names: dict[Span, str] = {}
        self._patterns: list[Span] = []
        self._uses: list[_NameUse] = []
        self._arities: dict[int, tuple[int, int]] = {}
        self._prefixes: list[tuple[Span, str]] = []
        self._aliases: dict[tuple[int, str], str] = {}

    def build_dispatch_table(self) -> Mapping[str, Callable[[Captures], None]]:
        """Map each capture to its reader."""
        return {
            "form": self._read_form,
            "form.piped": self._read_piped,
            "form.pattern": self._read_pattern,
            "form.struct": self._read_struct,
            "form.module": self._read_module_name,
            "form.owner": self._read_function_tuple,
            "form.name": self._read_name,
            "form.template": self._read_template,
        }

    def collect_uses(self) -> Iterator[_NameUse]:
        """Yield the uses of names, and write numbers of parameters to the scopes."""
        for scope, (minimum, maximum) in self._arities.items():
            arity = f"/{minimum}" if minimum == maximum else f"/{minimum}-{maximum}"
            self._scopes.modifiers[scope] = f"{self._scopes.modifiers[scope]} {arity}".strip()
        yield from self._uses
        for span, (callee, count, offset) in self._calls.items():
            if span not in self._ignored:
                yield "call", span[0], f"{callee}/{count + (span in self._piped)}", offset
        is_in_pattern = build_containment_test(self._patterns)
        for span, name in self._structs.items():
            if span not in self._ignored:
                yield "type" if is_in_pattern(span[0]) else "new", span[0], name, span[0]
        yield from self._iterate_mentions()

    def _iterate_mentions(self) -> Iterator[_NameUse]:
        """Yield the modules that are mentioned, and the bare names that nothing binds, which are calls."""
        bound = {(binding.scope, binding.name) for binding in self.bindings}
        for span, name in self._names.items():
            start = span[0]
            if span in self._ignored or span in self._structs:
                continue
            if name[0].isupper():
                prefix = self._find_prefix(span)
                for module in (name, f"{prefix}.{name}") if prefix else (name,):
                    yield "read", start, module, start
            elif (self._scopes.find_scope(start), name) not in bound:
                yield "call", start, f"{name}/{int(span in self._piped)}", start

    # Captures

    def _read_form(self, captures: Captures) -> None:
        node = captures["form"][0]
        if node.type == "unary_operator":
            self._read_unary(node)
            return
        target = node.child_by_field_name("target")
        if target is None:
            return
        if target.type == "dot":
            self._read_remote_call(node, target)
        elif target.type == "identifier":
            self._read_local_form(node, target, self._source.read_node(target))

    def _read_local_form(self, node: Node, target: Node, keyword: str) -> None:
        if keyword in _DEFINING:
            self._read_head(node, keyword)
        elif keyword in _DIRECTIVES:
            self._read_directive(node, keyword)
        elif keyword in _CONTAINERS:
            self._read_container(node, keyword)
        elif keyword == _TEST_GROUP:
            self._mark_group(node)
        else:
            if keyword in _HOOKS:
                self._read_hook(node)
            elif keyword == _SCOPE or keyword in _ROUTES:
                self._read_route(node, keyword)
            if keyword not in _TEST_HOOKS:  # these declare a block, which has their name
                self._add_call(node, keyword, target.start_byte)

    def _mark_group(self, node: Node) -> None:
        """Mark a group of tests, which is a namespace but no module."""
        scope = self._scopes.find_scope(node.start_byte)
        if scope != MODULE_SCOPE and self._scopes.kinds[scope] == "namespace":
            self._scopes.modifiers[scope] = _TEST_GROUP

    def _read_remote_call(self, node: Node, target: Node) -> None:
        owner, name = self._unquote(target.child_by_field_name("left")), target.child_by_field_name("right")
        if owner is None or name is None or name.type not in ("identifier", "operator_identifier"):
            return
        is_module = owner.type in ("alias", "unary_operator") or self._source.read_node(owner) == _OWN_MODULE
        if owner.type == "atom" or not (is_module or get_arguments(node) is not None):
            return  # an Erlang module, or ``user.name``
        callee = f"{self._chains.parse(owner)[0] or '?'}.{self._source.read_node(name)}"
        if owner.type == "unary_operator" and (attribute := owner.child_by_field_name("operand")) is not None:
            callee = f"{_OWN_MODULE}.{self._source.read_node(attribute)}.{self._source.read_node(name)}"
        self._add_call(node, callee, name.start_byte)

    def _add_call(self, node: Node, callee: str, offset: int) -> None:
        count = sum(count_arguments(child) for child in node.children if child.type in ("arguments", "do_block"))
        if callee:
            self._calls[get_span(node)] = callee, count, offset

    def _read_piped(self, captures: Captures) -> None:
        node = captures["form.piped"][0]
        self._piped.add(get_span(node))
        if node.type == "identifier":
            self._calls[get_span(node)] = self._source.read_node(node), 0, node.start_byte

    def _read_pattern(self, captures: Captures) -> None:
        for node in captures["form.pattern"]:
            self._bind_names(node)

    def _read_struct(self, captures: Captures) -> None:
        node = captures["form.struct"][0]
        if name := self._chains.parse(node)[0]:
            self._structs[get_span(node)] = name

    def _read_module_name(self, captures: Captures) -> None:
        node = captures["form.module"][0]
        self._names[get_span(node)] = self._source.read_node(node)

    def _read_name(self, captures: Captures) -> None:
        node = captures["form.name"][0]
        name = self._source.read_node(node)
        if not name.startswith("_"):
            self._names[get_span(node)] = name

    def _read_function_tuple(self, captures: Captures) -> None:
        """Read a function as module, name and arguments: ``apply(Worker, :run, [1])``."""
        owner, name = captures["form.owner"][0], captures["form.function"][0]
        module = self._source.read_node(owner)
        arguments = name.next_named_sibling
        if arguments is not None and (owner.type == "alias" or module == _OWN_MODULE):
            function = self._source.read_node(name).lstrip(":")
            chain = f"{module}.{function}/{arguments.named_child_count}"
            self._uses.append(("read", owner.start_byte, chain, name.start_byte))

    def _read_template(self, captures: Captures) -> None:
        """Read the components and calls in a template: ``<.button>``, ``<Icons.icon>``, ``{label(@item)}``."""
        node = captures["form.template"][0]
        for match in _TEMPLATE_CALL.finditer(self._source.data, node.start_byte, node.end_byte):
            if match["component"]:
                start, name = match.start("component"), match["component"].decode().lstrip(".")
                self._uses.append(("call", start, f"{name}/1", start))
                continue
            for call in _CODE_CALL.finditer(self._source.data, *match.span("code")):
                self._uses.append(("call", call.start(1), f"{call[1].decode()}/", call.start(1)))

    # Definitions

    def _read_container(self, node: Node, keyword: str) -> None:
        arguments = get_arguments(node)
        name = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        if name is None:
            return
        self._ignored.add(get_span(name))
        scope = self._scopes.find_scope(node.start_byte)
        if keyword == "defimpl" and scope != MODULE_SCOPE:
            self._add_base(scope, self._source.read_node(name), name, "implements")

    def _read_head(self, node: Node, keyword: str) -> None:
        """Read the head of a function's clause: its parameters, and what it delegates to."""
        arguments = get_arguments(node)
        head = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        if arguments is None or head is None:
            return
        if head.type == "binary_operator" and get_operator(head) == "when":
            head = head.child_by_field_name("left") or head
        self._ignored.add(get_span(head))
        scope = self._scopes.find_scope(node.start_byte)
        parameters = get_arguments(head) if head.type == "call" else None
        if scope == MODULE_SCOPE or head.type not in ("call", "identifier"):
            return
        maximum = len(parameters.named_children) if parameters is not None else 0
        defaults = 0
        if parameters is not None:
            defaults = sum(
                child.type == "binary_operator" and get_operator(child) == "\\\\" for child in parameters.named_children
            )
            self._bind_names(parameters)
        self._widen_arity(scope, maximum - defaults, maximum)
        if keyword == "defdelegate":
            self._read_delegate(arguments, head, maximum)

    def _widen_arity(self, scope: int, minimum: int, maximum: int) -> None:
        least, most = self._arities.get(scope, (minimum, maximum))
        self._arities[scope] = min(least, minimum), max(most, maximum)

    def _read_delegate(self, arguments: Node, head: Node, count: int) -> None:
        options = self._read_options(arguments)
        if (owner := options.get("to")) is not None:
            target = head.child_by_field_name("target") or head
            name = self._source.read_node(options.get("as", target)).lstrip(":")
            chain = f"{self._source.read_node(owner)}.{name}/{count}"
            self._uses.append(("call", owner.start_byte, chain, owner.start_byte))

    def _bind_names(self, node: Node) -> None:
        """Bind all names in a pattern."""
        self._patterns.append(get_span(node))
        scope = self._scopes.find_scope(node.start_byte)
        if scope == MODULE_SCOPE or self._scopes.kinds[scope] not in _FUNCTION_KINDS:
            return
        pending = [node]
        while pending:
            current = pending.pop()
            if current.type == "identifier":
                name, line = self._source.read_node(current), self._source.find_line(current.start_byte)
                if not name.startswith("_"):
                    self.bindings[Binding(scope, name, "", "", line)] = None
            elif current.type not in ("call", "alias", "string"):
                pending += current.named_children

    # Directives

    def _read_directive(self, node: Node, keyword: str) -> None:
        arguments = get_arguments(node)
        if arguments is None or not arguments.named_children:
            return
        first = arguments.named_children[0]
        scope, line = self._scopes.find_scope(node.start_byte), self._source.find_line(node.start_byte)
        for module_node, text in self._list_modules(first):
            self._ignored.add(get_span(module_node))
            module = self._expand_module(text, scope)
            if keyword == "use":
                self._read_use(arguments, module_node, module, scope)
                continue
            options = self._read_options(arguments)
            for imported in self._list_imports(keyword, options, module):
                self.imports[imported._replace(scope=scope, line=line)] = None
            if keyword == "alias" or "as" in options:
                name = module.rpartition(".")[2]
                if "as" in options:
                    name = self._source.read_node(options["as"])
                    self._ignored.add(get_span(options["as"]))
                self._aliases[scope, name] = module

    def _list_imports(self, keyword: str, options: Mapping[str, Node], module: str) -> list[Import]:
        if keyword == "import" and (only := options.get("only")) is not None and only.type == "list":
            names = [self._source.read_node(pair).partition(":")[0] for pair in iterate_pairs(only)]
            return [Import(module, name, "", 0, 0) for name in dict.fromkeys(names)]
        if keyword == "import":
            return [Import(module, "*", "", 0, 0)]
        alias = self._source.read_node(options["as"]) if "as" in options else ""
        return [Import(module, "", alias or (module.rpartition(".")[2] if keyword == "alias" else ""), 0, 0)]

    def _read_use(self, arguments: Node, node: Node, module: str, scope: int) -> None:
        """Read ``use Module``, which runs a macro of the module whose names become visible."""
        line = self._source.find_line(node.start_byte)
        macro = f"{module}.{USING_MACRO}"
        self.imports[Import(macro, "*", "", scope, line)] = None
        if scope != MODULE_SCOPE:
            self.bases[Base(scope, macro, line)] = None
        self._uses.append(("call", node.start_byte, f"{macro}/1", node.start_byte))
        self._uses.append(("read", node.start_byte, module, node.start_byte))
        selected = arguments.named_children[-1]
        if selected.type == "atom":  # ``use Web, :controller``
            name = self._source.read_node(selected).lstrip(":")
            self.imports[Import(f"{module}.{name}", "*", "", scope, line)] = None

    def _list_modules(self, node: Node) -> list[tuple[Node, str]]:
        """Return the module names of a directive: ``A.{B, C}`` has two."""
        node = self._unquote(node) or node
        text = self._source.read_node(node)
        if node.type == "dot" and (names := node.child_by_field_name("right")) is not None and names.type == "tuple":
            prefix = self._source.read_node(node.child_by_field_name("left") or node)
            self._ignored.update(get_span(child) for child in node.named_children)
            return [(name, f"{prefix}.{self._source.read_node(name)}") for name in names.named_children]
        if node.type == "dot":
            self._ignored.update(get_span(child) for child in node.named_children)
        return [(node, text)] if node.type in ("alias", "dot", "identifier") else []

    def _expand_module(self, text: str, scope: int) -> str:
        """Return the full name of a module that begins with an alias or with the own module."""
        head, dot, rest = text.partition(".")
        while True:
            if head == _OWN_MODULE:
                own_module = self._scopes.find_module_name(scope)
                return f"{own_module}{dot}{rest}" if own_module else text
            if (alias := self._aliases.get((scope, head))) is not None:
                return f"{alias}{dot}{rest}"
            if scope == MODULE_SCOPE:
                return text
            scope = self._scopes.parents[scope]

    # Attributes and captured functions

    def _read_unary(self, node: Node) -> None:
        operand = node.child_by_field_name("operand")
        if operand is None:
            return
        if get_operator(node) == "&":
            self._read_captured_function(operand)
        elif operand.type == "identifier":
            name = self._source.read_node(operand)
            self._uses.append(("read", node.start_byte, f"{_OWN_MODULE}.{name}", operand.start_byte))
        elif operand.type == "call" and (target := operand.child_by_field_name("target")) is not None:
            self._read_attribute(node, operand, self._source.read_node(target))

    def _read_captured_function(self, operand: Node) -> None:
        """Read ``&run/1`` and ``&Worker.run/1``."""
        if operand.type != "binary_operator" or get_operator(operand) != "/":
            return
        function, count = operand.child_by_field_name("left"), operand.child_by_field_name("right")
        if function is None or count is None or count.type != "integer":
            return
        self._ignored.add(get_span(function))
        target = function.child_by_field_name("target") if function.type == "call" else function
        if target is None or target.type not in ("dot", "identifier"):
            return
        name = target.child_by_field_name("right") or target
        chain = self._chains.parse(target)[0]
        if chain and not chain.startswith("?"):
            self._uses.append(
                ("read", function.start_byte, f"{chain}/{self._source.read_node(count)}", name.start_byte)
            )

    def _read_attribute(self, node: Node, operand: Node, name: str) -> None:
        self._ignored.add(get_span(operand))
        arguments = get_arguments(operand)
        value = arguments.named_children[0] if arguments is not None and arguments.named_children else None
        if value is None:
            return
        scope = self._scopes.find_scope(node.start_byte)
        if name in _TYPE_ATTRIBUTES:
            self._read_typespec(node, value, name, scope)
        elif name == "behaviour" and scope != MODULE_SCOPE:
            self._add_base(scope, self._source.read_node(self._unquote(value) or value), value, "implements")
        elif scope != MODULE_SCOPE and value.type == "alias":  # a name for a module
            chain, line = self._source.read_node(value), self._source.find_line(node.start_byte)
            owner = self._scopes.parents[scope] if self._scopes.names[scope] == name else scope
            self.bindings[Binding(owner, name, "", chain, line)] = None

    def _read_typespec(self, node: Node, value: Node, keyword: str, scope: int) -> None:
        anchor = node.start_byte
        if value.type == "binary_operator" and get_operator(value) == "when":
            constraints, value = value.child_by_field_name("right"), value.child_by_field_name("left") or value
            for pair in iterate_pairs(constraints) if constraints is not None else ():
                self._read_types(pair.child_by_field_name("value"), anchor)
        if value.type != "binary_operator":
            return
        head, result = value.child_by_field_name("left"), value.child_by_field_name("right")
        if head is None:
            return
        self._ignored.add(get_span(head))
        parameters = get_arguments(head) if head.type == "call" else None
        if keyword == "spec":
            name = self._source.read_node(head.child_by_field_name("target") or head)
            anchor = self._scopes.find_following_start(anchor, name)
        elif keyword in _CALLBACK_ATTRIBUTES and scope != MODULE_SCOPE:
            count = len(parameters.named_children) if parameters is not None else 0
            self._widen_arity(scope, count, count)
            self._scopes.modifiers[scope] = CALLBACK_MODIFIER
        for parameter in parameters.named_children if parameters is not None else ():
            self._read_types(parameter, anchor)
        self._read_types(result, anchor)

    def _read_types(self, root: Node | None, anchor: int) -> None:
        """Read the names of types in a type expression."""
        for node, target in iterate_type_names(root):
            self._ignored.update((get_span(node), get_span(target)))
            chain, offset = self._chains.parse(target)
            if chain and chain != _OWN_MODULE and not chain.startswith("?"):
                self._uses.append(("type", anchor, chain, offset))

    # Parts of forms

    def _read_hook(self, node: Node) -> None:
        """Read the functions that a hook names: ``plug :authenticate``, ``setup [:user]``."""
        arguments = get_arguments(node)
        if arguments is None or not arguments.named_children:
            return
        first = arguments.named_children[0]
        if first.type == "binary_operator":  # ``when action in [:show]``
            first = first.child_by_field_name("left") or first
        for atom in first.named_children if first.type == "list" else [first]:
            if atom.type == "atom":
                name = self._source.read_node(atom).lstrip(":")
                self._uses.append(("read", atom.start_byte, f"{name}/", atom.start_byte))

    def _unquote(self, node: Node | None) -> Node | None:
        """Return the argument of ``unquote(...)``, or the node itself."""
        if node is None or node.type != "call":
            return node
        target, arguments = node.child_by_field_name("target"), get_arguments(node)
        if target is None or arguments is None or self._source.read_node(target) != "unquote":
            return node
        return next(iter(arguments.named_children), node)

    def _read_route(self, node: Node, keyword: str) -> None:
        """Read a scope of a router, or a route to a function: ``get "/users", UserController, :index``."""
        arguments = get_arguments(node)
        modules = [] if arguments is None else [child for child in arguments.named_children if child.type == "alias"]
        if arguments is None or not modules:
            return
        name = self._source.read_node(modules[0])
        if keyword == _SCOPE:
            self._prefixes.append((get_span(node), name))
            self._ignored.add(get_span(modules[0]))
            return
        action = modules[0].next_named_sibling
        if action is not None and action.type == "atom":
            function, prefix = self._source.read_node(action).lstrip(":"), self._find_prefix(get_span(node))
            for module in (name, f"{prefix}.{name}") if prefix else (name,):
                chain = f"{module}.{function}/{_ACTION_ARITY}"
                self._uses.append(("read", node.start_byte, chain, action.start_byte))

    def _find_prefix(self, span: Span) -> str:
        """Return the start of the names of modules in the scopes around a node; empty without any."""
        around = [(outer, name) for outer, name in self._prefixes if outer[0] < span[0] and span[1] <= outer[1]]
        return ".".join(name for _, name in sorted(around))

    def _read_options(self, arguments: Node) -> dict[str, Node]:
        """Return the values of keyword arguments."""
        options = {}
        for pair in iterate_pairs(arguments):
            key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
            if key is not None and value is not None:
                options[self._source.read_node(key).strip().rstrip(":")] = value
        return options

    def _add_base(self, scope: int, chain: str, node: Node, relation: str) -> None:
        self.bases[Base(scope, chain, self._source.find_line(node.start_byte), relation)] = None
