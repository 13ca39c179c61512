"""Evidence for the claims of an answer: the cited lines, and the users of the declarations in them from the code graph."""

from collections import Counter
from collections.abc import Iterator

from coderag.schema.answers import Answer
from coderag.schema.chunks import SymbolRecord, format_location

from .repository import Repository

_MAX_DECLARATIONS = (
    4  # per citation; one with more is a large part of a file, where users of each declaration say little
)

_USER_PHRASES = {
    "caller": "called by {} declaration",
    "user": "referred to by {} declaration",
    "derived": "extended by {} type",
    "implementation": "implemented by {} type",
}
"""Phrase of each relation of the code graph; `{}` is the number of neighbours."""


def collect_evidence(answer: Answer, repository: Repository) -> str:
    """Return the evidence as text: the lines of each verified citation below its location."""
    cited = dict.fromkeys(
        (citation.path, citation.start_line, citation.end_line) for citation in answer.citations if citation.verified
    )
    return "\n\n".join("\n".join(_format_citation(repository, *place)) for place in cited)


def _format_citation(repository: Repository, path: str, first: int, last: int) -> Iterator[str]:
    yield format_location(path, first, last)
    declarations = repository.declarations.get(path, ())
    enclosing = [symbol for symbol in declarations if symbol["start_line"] <= first and last <= symbol["end_line"]]
    if enclosing:
        inner = max(enclosing, key=lambda symbol: symbol["start_line"])
        yield f"(in {inner['kind']} `{inner['qualified_name']}`)"
    starting = [symbol for symbol in declarations if first <= symbol["start_line"] <= last]
    for symbol in starting[:_MAX_DECLARATIONS]:
        if used := _describe_users(repository, path, symbol):
            yield f"(the code graph: `{symbol['qualified_name']}` is {used})"
    yield from repository.read_lines(path)[first - 1 : last]


def _describe_users(repository: Repository, path: str, symbol: SymbolRecord) -> str:
    """Describe the users of a declaration, such as "called by 2 declarations: ..."; empty if there are none."""
    users = repository.rag.graph.users(f"{path}::{symbol['qualified_name']}")
    counts = Counter(user.relation for user in users if user.relation in _USER_PHRASES)
    names = ", ".join(dict.fromkeys(f"`{user.qualified_name}`" for user in users))
    parts = [_USER_PHRASES[relation].format(number) + "s" * (number > 1) for relation, number in counts.items()]
    return f"{', '.join(parts)}: {names}" if parts else ""
