"""Declarations of a source file: tree-sitter parses it, and a query for each language interprets the nodes.

Capture convention (one query for each language, from one or more files, compiled once):

``@definition.<kind>``
    The node of a declaration, or several nodes that form one declaration (a Kotlin property and its getter). *kind* is one of
    `coderag.schema.vocabulary.Kind`: function, method, class, interface, struct, trait, enum, union, type_alias, impl,
    namespace, constant, variable, field, macro, table, resource, rule, key. The same pattern has ``@name``, its name.
    Several names are allowed, as in ``var a, b``; in C-like declarators it is the inner identifier. Optional captures:

    * ``@body``: the node of its body (default: the field ``body``).
    * ``@receiver``: a type that qualifies the name (a Go receiver, the scope of a C++ ``Foo::bar``). Several are joined.
      ``@receiver.var`` stands for a receiver ``var`` that is not in the text.
    * ``@name.assigned``: a word whose part before ``=`` is the name (an alias).
    * ``@name.anonymous``: the supertype of an anonymous class, instead of a name. Its name is ``Task$1``, and ``Task`` a base.
    * ``@name.inner``: a further name that only the body sees (``exports.run = function start() {}``).
    * ``@start``: the node at which the declaration begins, if that is not its first one: a ``pub`` before it, or the keyword
      after a docstring inside it.

    A definition around another one with the same ``@name`` node is one declaration with it; the outer extent wins (a C++
    template). So is one with the same body and receiver, which gives it a further name. A function directly inside a
    class-like declaration becomes a method, so queries need not distinguish them. Declarations inside the body of a function
    are symbols, never chunks; its variables are neither.
``@definition.case``, ``@definition.group``
    A test case or a group of them that is written as a call: ``it("closes idle connections", () => {})``. It is a function or
    a namespace with its title as name. A title may have several ``@name`` parts. ``@definition.call`` is one if its ``@callee``
    says so. See `coderag.ingestion.parsing.test_cases`.
``@clause``
    In a definition's pattern: further clauses may follow this node (the equations of a Haskell function, the clauses of an
    Elixir function). Neighbours in a scope with a common name are one declaration, unless an attribute separates them. A
    clause without a body is the head of the others, and each further body is a branch.
``@base``
    A name of an extended or implemented type of the innermost enclosing declaration.
``@import``
    An import statement. ``@import.source`` is the module or path in it, or the nodes that form it.
``@call``
    The identifier of a callee, its last segment only. Names of declarations and identifiers in attributes are not calls.
``@branch``
    A node that adds one to cyclomatic complexity.
``@docstring``
    A string that documents its enclosing declaration (Python), the declaration below its attribute (Elixir's ``@doc``), or
    the file. A comment may document the file as well.
``@comment``
    A comment. Comments on lines of their own directly above a declaration are part of its chunk.
``@attribute``
    An attribute that is a preceding sibling of its declaration (Rust ``#[derive]``): part of the chunk like a comment, but not
    documentation.
``@wrapper``
    A node that begins before the declaration inside it and is part of its chunk (``export``, decorators, ``template``).

A capture whose name begins with ``_`` is for predicates of the query. The lines of a declaration are those of its
``@definition`` node: a ``@wrapper``, attributes and comments are part of its chunk, but not of its lines.

Compiling a query costs milliseconds for each named node with children in it: tree-sitter walks its grammar from every
state in which that node may begin. A wildcard costs nothing, so inner nodes are ``_`` and are distinguished by fields or
tokens: ``(_ parameters: (_) body: (_) @body)`` is any function. `CONTRIBUTING.md` lists the traps.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter

from tree_sitter import Node, Query, QueryCursor

from coderag.ingestion.parsing.declaration_records import CALLABLE, CLASS_LIKE, DATA, Declaration
from coderag.ingestion.parsing.entries import ENTRY_KINDS, settle_entries
from coderag.ingestion.parsing.languages import Language
from coderag.ingestion.parsing.repairs.erased_attributes import find_erased_start
from coderag.ingestion.parsing.repairs.repair import repair_source
from coderag.ingestion.parsing.stage_clock import stages
from coderag.ingestion.parsing.test_cases import CASE_KINDS, add_case
from coderag.ingestion.parsing.trees import SyntaxUnusableError, load_grammar, parse, trim_end

_NEWLINE = 10


_MAX_NESTING = 48  # deeper declarations are dropped; no hand-written program nests deeper


_MAX_ERROR_SHARE = 0.5  # share of bytes in ERROR nodes up to which declarations are always used


_MIN_DECLARED_SHARE = 0.3  # share of bytes in declarations from which errors are ignored


# Bounds a query's memory. A progress callback cannot: any callback crashes the interpreter (tree-sitter 0.26).
_MATCH_LIMIT = 1 << 16


_C_FUNCTION_NODES = frozenset({"function_definition", "declaration", "function_declarator", "macro_type_specifier"})
_STATEMENT_WORDS = frozenset({"if", "for", "while", "switch", "return", "do", "else"})

_KIND_PRECEDENCE = {
    kind: strength
    for strength, kinds in enumerate((DATA - {"constant"}, {"constant"}, {"type_alias"}, {"macro"}, {"namespace"}))
    for kind in kinds
}


_TYPE_ARGUMENTS = re.compile(r"<.*>|\[.*\]|[*&()\s]", re.DOTALL)


@dataclass(slots=True)
class Syntax:
    """Declarations and matches of a query in a file. Every list is ordered by position.

    Attributes:
        roots: Top-level declarations.
        declarations: Every declaration, outer before inner.
        calls: Start and end of each callee's identifier.
        imports: Start of each import statement, and the module or path in it.
        branches: Start of each branch.
        comments: Start and end of each comment.
        attributes: Start and end of each attribute.
        docstring_span: Start and end of the file's own docstring.
        graph_matches: Captures of each match of the code graph's query, see `coderag.ingestion.parsing.facts`.
        has_callbacks: Whether an indented top-level declaration is inside a statement; otherwise it is inside a wrapper.
        note: Problem of the file; empty if there is none.
    """

    root: Node
    roots: list[Declaration] = field(default_factory=list)
    declarations: list[Declaration] = field(default_factory=list)
    calls: list[tuple[int, int]] = field(default_factory=list)
    imports: list[tuple[int, str]] = field(default_factory=list)
    branches: list[int] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)
    attributes: list[tuple[int, int]] = field(default_factory=list)
    docstring_span: tuple[int, int] | None = None
    graph_matches: list[dict[str, list[Node]]] = field(default_factory=list)
    has_callbacks: bool = True
    note: str = ""

    def unlink_declarations(self) -> None:
        """Clear the references between declarations, which form cycles, so that no garbage collection is needed."""
        for declaration in self.declarations:
            declaration.parent = None
            declaration.children = []


@dataclass(frozen=True, slots=True)
class _CompiledQuery:
    query: Query
    kinds: dict[str, str]  # capture name -> kind
    receivers: dict[str, str]  # capture name -> receiver
    first_graph_pattern: int  # index of the first pattern for the code graph


@cache
def _compile_query(language: Language) -> _CompiledQuery:
    """Compile both queries of a language as one: traversing the tree takes most of the time."""
    declarations = f"{language.read_query()}\n(ERROR) @_error\n"
    query = Query(load_grammar(language.grammar), declarations + language.read_graph_query())
    starts = [query.start_byte_for_pattern(number) for number in range(query.pattern_count)]
    names = [query.capture_name(index) for index in range(query.capture_count)]
    return _CompiledQuery(
        query,
        {name: name.removeprefix("definition.") for name in names if name.startswith("definition.")},
        {name: name.removeprefix("receiver.") for name in names if name.startswith("receiver.")},
        bisect_left(starts, len(declarations.encode())),
    )


def read_syntax(data: bytes, language: Language, *, timeout_s: float | None) -> Syntax:
    """Parse a file and find its declarations, imports and calls.

    Args:
        language: A language with a grammar and a query.
        timeout_s: Time limit of the parser, see `parse`.

    Raises:
        SyntaxUnusableError: The parser took too long, or most of the file is a syntax error.
    """
    repaired = repair_source(data, language)
    root = parse(repaired, language, timeout_s=timeout_s).root_node
    syntax = Syntax(root, has_callbacks=bool(language.opening) or not language.transparent)
    with stages.measure("query"):
        compiled = _compile_query(language)
        matches = QueryCursor(compiled.query, match_limit=_MATCH_LIMIT).matches(root)
    declarations: dict[tuple[int, int], Declaration] = {}
    nodes_by_capture: dict[str, list[Node]] = {
        "name": [],
        "call": [],
        "branch": [],
        "comment": [],
        "attribute": [],
        "wrapper": [],
        "base": [],
        "docstring": [],
        "_error": [],
    }
    imports: dict[int, tuple[int, list[tuple[int, int]]]] = {}
    for pattern, captures in matches:
        if pattern >= compiled.first_graph_pattern:
            syntax.graph_matches.append(captures)
            continue
        for capture, nodes in captures.items():
            if capture in nodes_by_capture:
                nodes_by_capture[capture] += nodes
            elif capture in compiled.kinds:
                receivers = compiled.receivers
                receiver = next((receivers[name] for name in captures if name in receivers), "") if receivers else ""
                _add_definition(declarations, compiled.kinds[capture], nodes, captures, data, receiver)
            elif capture == "import":
                node = nodes[0]
                _, sources = imports.setdefault(node.start_byte, (node.end_byte, []))
                if parts := _collect_spans(captures.get("import.source", [])):
                    sources.append((parts[0][0], parts[-1][1]))
    syntax.comments = _collect_text_spans(nodes_by_capture["comment"], data)
    syntax.attributes = _collect_spans(nodes_by_capture["attribute"])
    syntax.branches = sorted({node.start_byte for node in nodes_by_capture["branch"]})
    syntax.imports = _list_imports(imports, data)
    settled: Iterable[Declaration] = declarations.values()
    if not ENTRY_KINDS.isdisjoint(compiled.kinds.values()):
        settled = settle_entries(settled, root, syntax.comments, data)
    syntax.declarations = _nest_declarations(settled, syntax, language.separator)
    syntax.roots = [declaration for declaration in syntax.declarations if declaration.parent is None]
    _attach_details(syntax, nodes_by_capture, data)
    _attach_erased_text(syntax, data, repaired, language)
    syntax.calls = _find_calls(syntax, nodes_by_capture)
    if root.has_error:
        syntax.note = _check_errors(syntax, _collect_spans(nodes_by_capture["_error"]), data)
    return syntax


def _collect_spans(nodes: list[Node]) -> list[tuple[int, int]]:
    return sorted({(node.start_byte, node.end_byte) for node in nodes})


def _collect_text_spans(nodes: list[Node], data: bytes) -> list[tuple[int, int]]:
    """Return the spans of nodes without the trailing line break and indentation that some grammars include."""
    return [
        (start, start + len(data[start:end].rstrip()) if data[end - 1 : end].isspace() else end)
        for start, end in _collect_spans(nodes)
    ]


def _check_errors(syntax: Syntax, spans: list[tuple[int, int]], data: bytes) -> str:
    """Return a note on syntax errors.

    Raises:
        SyntaxUnusableError: Most of the file is an error and little of it is a declaration.
    """
    if not spans:
        return "" if _is_missing_newline(syntax.root) else "syntax error: something is missing"
    is_whole = spans[0] == (syntax.root.start_byte, syntax.root.end_byte)
    first = spans[1][0] if is_whole and len(spans) > 1 else spans[0][0]
    note = f"syntax error at line {data.count(_NEWLINE, 0, first) + 1}"
    lost = _count_covered_bytes(spans) / max(1, len(data))
    declared = _count_covered_bytes([(declaration.start, declaration.end) for declaration in syntax.roots]) / max(
        1, len(data)
    )
    if lost > _MAX_ERROR_SHARE and declared < _MIN_DECLARED_SHARE:
        raise SyntaxUnusableError(f"{note}, {lost:.0%} of the file")
    return note


def _is_missing_newline(root: Node) -> bool:
    """Return whether only the final newline is missing, which some grammars require."""
    node = root
    while node.child_count:
        node = node.children[-1]
    return node.is_missing and node.type.isspace()


def _count_covered_bytes(spans: list[tuple[int, int]]) -> int:
    """Return the size of the union of spans in bytes."""
    total = covered_end = 0
    for start, end in spans:
        total += max(0, end - max(start, covered_end))
        covered_end = max(covered_end, end)
    return total


def _add_definition(
    declarations: dict[tuple[int, int], Declaration],
    kind: str,
    nodes: list[Node],
    captures: dict[str, list[Node]],
    data: bytes,
    receiver: str,
) -> None:
    if len(nodes) > 1:
        nodes = sorted(nodes, key=attrgetter("start_byte"))
    if kind in CASE_KINDS:
        add_case(declarations, kind, nodes, captures, data)
        return
    node = nodes[0]
    outer_start = node.start_byte
    start = captures["start"][0].start_byte if "start" in captures else outer_start
    end = trim_end(data, start, nodes[-1].end_byte)
    located_names = [(name.start_byte, _read_name(data, name)) for name in captures.get("name", ())]
    located_names += [
        (name.start_byte, _read_name(data, name).partition("=")[0]) for name in captures.get("name.assigned", ())
    ]
    supertypes = [
        (node.start_byte, _TYPE_ARGUMENTS.sub("", _read_name(data, node)).rpartition(".")[2])
        for node in captures.get("name.anonymous", ())
    ]
    located_names += supertypes
    names = [(offset, name) for offset, name in located_names if name]  # the parser may insert a missing name
    if node.type in _C_FUNCTION_NODES and _is_statement(node, names):
        return
    inner_name = next((_read_name(data, name) for name in captures.get("name.inner", ())), "")
    bodies = captures.get("body") or [body for body in [node.child_by_field_name("body")] if body is not None]
    if "receiver" in captures:
        receivers = [_read_text(data, first, last) for first, last in _collect_spans(captures["receiver"])]
        receiver = _TYPE_ARGUMENTS.sub("", "::".join(receivers))
    existing = declarations.get((start, end))
    if existing is not None:
        existing.receiver = existing.receiver or receiver
        existing.inner_name = existing.inner_name or inner_name
        existing.names += [name for _, name in names if name not in existing.names]
        if _KIND_PRECEDENCE.get(kind, 9) > _KIND_PRECEDENCE.get(existing.kind, 9):
            existing.kind = kind
        if existing.body is None and bodies:
            existing.body = (bodies[0].start_byte, bodies[-1].end_byte)
        return
    declarations[start, end] = Declaration(
        kind, start, end, [name for _, name in names], names[0][0] if names else -1,
        (bodies[0].start_byte, bodies[-1].end_byte) if bodies else None,
        receiver=receiver, outer_start=min(start, outer_start), is_anonymous=bool(supertypes),
        last_clause_start=start if "clause" in captures else None, inner_name=inner_name,
    )  # fmt: skip


def _is_statement(node: Node, names: list[tuple[int, str]]) -> bool:
    """Return whether a function of C is a statement below a macro: ``TRACE if (x) {}``, ``GUARD(lock) {}`` in a body."""
    declarator = node.child_by_field_name("declarator")
    is_of_c = declarator is not None or node.type == "macro_type_specifier"
    if is_of_c and any(name in _STATEMENT_WORDS for _, name in names):
        return True
    if node.type != "function_definition" or declarator is None:
        return False
    if declarator.type != "parenthesized_declarator" and node.child_by_field_name("type"):
        return False
    return node.parent is not None and node.parent.type == "compound_statement"


def _read_name(data: bytes, node: Node) -> str:
    """Return a declared name; a Ruby symbol (``attr_reader :size``) without its colon."""
    text = _read_text(data, node.start_byte, node.end_byte)
    return text if text.startswith("::") or node.type.endswith("operator") else text.removeprefix(":")


def _read_text(data: bytes, start: int, end: int) -> str:
    return data[start:end].decode("utf-8", "replace").strip("\"'`")


def _list_imports(imports: dict[int, tuple[int, list[tuple[int, int]]]], data: bytes) -> list[tuple[int, str]]:
    imported = []
    for start, (end, sources) in sorted(imports.items()):
        if sources:
            imported += sorted({(first, _read_text(data, first, last).strip("<>")) for first, last in sources})
        else:
            imported.append((start, " ".join(data[start:end].decode("utf-8", "replace").split()).rstrip(";")))
    return imported


def _nest_declarations(declarations: Iterable[Declaration], syntax: Syntax, separator: str) -> list[Declaration]:
    """Nest declarations, join clauses, drop irrelevant ones and qualify the names."""
    roots: list[Declaration] = []
    nested: list[Declaration] = []
    open_declarations: list[Declaration] = []
    wrappers: list[Declaration] = []
    for declaration in _name_anonymous(sorted(declarations, key=lambda item: (item.start, -item.end))):
        while open_declarations and open_declarations[-1].end <= declaration.start:
            open_declarations.pop()
        if not declaration.names:  # only a wrapper of the first declaration inside it
            wrappers.append(declaration)
            continue
        outer = open_declarations[-1] if open_declarations else None
        while wrappers:
            wrapper = wrappers.pop()
            if wrapper.end >= declaration.end:
                declaration.outer_start = min(declaration.outer_start, wrapper.start)
        if outer is not None and _merge_same(outer, declaration):
            continue
        if len(open_declarations) > _MAX_NESTING or (
            outer is not None and outer.kind in CALLABLE and declaration.kind in DATA
        ):
            continue
        if declaration.kind == "function" and (
            declaration.receiver or (outer is not None and outer.kind in CLASS_LIKE)
        ):
            declaration.kind = "method"
        siblings = roots if outer is None else outer.children
        if siblings and _is_next_clause(siblings[-1], declaration, outer, syntax.attributes):
            _join_clause(siblings[-1], declaration, syntax.branches)
            open_declarations.append(siblings[-1])
            continue
        _qualify(declaration, outer, separator)
        siblings.append(declaration)
        declaration.parent = outer
        nested.append(declaration)
        open_declarations.append(declaration)
    return nested


def _name_anonymous(declarations: list[Declaration]) -> list[Declaration]:
    """Name each anonymous class after its first supertype, with its number among those of the file."""
    counts: Counter[str] = Counter()
    for declaration in declarations:
        if declaration.is_anonymous and declaration.names:
            declaration.bases += declaration.names
            counts[declaration.name] += 1
            declaration.names = [f"{declaration.name}${counts[declaration.name]}"]
    return declarations


def _merge_same(outer: Declaration, inner: Declaration) -> bool:
    """Merge a declaration into the one around it if both declare the same; return whether they do."""
    if outer.name_start == inner.name_start:
        _merge_nested(outer, inner)
        return True
    if inner.body is None or (inner.body, inner.receiver) != (outer.body, outer.receiver):
        return False
    outer.kind = inner.kind if inner.kind in CLASS_LIKE else outer.kind  # ``exports.a = exports.b = class { ... }``
    outer.aliases += [name for name in inner.names if name not in (*outer.names, *outer.aliases)]
    outer.inner_name = outer.inner_name or inner.inner_name
    return True


def _merge_nested(outer: Declaration, inner: Declaration) -> None:
    if inner.body is not None:
        outer.body = inner.body
    if _KIND_PRECEDENCE.get(inner.kind, 9) > _KIND_PRECEDENCE.get(outer.kind, 9):
        outer.kind = inner.kind
        if outer.kind == "function" and outer.parent is not None and outer.parent.kind in CLASS_LIKE:
            outer.kind = "method"
    outer.receiver = outer.receiver or inner.receiver


def _is_next_clause(
    previous: Declaration, clause: Declaration, outer: Declaration | None, attributes: list[tuple[int, int]]
) -> bool:
    """Return whether a declaration is a further clause of the previous one in its scope."""
    if (
        previous.last_clause_start is None
        or clause.last_clause_start is None
        or set(previous.names).isdisjoint(clause.names)
    ):
        return False
    if outer is not None and outer.last_clause_start is not None and previous.start < outer.last_clause_start:
        return False  # two helpers of the same name, each in its own clause
    return bisect_left(attributes, (previous.end,)) == bisect_left(attributes, (clause.start,))


def _join_clause(declaration: Declaration, clause: Declaration, branches: list[int]) -> None:
    if declaration.body is None:
        declaration.body = (clause.start, clause.end)
    elif clause.body is not None:
        declaration.body = (declaration.body[0], clause.end)
        if clause.name == declaration.name:  # otherwise the second name of ``a, b :: Int``
            insort(branches, clause.start)
    if _KIND_PRECEDENCE.get(clause.kind, 9) > _KIND_PRECEDENCE.get(declaration.kind, 9):
        declaration.kind = clause.kind
    declaration.end, declaration.last_clause_start = clause.end, clause.start


def _qualify(declaration: Declaration, outer: Declaration | None, separator: str) -> None:
    if declaration.is_titled:
        declaration.scope = outer.qualified_name if outer else ""
        declaration.qualified_name = separator.join(filter(None, [declaration.scope, declaration.name]))
        return
    while outer is not None and outer.is_titled:
        outer = outer.parent  # no name leads through a test case
    scope = [part for part in (outer.qualified_name if outer else "", declaration.receiver) if part]
    if declaration.kind == "namespace":  # ``namespace a::b`` in C++, ``namespace A\\B`` in PHP
        declaration.names = [re.sub(r"::|\\", separator, name) for name in declaration.names]
    if separator != "::":
        scope = [part.replace("::", separator) for part in scope]
    declaration.scope = separator.join(scope)
    declaration.qualified_name = separator.join([*scope, declaration.name])


def _attach_details(syntax: Syntax, nodes_by_capture: dict[str, list[Node]], data: bytes) -> None:
    """Attach wrappers, bases and docstrings to their declarations."""
    starts = [declaration.start for declaration in syntax.declarations]
    for start, end in _collect_spans(nodes_by_capture["wrapper"]):
        index = bisect_left(starts, start)
        if index < len(starts) and syntax.declarations[index].end <= end:
            declaration = syntax.declarations[index]
            declaration.outer_start = min(declaration.outer_start, start)
    for start, end in _collect_spans(nodes_by_capture["base"]):
        if (owner := find_innermost(syntax.declarations, starts, start)) is not None:
            owner.bases.append(data[start:end].decode("utf-8", "replace"))
    for start, end in _collect_text_spans(nodes_by_capture["docstring"], data):
        following = bisect_left(starts, start)
        if following < len(starts) and syntax.declarations[following].outer_start == start:
            owner = syntax.declarations[following]
        else:
            owner = find_innermost(syntax.declarations, starts, start)
            if (attribute := _find_attribute(syntax, start)) is not None:
                following = bisect_left(starts, attribute[1])
                if following < len(starts) and syntax.declarations[following].parent is owner:
                    owner = syntax.declarations[following]
        if owner is None:
            syntax.docstring_span = syntax.docstring_span or (start, end)
        else:
            owner.docstring_span = owner.docstring_span or (start, end)


def _attach_erased_text(syntax: Syntax, data: bytes, repaired: bytes, language: Language) -> None:
    """Let each declaration begin at the macros before it that a repair erased."""
    if language.repairs and repaired != data:
        for declaration in syntax.declarations:
            declaration.outer_start = find_erased_start(data, repaired, declaration.outer_start)


def _find_calls(syntax: Syntax, nodes_by_capture: dict[str, list[Node]]) -> list[tuple[int, int]]:
    declared = {node.start_byte for node in nodes_by_capture["name"]}
    calls = [span for span in _collect_spans(nodes_by_capture["call"]) if span[0] not in declared]
    return [span for span in calls if _find_attribute(syntax, span[0]) is None] if syntax.attributes else calls


def _find_attribute(syntax: Syntax, offset: int) -> tuple[int, int] | None:
    index = bisect_left(syntax.attributes, (offset + 1,)) - 1
    return syntax.attributes[index] if index >= 0 and syntax.attributes[index][1] > offset else None


def find_innermost(declarations: list[Declaration], starts: list[int], offset: int) -> Declaration | None:
    """Return the innermost declaration around a byte; None if there is none.

    Args:
        declarations: All declarations of the file, in order.
        starts: Start offset of each.
    """
    index = bisect_right(starts, offset) - 1
    declaration = declarations[index] if index >= 0 else None
    while declaration is not None and declaration.end <= offset:
        declaration = declaration.parent
    return declaration
