"""Facts of a file: everything that the code graph needs from it, read once, from the syntax tree that also gives the chunks.

Facts state what the text contains, without knowledge of other files; `coderag.codegraph` resolves them to edges. Nothing here
depends on the file's path, so that the facts serve every file of equal content.

A *chain* is an expression as names and steps, without spaces, in one notation for all languages. Names are joined by ``.``
(also for ``::``, ``->`` and ``?.``). ``()`` is a call, ``[]`` an element, ``{}`` a new instance of the type before it. Thus
``new Foo(1).bar(x)[0]->baz`` becomes ``Foo{}.bar()[].baz``. Any other expression becomes the empty chain.

Numbers of arguments are part of names where a language selects overloads by them. A called name has its number of arguments:
``Foo{}.bar/1()``. A method reference has none: ``Foo.bar/``. A constructor that calls another one calls ``this.<init>/2``.
Where type parameters distinguish types, a name with type arguments has their number: ``Foo`1``.

A *scope* is the position of a definition in `FileFacts.definitions`, or `MODULE_SCOPE` for code outside of any definition.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

MODULE_SCOPE: Final = -1

CONSTRUCTOR_NAME: Final = "<init>"
"""Name of any constructor in a chain."""

REQUIRED_MARK: Final = "@"
"""Start of a name that is the path of a module: ``@a/b`` for ``require("a.b")``."""

RECEIVER_NAME: Final = "this"
"""Name of a binding whose members are visible by their bare names: the receiver of an extension function or a closure."""

RECEIVER_STEP: Final = "<receiver>"
ARGUMENT_STEP: Final = "<argument>"
CLOSURE_STEPS: Final = frozenset({RECEIVER_STEP, ARGUMENT_STEP})
"""Steps from a function to the receiver and the first argument of the closure that it takes last."""

IMPLIED_OWNER: Final = "<implied>"
"""Start of a chain for a member of the type that the context expects: ``.red`` in Swift."""

TEST_MODIFIER: Final = "#test"
"""Modifier of a definition that is a test, with everything in it: ``#[cfg(test)] mod tests`` in Rust."""

TITLE_MODIFIER: Final = "#title"
"""Modifier of a test case or a group of them that a text names: no code refers to it by that."""

CALLBACK_MODIFIER: Final = "#callback"
"""Modifier of a function that an interface asks for: it can be implemented but not called, as ``@callback`` in Elixir."""

ANONYMOUS_MODIFIER: Final = "#anonymous"
"""Modifier of an anonymous class; also of a method in an object that is no declaration, whose owner is the supertype."""

OBJECT_RELATION: Final = "object"
"""Relation of an object to its declared type, see `Base`."""

EXTENSION_MODIFIER: Final = "#extension"
"""Modifier of a function that is called on a receiver without being its member: an extension function, a member of a block."""

PROTOTYPE_MODIFIER: Final = "#prototype"
"""Modifier of a declaration that another one defines: a function without its body, an ``extern`` variable in C."""

ReferenceKind = Literal["call", "new", "type", "decorator", "read"]
"""Use of a name: called, instantiated, named as a type, applied as a decorator, or read as a value."""


class Definition(NamedTuple):
    """A declared name.

    Attributes:
        kind: See `coderag.schema.vocabulary.Kind`.
        parent: Scope of the declaration.
        owner: Qualifier of its name besides its parent: the type of a Go receiver, ``Foo`` of a C++ ``Foo::bar``.
        returns: Return type as written; or ``=`` and the chain of the returned value.
        modifiers: Words such as ``property``, ``static``, ``abstract``, ``default``, and the constants of this module. Where
            overloads are selected by arity, also the number of parameters: ``/2``; at least two ``/2+``; one to three ``/1-3``.
            Where type parameters distinguish types, also their number: `` `1``.
        parameters: Types of a method's parameters as written, joined by ``, ``; only where they distinguish methods, or
            where the last one is the type of a closure.
        name_line: Line of its name; annotations may be above it.
    """

    name: str
    qualified_name: str
    kind: str
    parent: int
    start_line: int
    end_line: int
    owner: str = ""
    returns: str = ""
    modifiers: str = ""
    parameters: str = ""
    name_line: int = 0


class Import(NamedTuple):
    """A name brought into a scope from another module.

    Attributes:
        module: Module, package or path as written.
        name: Imported name; empty for the module itself, ``*`` for all names.
        alias: Local name; empty if it equals `name`, or if there is none.
        exported: Whether it is a re-export.
    """

    module: str
    name: str
    alias: str
    scope: int
    line: int
    exported: bool = False


class Base(NamedTuple):
    """A type that a type extends or implements.

    Attributes:
        owner: Scope of the derived type.
        relation: ``inherits`` or ``implements``; empty if the text does not show it. `OBJECT_RELATION` if the owner is a
            variable or field whose value is an object of that declared type.
    """

    owner: int
    chain: str
    line: int
    relation: str = ""


class Binding(NamedTuple):
    """A name for a value: a parameter, a variable, a field.

    Attributes:
        scope: Scope of the name; for a field the definition of its type.
        type: Type as written; empty without one.
        value: Chain of its value if it has no type. If it is empty, the name only shadows outer ones.
        first_line, last_line: Lines of the block in which it is visible; 0 for all of its scope.
    """

    scope: int
    name: str
    type: str
    value: str
    line: int
    first_line: int = 0
    last_line: int = 0


class Reference(NamedTuple):
    """A use of a name.

    Attributes:
        scope: Scope of the use.
        line: Line of the last name of the chain.
    """

    scope: int
    kind: str
    chain: str
    line: int


class Mention(NamedTuple):
    """A name in a document's text that may be that of a declaration."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """Facts of one file, each list in order of position.

    Attributes:
        package: Package or namespace that the file declares.
        bindings: Bindings of the module and of types, which other files may see.
        local_bindings: Bindings of functions.
        mentions: Mentions in a document.
        settings: Module settings of a configuration file: paths, names, entry points.
    """

    language: str
    package: str = ""
    definitions: Sequence[Definition] = ()
    imports: Sequence[Import] = ()
    bases: Sequence[Base] = ()
    bindings: Sequence[Binding] = ()
    local_bindings: Sequence[Binding] = ()
    references: Sequence[Reference] = ()
    mentions: Sequence[Mention] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)


def rank_lines(facts: FileFacts) -> list[int]:
    """Return the ranks of the lines of a file's interface if it declares a name twice; else an empty list.

    Order, not line numbers, decides between declarations of one name.
    """
    names = [fact.name for fact in facts.definitions]
    if len(set(names)) == len(names):
        return []
    lines = [fact.start_line for fact in facts.definitions]
    lines += (fact.line for kind in (facts.imports, facts.bases, facts.bindings) for fact in kind)
    rank_by_line = {line: rank for rank, line in enumerate(sorted(set(lines)))}
    return [rank_by_line[line] for line in lines]
