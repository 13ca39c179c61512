"""Table of the ``coderag graph`` commands that query one declaration."""

from dataclasses import dataclass
from typing import Final

from coderag.schema.graph_queries import GraphQuery


@dataclass(frozen=True, slots=True)
class QueryCommand:
    """A graph query and its command.

    Attributes:
        name: Name of the command and of the `CodeGraph` method.
        help: Help of the command.
        title: Heading of the results, with ``{name}``.
        empty_text: Note if there are no results.
        depth: Default number of steps; 0 if the query has no depth.
    """

    name: GraphQuery
    help: str
    title: str
    empty_text: str
    depth: int = 1


QUERY_COMMANDS: Final = (
    QueryCommand(
        "callers",
        "List the callers of a function, or the code that instantiates a class.",
        "callers of {name}",
        "no call of {name} could be resolved",
    ),
    QueryCommand(
        "callees",
        "List what a function calls and instantiates.",
        "callees of {name}",
        "{name} is not known to call anything",
    ),
    QueryCommand(
        "imports",
        "List what a file imports, including external packages.",
        "imports of {name}",
        "{name} is not known to import anything",
    ),
    QueryCommand(
        "importers",
        "List what imports a file, a declaration or a package.",
        "importers of {name}",
        "no import of {name} could be resolved",
    ),
    QueryCommand(
        "bases",
        "List the types that a type extends or implements.",
        "bases of {name}",
        "{name} is not known to extend or implement anything",
    ),
    QueryCommand(
        "subclasses",
        "List the types that extend or implement a type.",
        "subclasses of {name}",
        "no type that extends {name} could be resolved",
    ),
    QueryCommand(
        "implementations",
        "List what implements an interface, or a method of one.",
        "implementations of {name}",
        "no implementation of {name} could be resolved",
    ),
    QueryCommand(
        "overrides",
        "List the methods that override a method.",
        "overrides of {name}",
        "no override of {name} could be resolved",
    ),
    QueryCommand(
        "overridden",
        "List the methods that a method overrides.",
        "overridden by {name}",
        "{name} is not known to override anything",
    ),
    QueryCommand(
        "tests",
        "List the tests that exercise a declaration.",
        "tests of {name}",
        "no test could be linked to {name}",
        depth=0,
    ),
    QueryCommand(
        "references",
        "List uses of a name other than calls: annotations, decorators, values.",
        "references to {name}",
        "no reference to {name} could be resolved",
        depth=0,
    ),
    QueryCommand(
        "documents",
        "List the documents that mention a declaration.",
        "documents about {name}",
        "no document could be linked to {name}",
        depth=0,
    ),
    QueryCommand(
        "impact",
        "List what may break if a declaration changes: its callers, subclasses, importers, and theirs.",
        "impact of {name}",
        "no use of {name} could be resolved",
        depth=3,
    ),
)
