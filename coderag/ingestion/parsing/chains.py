"""Expressions as chains of names and access steps, see `coderag.schema.facts`.

Each grammar has one table in ``queries/chains.toml``; a new language needs no code.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final

from tree_sitter import Node

from coderag.ingestion.parsing.chain_suffixes import SUFFIX_SHAPES, SuffixParser
from coderag.ingestion.parsing.languages import read_toml
from coderag.ingestion.parsing.source_text import SourceText, join_name_parts
from coderag.ingestion.parsing.trees import load_grammar
from coderag.schema.facts import CONSTRUCTOR_NAME, REQUIRED_MARK

_MAX_STEPS = 24  # longer chains are generated code, or fluent interfaces whose first steps are read anyway
_MAX_CHAIN_CHARS = 200
COUNTED_SHAPES: Final = frozenset({"counted", "constructor", "invocation", "trailing", "infix"})
"""Shapes of calls that include their arguments in one node."""

NodeShape = tuple[str, ...]
"""Interpretation of a node, followed by names of its fields.

``member`` has the fields of its object and name. ``call``, ``element``, ``new`` and ``inner`` have the field of the callee,
indexed value, instantiated type or inner expression (default: the first child); ``element`` may have that of the key, too.
``either`` has the fields of alternatives; ``ends`` takes the first and last child as alternatives, ``last`` the last one.
``cast`` is a value and its type (first and last child). ``literal`` has the type of its value. ``name`` is a name, and
``text`` a name with separators. ``scoped`` has the fields of a namespace or type and of the name in it, which may be scoped
itself (C++). ``typed`` has the fields of a name and of its type arguments; a call of one of the names that follow returns an
instance of the first argument (``static_cast<Foo>(x)``). ``invocation`` is a call with the fields of its object and name.
``static`` is a member with the first and the last child: a class constant or static property in PHP.

For languages that resolve overloads by arity: ``counted`` has the fields of the arguments and of the callee, or of the
object and the name. ``constructor`` has the fields of the arguments and of ``this`` or ``super`` (default: the last and first
child). ``uncounted`` is a method reference, ``Foo::bar``. ``generic`` is a name with counted type arguments: ``Foo`2``.
``required`` is a call, or the module that a call of ``require`` names, with the fields of the function and the arguments.
``placeholder`` is the parameter of a function written as the argument of a call, with the fields of the called member and
its object.
``type_applied`` is a value with type arguments, which is an element only as the receiver of a member.
``optional`` is optional chaining (``?.``) with the member in its second child; ``bound`` has the field of its name.

For languages whose calls and members are suffixes: ``trailing`` is a counted call or a subscript, with closures after the
arguments. ``suffixed`` is a value with member suffixes, and the members that stand for the value itself. ``infix`` is a call
between its operands, ``path`` a dotted name without its type arguments. ``receiver`` is ``this``, or that of a named type.
``reference`` is a callable reference. ``implied`` is a prefix, or a member of the type that the context expects."""

NODE_SHAPES: Final[Mapping[str, Mapping[str, NodeShape]]] = {
    name: {kind: tuple(shape) for kind, shape in table.items()} for name, table in read_toml("chains.toml").items()
}
"""Shape of each kind of node that is part of a chain, by grammar; see ``queries/chains.toml``."""


Chain = tuple[str, int]
"""A chain and the offset of its last name."""

_NO_CHAIN: Chain = ("", 0)
_PLAIN_CHAIN = re.compile(rb"[A-Za-z_$][\w$]*(?:(?:\.|::)[A-Za-z_$][\w$]*)+")
_CHAIN_TOKENS = frozenset({"identifier", "self", "super", "crate", "type_identifier", "primitive_type"})
_MODULE_STRING = re.compile(r"[\"'][\w./-]+[\"']")
_TOKEN_OWNERS = frozenset({"macro_invocation", "macro_rule"})
_DEFINING_CRATE = "$crate"
_CALLEE_SHAPE_PARTS = 3
_KEY_FIELD = 2  # position in the shape of an element
_COMPOUND_NAMES = frozenset({"generic", "inner", "scoped"})  # shapes of members with type arguments or qualifiers
_MAX_NAME_DEPTH = 4
_PLACEHOLDER = "variadic_placeholder"  # ``strlen(...)`` in PHP, a reference to the function
_TYPE_ARGUMENTS = re.compile(r"`\d+$")
_STEP_SUFFIXES: Final = {
    "call": "()",
    "element": "[]",
    "new": "{}",
    "inner": "",
    "macro": "!",
    "type_applied": "",
    "required": "()",
}


@cache
def _load_field_ids(grammar_name: str) -> Mapping[str, int]:
    """Return the field ids that a grammar's shapes use. Lookup of a child by id is faster than by name."""
    names = {name for shape in NODE_SHAPES.get(grammar_name, {}).values() for name in shape[1:]}
    numbers = {name: load_grammar(grammar_name).field_id_for_name(name) for name in names if name}
    return {name: number for name, number in numbers.items() if number is not None}


