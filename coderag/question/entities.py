"""Find what a question names: identifiers, qualified names, paths, places, quoted strings and snippets of code."""

import re
from collections.abc import Iterator

from coderag.schema.query import Entity
from coderag.stores.symbol_table import split_qualified

_SUFFIXES = (
    "py|pyi|[cm]?[jt]sx?|go|rs|java|cs|c|h|cc|cpp|hpp|rb|php|kt|scala|swift|ex|exs|hs|lua|zig|sh|md|rst|toml|ya?ml|json"
)
_LOCATION = re.compile(r"(?<![\w/])((?:[\w.@-]+/)*[\w.@-]+\.\w+):(\d+)\b")
_PATH = re.compile(rf"(?<![\w/:.])((?:[\w.@-]+/)+[\w.@-]+|[\w-]+\.(?:{_SUFFIXES}))(?![\w/(])")
_QUALIFIED = re.compile(r"(?<![\w/.])[A-Za-z_$][\w$]*(?:(?:\.|::|->|#)[A-Za-z_$][\w$]*)+")
_HYPHENATED = re.compile(r"-\w")  # a key such as ``cache.max-age`` is no name of a declaration
_QUOTED = re.compile(r"\"([^\"\n]{2,200})\"|(?<!\w)'([^'\n]{2,200})'(?!\w)")
_BACKTICKED = re.compile(r"`([^`\n]{1,200})`")
_IDENTIFIER = re.compile(
    r"\b(?:[A-Z][a-z0-9]\w*[A-Z]\w*|[a-z][a-z0-9]*[A-Z]\w+|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+|_[A-Za-z]\w*|[A-Z]{2,}[a-z]\w+"
    r")\b|\b\w+(?=\(\))"
)
_FENCE = re.compile(r"```\w*\n(.+?)```", re.DOTALL)
_CODE_LINE = re.compile(
    r"[;{}]\s*$|^\s*(?:def|class|func|fn|function|if|for|return|import|public|private|const|let|var)\b.*[({:=;]"
)

_LONG_RUN = re.compile(r"\S{400}(?=\S)")
"""What is longer than a path; looking for one in it takes a time that is quadratic in its length."""

_TICKET_KEY = re.compile(r"(?<![\w/#-])(?:[A-Z][A-Z0-9_]{1,30}-\d{1,9}|#\d{1,9})(?![\w-])")

_ABBREVIATIONS = frozenset({"e.g", "i.e", "etc", "vs"})


def find_entities(query: str) -> list[Entity]:
    """Return the entities of a question in the order of their kinds; each text once a kind."""
    named = [*_places(query), *_quoted(query)]
    qualified = [text for kind, text in named if kind == "qualified_name"]
    paths = {text for kind, text in named if kind == "path"}
    for match in _QUALIFIED.finditer(query):
        is_cut = match[0].islower() and _HYPHENATED.match(query, match.end())
        if match[0].lower() not in _ABBREVIATIONS and match[0] not in paths and not is_cut:
            qualified.append(match[0])
            named.append(("qualified_name", match[0]))
    parts = {part for name in qualified for part in split_qualified(name)}
    named += [("identifier", match[0]) for match in _IDENTIFIER.finditer(query) if match[0] not in parts]
    return [Entity(kind=kind, text=text) for kind, text in dict.fromkeys(named)]


def _places(query: str) -> Iterator[tuple[str, str]]:
    """Yield snippets of code, places and paths."""
    fenced = [match[1] for match in _FENCE.finditer(query)]
    if not fenced and looks_like_code(query):
        fenced = [query]
    yield from (("snippet", code) for code in fenced)
    bounded = _LONG_RUN.sub(r"\g<0> ", query)
    yield from (("location", match[0]) for match in _LOCATION.finditer(bounded))
    yield from (("path", match[1]) for match in _PATH.finditer(bounded))


def _quoted(query: str) -> Iterator[tuple[str, str]]:
    """Yield what stands in backticks or quotation marks."""
    for match in _BACKTICKED.finditer(query):
        name = match[1].removesuffix("()")
        yield ("qualified_name" if _QUALIFIED.fullmatch(name) else "identifier"), name
    for match in _QUOTED.finditer(query):
        yield "quoted", match[1] or match[2]


def find_ticket_keys(query: str) -> list[str]:
    """Return what has the form of a ticket's key, such as ``PROJ-45`` or ``#45``; ``UTF-8`` has it, too."""
    return list(dict.fromkeys(match[0].removeprefix("#") for match in _TICKET_KEY.finditer(query)))


def looks_like_code(query: str) -> bool:
    """Whether most lines of a text of several lines are code."""
    lines = [line for line in query.splitlines() if line.strip()]
    return len(lines) >= 2 and sum(bool(_CODE_LINE.search(line)) for line in lines) * 2 >= len(lines)


def names_in(entities: list[Entity]) -> list[str]:
    """Return the names that may be declarations."""
    return [entity["text"] for entity in entities if entity["kind"] in ("identifier", "qualified_name")]
