"""Facts about names in a file, see `coderag.schema.facts`: one query for each language, besides that for declarations.

Capture convention of the ``*.graph.scm`` files; each match is a fact:

``@call``, ``@new``, ``@read``, ``@decorator``
    A callee (without its arguments), an instantiated type, a name that is mentioned as a value, a decorator. Each is read as a
    chain, see `coderag.ingestion.parsing.chains`.
``@call.tokens``, ``@read.tokens``
    The last name of a callee, or of a name that is mentioned, among the tokens of a macro in Rust.
``@call.bare``, ``@call.super``, ``@call.setter``
    A call without receiver or parentheses, see implicit_calls.py.
``@read.callable``, ``@read.owner``, ``@read.callback``, ``@read.named``
    The name of a function in a string or symbol, see callable_names.py; the value that it is a member of. A callback counts
    in the body of a type only; ``@read.named`` may be the name of a function.
``@type``
    A type as written: each name in it is a reference.
``@base``, ``@base.inherits``, ``@base.implements``, ``@base.anonymous``
    A type that the innermost enclosing declaration extends or implements; with ``@base.owner``, the declaration of that name in
    the same scope; or that a type without a name does inside it.
``@import.module``
    The imported module as written; absent for a file's own exports. Further captures: ``@import.name``, the imported name;
    ``@import.alias``, its local name; ``@import.all``, a wildcard; ``@import.default``, the local name of the default export;
    ``@import.namespace``, the local name of the module itself; ``@import.exported``, any node that marks a re-export;
    ``@import.relative``, one that marks a path relative to the file.
``@import.path``
    An imported name with its module: ``a.b.Name``. A wildcard or an alias may be its sibling.
``@import.tree``, ``@import.selectors``, ``@import.submodule``
    A tree of paths, an import whose last part selects names, see import_trees.py; the name of a module that is another file.
``@base.object``
    The declared type of an object that is the value of the innermost enclosing variable or field.
``@bind``, ``@bind.member``, ``@bind.type``
    A name that is bound in the enclosing scope, in the type around that scope, or as a type parameter, whose bound is its
    value. At most one capture describes the value: ``@typed``, its type; ``@value``; ``@elements``, the collection that it is
    an element of; ``@entered``, its context manager; ``@made``, the instantiated type; ``@value.0``, ``@value.1`` ..., the
    tuple that it is the given item of; ``@typed.elements``, the type of its elements; ``@whole`` or ``@typed.whole``, a value,
    or its type, of which it is the member ``@key`` (default: the member of the same name). Without any of them, the name
    only shadows outer ones. ``@from`` is where the binding takes effect, if that is not at the name; ``@within`` is where it
    is visible, if that is not the block around the name.
``@bind.entry``
    A member of the value of the enclosing variable.
``@bind.receiver``
    A function in which the members of a receiver, whose type is ``@typed``, are visible.
``@closure.call``
    A call with a ``@closure``, see fact_closures.py.
``@closure.parameter``
    The type of a parameter that may be a closure; the last one of a function counts.
``@block``, ``@function``
    A block that limits the scope of names bound in it; the body of a function that may be anonymous, whose return values do
    not belong to the enclosing declaration.
``@returns``, ``@returns.item``, ``@return``
    The return type of the enclosing function; one of several return types, in order; a returned value.
``@parameter``
    The type of a parameter of the enclosing method.
``@modifier``, ``@modifier.each``, ``@modifier.static``
    A word, or the chain of a decorator, that modifies the declaration around or below it, or the one that is ``@modified``;
    each name that it declares; a node in a method of the type itself.
``@implied``
    The name of a member of ``@implied.owner``, a value or a type before which it is not repeated: ``colour == .red``.
``@test``, ``@test.inside``
    An attribute that marks the declaration below, or everything in the enclosing one, as test code.
``@extension``, ``@extension.member``
    Marks the enclosing function as an extension of a type; a method of a block that extends the type ``@receiver``.
``@arity``
    The parameter list of the enclosing function, in languages that distinguish overloads by their number of parameters.
``@type_parameters``
    The type parameter list of the enclosing declaration, in languages that distinguish types of the same name by its length.
``@anonymous``
    The supertype of an anonymous class or object, next to its body: ``new Runnable() { ... }``; or of ``@anonymous.body``. It
    is the base of the class that is declared there, or else the owner of the methods in it. In Kotlin the enclosing
    declaration implements it.
``@documentation``
    A comment with types of the declaration or variable below it, see doc_types.py.
``@package``, ``@package.nested``
    The package or namespace of the file; one of several clauses, whose packages lie in one another and are all visible.
``@form``, ``@form.piped`` and the like
    A construct of Elixir, see forms.py.
``@prototype``
    A declaration that another one defines: an ``extern`` variable, a typedef of a struct by its own name. In the grammars of
    `_PROTOTYPE_GRAMMARS`, a function without a body is one as well.
``@defined``
    A part of a function without a body that no other declaration defines: ``= 0`` in C++.
``@text``
    Text that the grammar does not parse: each name in it is called or read.

A capture whose name begins with ``_`` is for predicates of the query.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter

from tree_sitter import Node

from coderag.ingestion.parsing.callable_names import format_callable, format_possible_callable
from coderag.ingestion.parsing.chain_suffixes import is_continued_call
from coderag.ingestion.parsing.chains import COUNTED_SHAPES, ChainParser
from coderag.ingestion.parsing.declaration_records import CLASS_LIKE, DATA, TYPES, Declaration
from coderag.ingestion.parsing.declarations import Syntax
from coderag.ingestion.parsing.doc_types import DocTypeReader
from coderag.ingestion.parsing.fact_bindings import BindingReader, collect_first_names, is_bound_at
from coderag.ingestion.parsing.fact_closures import ClosureReader
from coderag.ingestion.parsing.fact_imports import ImportReader
from coderag.ingestion.parsing.fact_scopes import ScopeTable
from coderag.ingestion.parsing.forms import FormReader
from coderag.ingestion.parsing.implicit_calls import ImplicitCallReader
from coderag.ingestion.parsing.import_trees import resolve_relative_path
from coderag.ingestion.parsing.languages import LANGUAGES, Language
from coderag.ingestion.parsing.source_text import MAX_TYPE_CHARS, Captures, SourceText, join_name_parts
from coderag.ingestion.parsing.stage_clock import stages
from coderag.ingestion.parsing.text_ranges import TextRange, TextRanges
from coderag.schema.facts import (
    ANONYMOUS_MODIFIER,
    EXTENSION_MODIFIER,
    IMPLIED_OWNER,
    MODULE_SCOPE,
    OBJECT_RELATION,
    PROTOTYPE_MODIFIER,
    RECEIVER_NAME,
    TEST_MODIFIER,
    Base,
    FileFacts,
    Import,
    Reference,
    ReferenceKind,
)

_TYPE_NAME = re.compile(r"\\?(?!\d)[\w$]+(?:(?:\.|::|\\)(?!\d)[\w$]+)*")
_RECEIVER = re.compile(rb"(?s).*?(?:(?:(?<![\w.>:)\]])[$@]?([A-Za-z_]\w*))?(\s*(?:\??\.|->|::)\s*))?\Z")
_MEMBER_OPERATORS = (b".", b"->", b"::")
_MAX_RECEIVER_BYTES = 40
_get_line = attrgetter("line")
_PARAMETER_TYPES = frozenset({"parameter", "formal_parameter", "spread_parameter"})
_UNIFORM_TYPE_GRAMMARS = frozenset({"kotlin", "swift"})  # a supertype is a node like any other type
_LABELLED_FUNCTIONS = frozenset({"function_declaration", "protocol_function_declaration", "init_declaration"})
_EXPRESSION_KINDS = frozenset({"call", "new", "read"})
_ANONYMOUS_OWNERS = frozenset({"function", "method", "impl"})
_FACTORY = ".new"  # of every Ruby class
_MENTION_KINDS = frozenset({"read", "type"})
_TEXT_NAME = re.compile(
    rb"""(?x) "(?:\\.|[^"\\])*" | '(?:\\.|[^'\\])*' | //.* | (?s:/\*.*?\*/)  # literals and comments are skipped
    | (?P<member>(?:\.|->|::|\#\#)\s*)? \b(?P<name>[A-Za-z_]\w*)\b (?P<joined>\s*\#\#)? (?P<call>\s*\()?"""
)
_PROTOTYPE_GRAMMARS = frozenset({"c", "cpp"})  # grammars in which a function without a body is defined elsewhere
_SUPER_PATH_GRAMMARS = frozenset({"rust"})  # grammars in whose paths ``super`` is the enclosing module

_NameUse = tuple[ReferenceKind, int, str, int]
"""Kind of reference, start offset, chain (alternatives joined by ``|``), and offset of the last name."""


def read_facts(syntax: Syntax, data: bytes, language: Language) -> FileFacts:
    """Read the facts of a file with parsed syntax."""
    with stages.measure("facts"):
        return (
            _FactReader(syntax, data, language).read() if language.graph else _read_plain_facts(syntax, data, language)
        )


def read_embedded_facts(syntaxes: Mapping[str, Syntax], data: bytes, language: str) -> FileFacts:
    """Read the facts of a file with embedded languages: those of the language that declares and calls most.

    Args:
        syntaxes: Syntax by language; offsets are in the whole file.
        language: Language of the file.
    """
    if not syntaxes:
        return FileFacts(language)
    main = max(syntaxes, key=lambda name: len(syntaxes[name].declarations) + len(syntaxes[name].calls))
    return replace(read_facts(syntaxes[main], data, LANGUAGES[main]), language=language)


def _read_plain_facts(syntax: Syntax, data: bytes, language: Language) -> FileFacts:
    """Read the facts of a language without a graph query from the matches for its chunks."""
    source = SourceText(data)
    scopes = ScopeTable(syntax, source)
    references = []
    for start, end in syntax.calls:
        prefix = data[max(0, start - _MAX_RECEIVER_BYTES) : start]
        receiver = _RECEIVER.sub(_format_receiver, prefix) if prefix.rstrip().endswith(_MEMBER_OPERATORS) else b""
        chain = (receiver + data[start:end]).decode("utf-8", "replace")
        references.append(Reference(scopes.find_scopes([start])[0], "call", chain, source.find_line(start)))
    return FileFacts(
        language.name,
        definitions=scopes.build_definitions(),
        imports=[Import(module, "", "", MODULE_SCOPE, source.find_line(start)) for start, module in syntax.imports],
        bases=[
            Base(scopes.get_scope(declaration), name, source.find_line(declaration.start))
            for declaration in syntax.declarations
            for name in declaration.bases
        ],
        references=references,
    )


class _FactReader:
    """Reads the facts of one file."""

    def __init__(self, syntax: Syntax, data: bytes, language: Language) -> None:
        self._matches = syntax.graph_matches
        self._language = language
        self._source = SourceText(data)
        self._scopes = ScopeTable(syntax, self._source)
        self._chains = ChainParser(self._source, language.grammar)
        self._imports = ImportReader(self._source, self._scopes, language.grammar)
        self._bindings = BindingReader(self._source, self._scopes, self._chains)
        self._forms = FormReader(self._source, self._scopes, self._chains)
        self._closures = ClosureReader(self._source, self._scopes, self._chains, self._bindings, language.grammar)
        self._implicit_calls = ImplicitCallReader(self._source, self._scopes, self._bindings)
        self._package = ""
        self._bases: dict[Base, None] = {}
        self._base_names: set[tuple[int, str]] = set()  # start and text
        self._uses: list[_NameUse] = []
        self._types_end = 0  # end of the last type read
        self._blocks: list[TextRange] = []
        self._functions: list[TextRange] = []
        self._function_ranges = TextRanges(())
        self._pending_bindings: list[Captures] = []  # read after all blocks and functions
        self._prototypes = {
            self._scopes.get_scope(declaration)
            for declaration in syntax.declarations
            if language.grammar in _PROTOTYPE_GRAMMARS
            and declaration.kind in ("function", "method")
            and declaration.body is None
        }
        self._name_starts = {declaration.name_start for declaration in syntax.declarations}
        self._pending_returns: list[tuple[Callable[[Captures], None], Captures]] = []
        self._documentation: list[Captures] = []
        self._possible_callables: dict[int, str] = {}  # chains by offset

    def read(self) -> FileFacts:
        """Read the facts."""
        readers = self._build_dispatch_table()
        for captures in self._matches:
            for capture in captures:
                if capture in readers:
                    readers[capture](captures)
                    break
        self._uses += self._forms.collect_uses()
        self._imports.imports.update(self._forms.imports)
        self._bases.update(self._forms.bases)
        self._closures.settle()
        for scope in self._prototypes:
            self._add_modifier(scope, PROTOTYPE_MODIFIER)
        blocks, self._function_ranges = TextRanges(self._blocks), TextRanges(self._functions)
        for captures in self._pending_bindings:
            self._bindings.read(captures, blocks)
        for read, captures in self._pending_returns:
            read(captures)
        self._bindings.add(self._forms.bindings)
        self._pending_returns.clear()  # bound methods: they would form a reference cycle
        if self._documentation:
            doc_types = DocTypeReader(self._source, self._scopes, self._bindings)
            for captures in self._documentation:
                self._uses += doc_types.read(captures["documentation"][0])
        certain = {start for kind, start, _, _ in self._uses if kind == "read"} if self._possible_callables else set()
        possible = ((offset, chain) for offset, chain in self._possible_callables.items() if offset not in certain)
        self._uses += [("read", offset, chain, offset) for offset, chain in possible]
        self._bindings.settle(self._imports.imported_names)
        references = self._list_references()
        heads = collect_first_names({item.chain for item in references})
        heads |= collect_first_names({item.value for item in self._bindings.local}) | {RECEIVER_NAME}
        return FileFacts(
            self._language.name,
            self._package,
            self._scopes.build_definitions(),
            sorted(self._imports.imports, key=_get_line),
            sorted(self._bases, key=_get_line),
            sorted(self._bindings.visible, key=_get_line),
            sorted((item for item in self._bindings.local if item.name in heads), key=_get_line),
            sorted(references, key=_get_line),
        )

    def _build_dispatch_table(self) -> dict[str, Callable[[Captures], None]]:
        """Map each fact's capture to its reader."""
        imports, bindings = self._imports, self._bindings
        return {
            **{f"import.{part}": imports.read for part in ("module", "name", "alias", "all", "default", "namespace")},
            "import.path": imports.read_path,
            "import.tree": imports.read_tree,
            "import.selectors": imports.read_selectors,
            "import.submodule": imports.read_submodule,
            **{kind: partial(self._read_use, kind) for kind in ("call", "new", "read")},
            "read.callable": self._read_callable,
            "read.callback": self._read_callback,
            "read.named": self._read_named,
            "call.bare": self._implicit_calls.read_bare,
            "call.setter": self._implicit_calls.read_setter,
            "call.super": self._implicit_calls.read_super,
            "documentation": self._documentation.append,
            "decorator": self._read_decorator,
            "call.tokens": partial(self._read_tokens, "call"),
            "read.tokens": partial(self._read_tokens, "read"),
            "implied": self._read_implied,
            **{
                f"base{relation}": partial(self._read_base, relation)
                for relation in ("", ".inherits", ".implements", ".anonymous")
            },
            "base.object": self._read_object_type,
            **dict.fromkeys(("bind", "bind.member", "bind.type"), self._pending_bindings.append),
            "bind.receiver": self._closures.read_receiver,
            "closure.call": self._closures.read_call,
            "closure.parameter": self._closures.read_parameter,
            "bind.item": bindings.read_item,
            "bind.entry": bindings.read_entry,
            **dict.fromkeys(("block", "function"), self._read_range),
            "type": self._read_type,
            "returns": partial(self._defer, self._read_returned_type),
            "returns.item": self._read_returned_item,
            "extension": self._read_extension,
            "parameter": self._read_parameter,
            "return": partial(self._defer, self._read_returned_value),
            "modifier": self._read_modifier,
            "modifier.each": self._read_modifier_of_names,
            "extension.member": self._read_extension_member,
            "modifier.static": self._read_static,
            "test": self._read_test,
            "test.inside": self._read_test_inside,
            "arity": self._read_arity,
            "type_parameters": self._read_type_parameters,
            "anonymous": self._read_anonymous,
            "package": self._read_package,
            "package.nested": self._read_nested_package,
            **self._forms.build_dispatch_table(),
            "prototype": self._read_prototype,
            "defined": self._read_defined,
            "text": self._read_text,
        }

    # References

    def _list_references(self) -> list[Reference]:
        """Return the references. Repeated mentions in a scope are one reference; variables are none.

        A call or instantiation is not also a mention.
        """
        references: dict[Reference, None] = {}
        called = {offset for kind, _, _, offset in self._uses if kind == "call"}
        self._uses += self._implicit_calls.list_uses(called)
        instantiated = {(start, text) for kind, start, text, _ in self._uses if kind == "new"}
        instantiated |= {(start, text[: -len(_FACTORY)]) for _, start, text, _ in self._uses if text.endswith(_FACTORY)}
        mentioned: set[tuple[int, str, str]] = set()
        variables = self._bindings.find_variables()
        scopes = self._scopes.find_scopes([start for _, start, _, _ in self._uses])
        lines = self._source.find_lines([offset for _, _, _, offset in self._uses])
        for (kind, start, text, offset), innermost_scope, line in zip(self._uses, scopes, lines, strict=True):
            if (kind == "read" and offset in called) or (kind == "type" and (start, text) in instantiated):
                continue
            if kind == "type" and (start, text) in self._base_names:
                continue  # a supertype is no further reference
            scope = self._scopes.find_decorated_scope(start) if kind == "decorator" else innermost_scope
            for chain in text.split("|") if "|" in text else (text,):
                if kind in _MENTION_KINDS:
                    if (scope, kind, chain) in mentioned or (
                        kind == "read" and is_bound_at(variables.get((scope, chain), ()), line)
                    ):
                        continue
                    mentioned.add((scope, kind, chain))
                references[Reference(scope, kind, self._to_file_chain(kind, chain, scope), line)] = None
        return list(references)

    def _read_use(self, kind: ReferenceKind, captures: Captures) -> None:
        parse = self._chains.parse_callee if kind == "call" else self._chains.parse
        for node in captures[kind]:
            text, offset = parse(node)
            if not text:
                continue
            if kind == "call" and self._chains.get_shape(node) in COUNTED_SHAPES:
                if text.endswith("[]") or is_continued_call(node):
                    continue  # a subscript, which looks like a call
                text = text.removesuffix("()")  # the call, not its result
            if self._implicit_calls.is_setter(node):
                text += "="
            is_reference = kind == "call" and text.endswith("/")
            self._uses.append(("read" if is_reference else kind, node.start_byte, text, offset))

    def _read_callable(self, captures: Captures) -> None:
        """Read the name of a function in a string or symbol."""
        for node in captures["read.callable"]:
            text, offset = self._source.read_node(node), node.start_byte
            owner = self._chains.parse(captures["read.owner"][0])[0] if "read.owner" in captures else ""
            if chain := format_callable(
                text, owner, has_owner="read.owner" in captures, grammar=self._language.grammar
            ):
                self._uses.append(("read", offset, chain, offset))

    def _read_callback(self, captures: Captures) -> None:
        """Read the name of a method in a symbol that a type's body passes to a function."""
        for node in captures["read.callback"]:
            scope = self._scopes.find_scope(node.start_byte)
            if scope != MODULE_SCOPE and self._scopes.kinds[scope] in TYPES:
                self._read_callable({"read.callable": [node]})

    def _read_named(self, captures: Captures) -> None:
        """Read a string or symbol that may name a function; a symbol only in a table of constants."""
        for node in captures["read.named"]:
            scope = self._scopes.find_scope(node.start_byte)
            is_symbol = node.type == "simple_symbol"
            if not is_symbol or (scope != MODULE_SCOPE and self._scopes.kinds[scope] == "constant"):
                chain = format_possible_callable(self._source.read_node(node), self._language.grammar)
                self._possible_callables[node.start_byte] = chain

    def _read_decorator(self, captures: Captures) -> None:
        for node in captures["decorator"]:
            text, offset = self._chains.parse(node)
            for chain in filter(None, text.split("|")):
                self._uses.append(("decorator", node.start_byte, chain.removesuffix("()"), offset))

    def _read_tokens(self, kind: ReferenceKind, captures: Captures) -> None:
        """Read a name among the tokens of a macro, unless it only begins a path."""
        for node in captures[f"{kind}.tokens"]:
            following = node.next_sibling
            if (
                kind == "read"
                and following is not None
                and (following.type == "::" or self._source.read_node(following).startswith("("))
            ):
                continue
            text, offset = self._chains.parse_macro_tokens(node)
            if text:
                self._uses.append((kind, node.start_byte, text, offset))

    def _read_implied(self, captures: Captures) -> None:
        owner = self._chains.parse(captures["implied.owner"][0])[0]
        for node in captures["implied"]:
            if owner and "|" not in owner and not owner.startswith(("?", IMPLIED_OWNER)):
                start = node.start_byte
                self._uses.append(("read", start, f"{owner}.{self._source.read_node(node)}", start))

    def _to_file_chain(self, kind: ReferenceKind, chain: str, scope: int) -> str:
        """Rewrite a chain that leaves a module inside the file as seen from the file's own module."""
        leads_out = (
            chain.startswith("super.") and kind in _EXPRESSION_KINDS and self._language.grammar in _SUPER_PATH_GRAMMARS
        )
        if not leads_out:
            return chain
        return ".".join(resolve_relative_path(chain.split("."), self._scopes.list_enclosing_modules(scope)))

    def _read_type(self, captures: Captures) -> None:
        for node in captures["type"]:
            end = node.end_byte
            start = node.start_byte
            if end <= self._types_end or start in self._name_starts:  # part of a type already read, or a declared name
                continue
            is_counted = self._chains.get_shape(node) == "generic"  # then its arguments are separate types
            self._types_end = node.named_children[0].end_byte if is_counted else end
            self._uses += [("type", start, chain, start) for chain in self._list_type_names(node)]

    def _list_type_names(self, node: Node) -> list[str]:
        text = self._source.read_node(node)
        if text.isidentifier():
            return [text]
        if self._chains.get_shape(node) == "generic":
            return [self._chains.parse(node)[0]]
        return [join_name_parts(name) for name in _TYPE_NAME.findall(text)]

    def _read_base(self, relation: str, captures: Captures) -> None:
        for node in captures[f"base{relation}"]:
            text, offset = self._chains.parse(node)
            name = text.removesuffix("[]").removesuffix("()")
            scope = (
                self._scopes.find_named_scope(owner.start_byte, self._source.read_node(owner))
                if (owner := next(iter(captures.get("base.owner", ())), None)) is not None
                else self._scopes.find_scope(node.start_byte)
            )
            if not name or scope == MODULE_SCOPE:
                continue
            if relation != ".anonymous":
                self._bases[Base(scope, name, self._source.find_line(offset), relation.removeprefix("."))] = None
                if self._language.grammar in _UNIFORM_TYPE_GRAMMARS:
                    self._base_names.add((node.start_byte, name))
            elif self._scopes.kinds[scope] in _ANONYMOUS_OWNERS:
                self._bases[Base(scope, name, self._source.find_line(offset))] = None

    def _read_object_type(self, captures: Captures) -> None:
        for node in captures["base.object"]:
            name, offset = self._chains.parse(node)
            scope = self._scopes.find_scope(node.start_byte)
            if name and scope != MODULE_SCOPE and self._scopes.kinds[scope] in DATA:
                self._bases[Base(scope, name, self._source.find_line(offset), OBJECT_RELATION)] = None

    # Details of declarations

    def _defer(self, read: Callable[[Captures], None], captures: Captures) -> None:
        self._pending_returns.append((read, captures))

    def _read_range(self, captures: Captures) -> None:
        for capture, parts in (("block", self._blocks), ("function", self._functions)):
            for node in captures.get(capture, ()):
                start, end = node.start_byte, node.end_byte
                parts.append(TextRange(start, end, self._source.find_line(start), self._source.find_line(end)))

    def _is_in_declaration(self, node: Node) -> bool:
        """Return whether the innermost function around a node is a declaration, not an anonymous function inside it."""
        function = self._function_ranges.find_innermost(node.start_byte)
        declaration = self._scopes.find_declaration(node.start_byte)
        return function is None or (declaration is not None and function.start <= (declaration.body or (0,))[0])

    def _read_returned_type(self, captures: Captures) -> None:
        for node in captures["returns"]:
            declaration = self._scopes.find_declaration(node.start_byte)
            bodies = [(body.start_byte, body.end_byte) for body in captures.get("function", ())]
            if declaration is None or _is_in_body(declaration, node):
                continue
            if not bodies or declaration.body in bodies:
                self._scopes.returns[self._scopes.get_scope(declaration)] = self._source.read_type(node)

    def _read_returned_item(self, captures: Captures) -> None:
        """Read one of several return types: of ``A`` and ``B``, ``(A, B)``."""
        returns = self._scopes.returns
        for node, scope in self._pair_with_scopes(captures["returns.item"]):
            item, items = self._source.read_type(node), returns[scope]
            returns[scope] = f"{items[:-1]}, {item})" if items else f"({item})"

    def _read_parameter(self, captures: Captures) -> None:
        parameters = self._scopes.parameters
        for node, scope in self._pair_with_scopes(captures["parameter"]):
            item, items = self._source.read_type(node), parameters[scope]
            parameters[scope] = f"{items}, {item}" if items else item

    def _read_extension_member(self, captures: Captures) -> None:
        """Read a method of an extension block as an extension method, whose receiver is not one of its own parameters."""
        receiver = self._source.read_type(captures["receiver"][0])
        for node in captures["extension.member"]:
            words = {self._source.read_node(child) for child in node.children if child.type == "modifier"}
            scope = self._scopes.find_scope_starting_at(node.start_byte)
            if "static" not in words and scope != MODULE_SCOPE:
                self._scopes.parameters[scope] = receiver
                self._add_modifier(scope, EXTENSION_MODIFIER)

    def _read_returned_value(self, captures: Captures) -> None:
        returns = self._scopes.returns
        for node, scope in self._pair_with_scopes(captures["return"]):
            returned = returns[scope]
            if returned and not (returned.startswith("=") and len(returned) < MAX_TYPE_CHARS):
                continue
            text = self._chains.parse(node)[0]
            if text and self._is_in_declaration(node):
                chains = dict.fromkeys([*returned.removeprefix("=").split("|"), *text.split("|")])
                returns[scope] = "=" + "|".join(filter(None, chains))

    def _read_modifier(self, captures: Captures) -> None:
        declarations = captures.get("modified", ())
        for node in captures["modifier"]:
            scope = (
                self._scopes.find_scope_starting_at(declarations[0].start_byte)
                if declarations
                else self._scopes.find_decorated_scope(node.start_byte)
            )
            self._add_modifier(scope, self._source.read_node(node))

    def _read_extension(self, captures: Captures) -> None:
        for _, scope in self._pair_with_scopes(captures["extension"]):
            self._add_modifier(scope, EXTENSION_MODIFIER)

    def _read_modifier_of_names(self, captures: Captures) -> None:
        for node in captures["modifier.each"]:
            declaration = self._scopes.find_declaration(node.start_byte)
            if declaration is not None:
                first = self._scopes.get_scope(declaration)
                for scope in range(first, first + len(declaration.names)):
                    self._add_modifier(scope, self._source.read_node(node))

    def _read_static(self, captures: Captures) -> None:
        for node in captures["modifier.static"]:
            self._add_modifier(self._scopes.find_scope(node.start_byte), "static")

    def _read_test(self, captures: Captures) -> None:
        sibling: Node | None = captures["test"][0]
        while sibling is not None and (sibling.is_extra or sibling.type == "attribute_item"):
            sibling = sibling.next_named_sibling
        if sibling is not None:
            self._add_modifier(self._scopes.find_scope_starting_at(sibling.start_byte), TEST_MODIFIER)

    def _read_test_inside(self, captures: Captures) -> None:
        enclosing = self._scopes.find_scope(captures["test.inside"][0].start_byte)
        for scope in self._scopes.list_module_scopes() if enclosing == MODULE_SCOPE else [enclosing]:
            self._add_modifier(scope, TEST_MODIFIER)

    def _read_arity(self, captures: Captures) -> None:
        for node, scope in self._pair_with_scopes(captures["arity"]):
            self._add_modifier(scope, _format_arity(node))
            if labels := _format_labels(node):
                self._add_modifier(scope, labels)

    def _read_type_parameters(self, captures: Captures) -> None:
        for node, scope in self._pair_with_scopes(captures["type_parameters"]):
            self._add_modifier(scope, f"`{len(node.named_children)}")

    def _add_modifier(self, scope: int, word: str) -> None:
        if scope != MODULE_SCOPE:
            self._scopes.modifiers[scope] = f"{self._scopes.modifiers[scope]} {word}".strip()

    def _read_anonymous(self, captures: Captures) -> None:
        bodies = captures.get("anonymous.body", ())
        for node in captures["anonymous"]:
            if bodies and self._language.grammar in _UNIFORM_TYPE_GRAMMARS:
                self._read_anonymous_object(node, bodies)
                continue
            body = next(iter(bodies), node.parent.named_children[-1] if node.parent is not None else node)
            supertype, offset = self._chains.parse(node)
            declared = self._scopes.find_scope_starting_at(body.start_byte)
            if declared != MODULE_SCOPE:
                self._bases[Base(declared, supertype, self._source.find_line(offset))] = None
                self._add_modifier(declared, ANONYMOUS_MODIFIER)
            elif supertype and not self._is_value(body):
                for scope in self._scopes.list_outermost_scopes(body):
                    parent = self._scopes.parents[scope]
                    if parent != MODULE_SCOPE and self._scopes.kinds[parent] == "impl":
                        continue  # the class has the name of its variable
                    self._scopes.owners[scope] = supertype
                    self._add_modifier(scope, ANONYMOUS_MODIFIER)

    def _is_value(self, node: Node) -> bool:
        """Return whether the innermost declaration around a node is a variable: then it owns the members in it."""
        scope = self._scopes.find_scope(node.start_byte)
        return scope != MODULE_SCOPE and self._scopes.kinds[scope] in ("variable", "constant")

    def _read_anonymous_object(self, supertype: Node, bodies: Sequence[Node]) -> None:
        """Read an object with one of its supertypes: the enclosing declaration implements it."""
        text, offset = self._chains.parse(supertype)
        owners = self._scopes.owners
        for body in bodies:
            scope = self._scopes.find_scope(body.start_byte)
            is_type = scope == MODULE_SCOPE or self._scopes.kinds[scope] in CLASS_LIKE
            if text and not is_type and supertype.parent == body.parent:
                self._bases[Base(scope, text, self._source.find_line(offset))] = None
            for member in self._scopes.list_outermost_scopes(body):
                owners[member] = f"{owners[member]}|{text}".strip("|")
                self._add_modifier(member, ANONYMOUS_MODIFIER)

    def _read_package(self, captures: Captures) -> None:
        self._package = self._package or join_name_parts(self._source.read_node(captures["package"][0]))

    def _read_nested_package(self, captures: Captures) -> None:
        """Read a package inside that of the previous clause, whose members stay visible."""
        node = captures["package.nested"][0]
        if self._package:
            line = self._source.find_line(node.start_byte)
            self._imports.imports[Import(self._package, "*", "", MODULE_SCOPE, line)] = None
        self._package = f"{self._package}.{self._source.read_node(node)}".lstrip(".")

    def _read_prototype(self, captures: Captures) -> None:
        scope = self._scopes.find_scope_starting_at(captures["prototype"][0].start_byte)
        self._add_modifier(scope, PROTOTYPE_MODIFIER)

    def _read_defined(self, captures: Captures) -> None:
        self._prototypes.discard(self._scopes.find_scope(captures["defined"][0].start_byte))

    def _read_text(self, captures: Captures) -> None:
        """Read the calls and names in unparsed text; names that are members or parts of names are unknown."""
        for node in captures["text"]:
            for match in _TEXT_NAME.finditer(self._source.data, node.start_byte, node.end_byte):
                if match["name"] and not match["member"] and not match["joined"]:
                    kind: ReferenceKind = "call" if match["call"] else "read"
                    start = match.start("name")
                    self._uses.append((kind, start, match["name"].decode(), start))

    def _pair_with_scopes(self, nodes: list[Node]) -> list[tuple[Node, int]]:
        """Return the nodes that are in a declaration, each with its scope."""
        scoped = [(node, self._scopes.find_scope(node.start_byte)) for node in nodes]
        return [(node, scope) for node, scope in scoped if scope != MODULE_SCOPE]


def _is_in_body(declaration: Declaration, node: Node) -> bool:
    """Return whether a node is in the body of a declaration."""
    return declaration.body is not None and declaration.body[0] <= node.start_byte < declaration.body[1]


def _format_receiver(match: re.Match[bytes]) -> bytes:
    """Format the text before a called name as the start of its chain: a simple receiver, or ``?`` for any other."""
    return b"" if not match[2] else (match[1] or b"?") + b"."


def _format_arity(parameters: Node) -> str:
    """Format the number of arguments of a parameter list, see `coderag.schema.facts.Definition.modifiers`."""
    minimum = maximum = 0
    is_open = parameters.child_by_field_name("type") is not None  # ``params`` in C#
    for parameter in parameters.children:
        if parameter.type == "=":  # a default value behind its parameter
            minimum -= 1
        elif parameter.type == "parameter_modifiers" and b"vararg" in (parameter.text or b""):
            is_open, minimum = True, minimum - 1
        if parameter.is_extra or parameter.type not in _PARAMETER_TYPES:
            continue
        words = {child.type for child in parameter.children}
        if parameter.type == "spread_parameter":
            return f"/{minimum}+"
        minimum, maximum = minimum + ("=" not in words), maximum + 1
        if "..." in words:
            is_open, minimum = True, minimum - 1
    if is_open:
        return f"/{minimum}+"
    return f"/{minimum}" if minimum == maximum else f"/{minimum}-{maximum}"


def _format_labels(function: Node) -> str:
    """Format the argument labels of a Swift function: ``(_:at:)``; empty for any other parameter list."""
    if function.type not in _LABELLED_FUNCTIONS:
        return ""
    labels = (
        parameter.child_by_field_name("external_name") or parameter.child_by_field_name("name")
        for parameter in function.children
        if parameter.type == "parameter"
    )
    return "(" + "".join(f"{(label.text or b'').decode()}:" for label in labels if label is not None) + ")"