class ChainParser:
    """Parses the expressions of one file into chains.

    Args:
        source: The file's text.
        grammar_name: A key of `NODE_SHAPES`. For any other grammar, no expression is a chain.
    """

    def __init__(self, source: SourceText, grammar_name: str) -> None:
        self._source = source
        self._shapes = NODE_SHAPES.get(grammar_name, {})
        self._field_ids = _load_field_ids(grammar_name)
        self._has_typed_calls = any(shape[0] == "typed" for shape in self._shapes.values())
        self._has_placeholders = any(shape[0] == "placeholder" for shape in self._shapes.values())
        self._suffixes = SuffixParser(source, self._parse_node)
        self._cache: dict[tuple[bytes, int], Chain] = {}  # by text and kind: expressions repeat often

    def parse(self, node: Node) -> Chain:
        """Parse an expression; return an empty chain if it is none. Alternatives are joined by ``|``."""
        start, end = node.start_byte, node.end_byte
        is_placeholder = self._has_placeholders and self._source.data.startswith(
            b"_", start
        )  # it depends on the context
        if is_placeholder or end - start > _MAX_CHAIN_CHARS:
            return self._parse_bounded(node)
        key = self._source.data[start:end], node.kind_id
        cached = self._cache.get(key)
        if cached is None:
            text, offset = self._parse_bounded(node)
            cached = self._cache[key] = text, offset - start
        return cached[0], cached[1] + start

    def _parse_bounded(self, node: Node) -> Chain:
        chain = self._parse_node(node, _MAX_STEPS)
        return chain if len(chain[0]) <= _MAX_CHAIN_CHARS else _NO_CHAIN

    def parse_callee(self, node: Node) -> Chain:
        """Parse the callee of a call, where ``tools["run"]`` is the member ``tools.run``."""
        shape = self._shapes.get(node.type, ())
        key = self._get_child(node, shape[2]) if len(shape) > _KEY_FIELD and shape[0] == "element" else None
        name = self._source.read_node(key).strip("\"'`") if key is not None and self.get_shape(key) == "literal" else ""
        if not name.isidentifier():
            return self.parse(node)
        owner = self._get_child(node, shape[1])
        text = self.parse(owner)[0] if owner is not None else ""
        return f"{text if text and '|' not in text else '?'}.{name}", key.start_byte if key is not None else 0

    def get_shape(self, node: Node) -> str:
        """Return the shape name of a node, see `NodeShape`; empty if it is part of no chain."""
        shape = self._shapes.get(node.type)
        return shape[0] if shape else ""

    def parse_macro_tokens(self, name: Node) -> Chain:
        """Parse the chain that ends at a name among the tokens of a macro or its call; return an empty chain without one."""
        ancestor = name.parent
        while ancestor is not None and ancestor.type == "token_tree":
            ancestor = ancestor.parent
        if ancestor is None or ancestor.type not in _TOKEN_OWNERS:
            return _NO_CHAIN
        text, separator = self._source.read_node(name), name.prev_sibling
        while separator is not None and separator.type in (".", "::"):
            owner, steps = separator.prev_sibling, ""
            while owner is not None and owner.type in ("token_tree", "?"):
                steps = ("()" if self._source.read_node(owner).startswith("(") else "[]") + steps
                owner = owner.prev_sibling
            if owner is None or not self._is_chain_token(owner):
                return f"?.{text}", name.start_byte
            text = f"{self._source.read_node(owner).removeprefix('$')}{steps}.{text}"
            separator = owner.prev_sibling
        return (text, name.start_byte) if len(text) <= _MAX_CHAIN_CHARS else _NO_CHAIN

    def _is_chain_token(self, node: Node) -> bool:
        return node.type in _CHAIN_TOKENS or (
            node.type == "metavariable" and self._source.read_node(node) == _DEFINING_CRATE
        )

    def _parse_node(self, node: Node, depth: int) -> Chain:  # noqa: PLR0911  # one case for each shape
        shape = self._shapes.get(node.type)
        if shape is None or not depth:
            return _NO_CHAIN
        kind = shape[0]
        if kind == "name":
            return self._source.read_node(node), node.start_byte
        if kind == "member":
            return self._match_plain_chain(node, depth) or self._parse_member(node, shape, depth)
        if kind in _STEP_SUFFIXES:
            return self._parse_step(node, shape, depth)
        if kind == "literal":
            return f"{shape[1]}{{}}", node.end_byte
        if kind == "text":
            return join_name_parts(self._source.read_node(node).replace(" ", "")), node.end_byte
        if (parse := _SHAPE_PARSERS.get(kind)) is not None:
            return parse(self, node, shape, depth)
        if kind in SUFFIX_SHAPES:
            return self._suffixes.parse(node, shape, depth)
        if kind == "generic":
            name, arguments = node.named_children[0], node.named_children[-1]
            return f"{self._source.read_node(name)}`{max(1, len(arguments.named_children))}", name.start_byte
        return self._parse_combined(node, shape, depth)

    def _parse_step(self, node: Node, shape: NodeShape, depth: int) -> Chain:
        """Parse a call, an element or an instantiation: an expression and a step."""
        inner = self._get_child(node, shape[1]) if shape[1] else next(iter(node.named_children), None)
        text, offset = _NO_CHAIN if inner is None else self._parse_node(inner, depth - 1)
        if text == "require" and shape[0] == "required" and (module := self._parse_required(node, shape)):
            return module, node.end_byte
        if self._has_typed_calls and shape[0] == "call" and text.endswith("{}"):
            return text, offset  # ``make_unique<Foo>(1)``; the call of an instance is unknown
        return (f"{text}{_STEP_SUFFIXES[shape[0]]}", offset) if text and "|" not in text else (text, offset)

    def _parse_required(self, node: Node, shape: NodeShape) -> str:
        """Return the module that ``require("a.b")`` names, as one name; empty for any other call."""
        arguments = self._get_child(node, shape[2])
        text = "" if arguments is None else self._source.read_node(arguments).strip("()")
        return f"{REQUIRED_MARK}{text[1:-1].replace('.', '/')}" if _MODULE_STRING.fullmatch(text) else ""

    def _parse_placeholder(self, node: Node, shape: NodeShape, depth: int) -> Chain:
        """Parse the parameter of a function written as an argument, ``xs.map(_.name)``: an element of the receiver."""
        body, parent = node, node.parent
        while parent is not None and parent.type != "arguments" and parent.child(0) == body:
            body, parent = parent, parent.parent
        call = parent.parent if parent is not None and parent.type == "arguments" and body != node else None
        function = None if call is None else self._get_child(call, shape[1])
        receiver = None if function is None else self._get_child(function, shape[2])
        text = "" if receiver is None else self._parse_node(receiver, depth - 1)[0]
        is_object = text.rpartition(".")[2][:1].isupper()
        return (f"{text}[]", node.start_byte) if text and "|" not in text and not is_object else _NO_CHAIN

    def _parse_scoped(self, node: Node, shape: NodeShape, depth: int) -> Chain:
        """Parse ``a::b::c``, whose right part is scoped in turn; without a scope, it is a global name."""
        scope, name = (self._get_child(node, field) for field in shape[1:])
        text, offset = _NO_CHAIN if name is None else self._parse_node(name, depth - 1)
        if scope is None or not text or text.endswith("{}"):
            return text, offset
        prefix = self._parse_node(scope, depth - 1)[0]
        return (f"{prefix}.{text}", offset) if prefix else _NO_CHAIN

    def _parse_typed(self, node: Node, shape: NodeShape, depth: int) -> Chain:
        name, arguments = (self._get_child(node, field) for field in shape[1:3])
        if name is None:
            return _NO_CHAIN
        text = self._source.read_node(name)
        if text not in shape[3:]:
            return text, name.start_byte
        first = None if arguments is None else next(iter(arguments.named_children), None)
        type_text = "" if first is None else self._parse_node(first, depth - 1)[0]
        return (f"{type_text}{{}}", name.start_byte) if type_text else _NO_CHAIN

    def _parse_static(self, node: Node, _shape: NodeShape, depth: int) -> Chain:
        """Parse ``Foo::BAR`` or ``Foo::$bar``; ``Foo::class`` is the type itself."""
        owner, name = node.named_children[0], node.named_children[-1]
        text, offset = self._parse_node(owner, depth - 1)
        member = self._source.read_node(name).removeprefix("$")
        if member == "class" or owner == name:
            return text, offset
        return f"{text if text and '|' not in text else '?'}.{member}", name.start_byte

    def _parse_invocation(self, node: Node, shape: NodeShape, depth: int) -> Chain:
        """Parse a Ruby call; ``foo.class`` is the type itself."""
        name = self._get_child(node, shape[-1])
        if name is None or name.type == "super":
            return _NO_CHAIN
        text, offset = self._parse_member(node, shape, depth)
        return (text if not text or text.endswith(".class") else f"{text}()"), offset

    def _parse_combined(self, node: Node, shape: NodeShape, depth: int) -> Chain:
        """Combine the chains of two operands."""
        if shape[0] == "either":
            sides = [self._get_child(node, field) for field in shape[1:]]
            texts = [text for side in sides if side is not None and (text := self._parse_node(side, depth - 1)[0])]
            return "|".join(dict.fromkeys(texts)), node.start_byte
        if shape[0] == "last":
            return self._parse_node(node.named_children[-1], depth - 1)
        first, last = (
            self._parse_node(child, depth - 1) for child in (node.named_children[0], node.named_children[-1])
        )
        if shape[0] == "ends":
            return "|".join(dict.fromkeys(filter(None, (first[0], last[0])))), node.start_byte
        if shape[0] == "cast":
            return (f"{last[0]}{{}}", last[1]) if last[0] not in ("", first[0]) else first
        if first[0] and "|" not in first[0] and last[0].startswith("?."):  # optional
            return f"{first[0]}{last[0][1:]}", last[1]
        return last

    def _match_plain_chain(self, node: Node, depth: int) -> Chain | None:
        """Return a chain whose text contains only names and separators; None if there is more."""
        start = node.start_byte
        match = _PLAIN_CHAIN.fullmatch(self._source.data, start, node.end_byte)
        if match is None:
            return None
        chain = match[0].decode().replace("::", ".")
        head: Node | None = node
        owners = chain.count(".")
        for _ in range(owners):
            if head is None or self.get_shape(head) != "member":
                return None  # ``a.await.b``, ``Foo.super.bar``
            head = head.child(0)
        if head is None or owners >= depth or self.get_shape(head) != "name":
            return None  # ``import.meta.url``
        return chain, start

    def _parse_counted_call(self, node: Node, shape: NodeShape, depth: int) -> Chain:
        """Parse a call with its number of arguments, ``foo.bar/2()``, or a method reference, ``foo.bar/``."""
        if shape[0] == "uncounted":
            owner, name = node.named_children[0], node.named_children[-1]
            text, offset = self._parse_node(owner, depth - 1)
            return (
                (f"{text}.{self._source.read_node(name)}/", name.start_byte)
                if text and name != owner
                else (text, offset)
            )
        arguments = self._get_child(node, shape[1]) if len(shape) > 1 else node.named_children[-1]
        count = 0 if arguments is None else self._count_arguments(arguments)
        is_reference = count == 1 and arguments is not None and arguments.named_children[0].type == _PLACEHOLDER
        if len(shape) > _CALLEE_SHAPE_PARTS:
            text, offset = self._parse_member(node, shape[1:], depth)
        else:
            called = self._get_child(node, shape[2]) if len(shape) > 1 else node.children[1]
            text, offset = _NO_CHAIN if called is None else self._parse_node(called, depth - 1)
        if not text or "|" in text:
            return text, offset
        if shape[0] == "constructor":
            return f"{text}.{CONSTRUCTOR_NAME}/{count}()", offset
        if is_reference:
            return f"{text}/", offset
        if text[-1] in ")]}":  # the callee is itself the value of an expression
            return f"{text}()", offset
        return f"{_TYPE_ARGUMENTS.sub('', text) if '`' in text else text}/{count}()", offset

    def _count_arguments(self, arguments: Node) -> int:
        data, start, end = self._source.data, arguments.start_byte, arguments.end_byte
        has_comments = data.find(b"/", start, end) >= 0 or data.find(b"#", start, end) >= 0  # or directives
        if has_comments or arguments.has_error:
            return sum(not argument.is_extra for argument in arguments.named_children)
        return arguments.named_child_count

    def _parse_member(self, node: Node, shape: NodeShape, depth: int) -> Chain:
        owner = self._get_child(node, shape[1]) if shape[0] != "bound" else None
        name = self._get_child(node, shape[-1])
        if name is None:
            return _NO_CHAIN
        is_compound = self.get_shape(name) in _COMPOUND_NAMES
        text = self._parse_node(name, _MAX_NAME_DEPTH)[0] if is_compound else self._source.read_node(name)
        if not text:
            return _NO_CHAIN
        if owner is None and shape[0] != "bound":  # a Java method called without a receiver
            return text, name.start_byte
        prefix = self._parse_node(owner, depth - 1)[0] if owner is not None else ""
        if owner is not None and prefix and self.get_shape(owner) == "type_applied":
            prefix = f"{prefix}[]"
        return f"{prefix if prefix and '|' not in prefix else '?'}.{text}", name.start_byte

    def _get_child(self, node: Node, field: str) -> Node | None:
        number = self._field_ids.get(field)
        return None if number is None else node.child_by_field_id(number)


_SHAPE_PARSERS: Final[Mapping[str, Callable[[ChainParser, Node, NodeShape, int], Chain]]] = {
    **dict.fromkeys(("counted", "constructor", "uncounted"), ChainParser._parse_counted_call),
    "bound": ChainParser._parse_member,
    "placeholder": ChainParser._parse_placeholder,
    "scoped": ChainParser._parse_scoped,
    "typed": ChainParser._parse_typed,
    "static": ChainParser._parse_static,
    "invocation": ChainParser._parse_invocation,
}
