"""What the claims of an answer rest on: the lines that it cites, and what the code graph knows of the declarations in them."""

from collections import Counter
from collections.abc import Iterator

from coderag.schema.answers import Answer
from coderag.schema.chunks import SymbolRecord, format_location

from .repository import Repository

_MOST_DECLARATIONS = 4  # of one citation; one with more is a part of a file, of which little is said

_USERS = {
    "caller": "called by {} declaration",
    "user": "referred to by {} declaration",
    "derived": "extended by {} type",
    "implementation": "implemented by {} type",
}
"""How a relation of the code graph is put in words, with the number of neighbours."""


def evidence_of(answer: Answer, repository: Repository) -> str:
    """Return the evidence as text: each citation below its place; those that do not hold are no evidence."""
    cited = dict.fromkeys((one.path, one.start_line, one.end_line) for one in answer.citations if one.verified)
    return "\n\n".join("\n".join(_told(repository, *place)) for place in cited)


def _told(repository: Repository, path: str, first: int, last: int) -> Iterator[str]:
    yield format_location(path, first, last)
    declared = repository.declarations.get(path, ())
    around = [one for one in declared if one["start_line"] <= first and last <= one["end_line"]]
    if around:
        inner = max(around, key=lambda one: one["start_line"])
        yield f"(in {inner['kind']} `{inner['qualified_name']}`)"
    begun = [one for one in declared if first <= one["start_line"] <= last]
    for one in begun[:_MOST_DECLARATIONS]:
        if used := _used(repository, path, one):
            yield f"(the code graph: `{one['qualified_name']}` is {used})"
    yield from repository.lines(path)[first - 1 : last]


def _used(repository: Repository, path: str, declared: SymbolRecord) -> str:
    """Return who uses a declaration, in words."""
    users = repository.rag.graph.users(f"{path}::{declared['qualified_name']}")
    counts = Counter(one.relation for one in users if one.relation in _USERS)
    names = ", ".join(dict.fromkeys(f"`{one.qualified_name}`" for one in users))
    told = [_USERS[relation].format(number) + "s" * (number > 1) for relation, number in counts.items()]
    return f"{', '.join(told)}: {names}" if told else ""
