"""What a file says of names: all that the code graph needs of it, read once, from the same syntax tree as its chunks.

Facts are what the text says, before anything is known of other files; `coderag.codegraph` makes edges of them. Nothing
here depends on the file's path, so what was read once serves every file of equal content.

A *chain* is an expression as names and steps, without spaces, in every language alike: names are joined by ``.`` (also for
``::``, ``->`` and ``?.``), ``()`` is a call, ``[]`` an element, ``{}`` an instance just made of the type before it. So
``new Foo(1).bar(x)[0]->baz`` is ``Foo{}.bar()[].baz``. What is no such expression is the empty chain. Where a language tells
overloads apart by their arguments, a name that is called says how many there are, ``Foo{}.bar/1()``; the name of methods that
is not called says none, ``Foo.bar/``; and a constructor that calls another one calls ``this.<init>/2``. Where types are told
apart by their type parameters, a name with type arguments says how many: ``Foo`1``.

A *scope* is the position of a definition in `FileFacts.definitions`, or `MODULE_SCOPE` for code outside of any.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple

MODULE_SCOPE: Final = -1

CONSTRUCTOR_NAME: Final = "<init>"
"""The name of any constructor in a chain."""

TEST_MODIFIER: Final = "#test"
"""The modifier of what only tests have, with all that is declared in it: ``#[cfg(test)] mod tests`` in Rust."""

ReferenceKind = Literal["call", "new", "type", "decorator", "read"]
"""How a name is used: called, instantiated, named as a type, applied as a decorator, or mentioned as a value."""


class Definition(NamedTuple):
    """A declared name.

    Attributes:
        kind: See `coderag.schema.vocabulary.Kind`.
        parent: Scope that it is declared in.
        owner: What qualifies its name beside its parent: the type of a Go receiver, ``Foo`` of a C++ ``Foo::bar``.
        returns: Type that a function returns, as written; or, after ``=``, the chain of the value that it returns.
        modifiers: Words that change what its name means, ``property``, ``static``, ``abstract``, ``default`` ..., or what it is
            for, `TEST`; among them, where overloads are told apart by it, how many parameters it has: ``/2``, at least two
            ``/2+``, one to three ``/1-3``; and where types are told apart by it, how many type parameters: `` `1``.
        parameters: Types of a method's parameters as written, one a parameter, joined by ``, ``; only where methods are
            told apart by them.
        name_line: Line of its name, which annotations may stand above.
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
    """A name brought into a scope from elsewhere.

    Attributes:
        module: Module, package or path as written.
        name: What is taken from it; empty for the module itself, ``*`` for all that it has.
        alias: The name it gets here; empty if that is `name`, or if it gets none.
        exported: Whether it is passed on: a re-export.
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
        owner: Scope of the type that does.
        relation: ``inherits`` or ``implements``; empty if the text does not tell.
    """

    owner: int
    chain: str
    line: int
    relation: str = ""


class Binding(NamedTuple):
    """A name for a value: a parameter, a variable, a field.

    Attributes:
        scope: Where the name is known; for a field its type's definition.
        type: Its type as written; empty without one.
        value: Chain of its value, if it has no type; empty if it is no chain: then the name only hides outer ones.
        first, last: Lines of the block in which it is known; 0 if that is all of its scope.
    """

    scope: int
    name: str
    type: str
    value: str
    line: int
    first_line: int = 0
    last_line: int = 0


class Reference(NamedTuple):
    """A name used.

    Attributes:
        scope: Where it stands.
        line: Of the last name of the chain.
    """

    scope: int
    kind: str
    chain: str
    line: int


class Mention(NamedTuple):
    """A name in a document's text that may be a declaration's."""

    name: str
    line: int


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts of one file, each list in order of position.

    Attributes:
        package: The package or namespace that the file declares.
        bindings: Of the module and of types: what other files may see.
        local_bindings: Of functions.
        mentions: Of a document.
        settings: What a file of configuration says of modules: paths, names, entry points.
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
    """Return the ranks of the lines of all that others may see of a file, if it declares a name twice; else nothing.

    Which of several is meant is told by what stands above what, and not by the lines themselves.
    """
    names = [fact.name for fact in facts.definitions]
    if len(set(names)) == len(names):
        return []
    lines = [fact.start_line for fact in facts.definitions]
    lines += (fact.line for kind in (facts.imports, facts.bases, facts.bindings) for fact in kind)
    rank_by_line = {line: rank for rank, line in enumerate(sorted(set(lines)))}
    return [rank_by_line[line] for line in lines]
