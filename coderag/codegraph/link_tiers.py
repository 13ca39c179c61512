"""Tiers of languages in the code graph, and what no edge can show."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from coderag.codegraph.linking.rules.rules_table import FULLY_LINKED_LANGUAGES
from coderag.ingestion.parsing.languages import LANGUAGES
from coderag.schema.mentions import LinkTier

_UNLINKED_LANGUAGES: Final = frozenset(
    {"css", "scss", "less", "sql", "terraform", "graphql", "protobuf", "thrift", "cmake", "make", "automake", "dockerfile"}
    | {"prisma", "xml", "ini", "gomod", "ignore", "csv", "diff", "text", "markdown", "rst", "asciidoc", "org", "tex"}
)  # fmt: skip
"""Languages whose declarations have no edges; those of structured data have none either."""

_DISPLAY_NAMES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "c_sharp": "C#", "cpp": "C++", "objective_c": "Objective-C", "fsharp": "F#", "php": "PHP", "sql": "SQL",
        "css": "CSS", "scss": "SCSS", "html": "HTML", "xml": "XML", "yaml": "YAML", "toml": "TOML", "json": "JSON",
        "ini": "INI", "tsx": "TSX", "graphql": "GraphQL", "cmake": "CMake", "javascript": "JavaScript", "ocaml": "OCaml",
        "typescript": "TypeScript", "vhdl": "VHDL", "glsl": "GLSL", "wgsl": "WGSL", "purescript": "PureScript",
        "powershell": "PowerShell", "coffeescript": "CoffeeScript", "commonlisp": "Common Lisp", "emacs_lisp": "Emacs Lisp",
    }
)  # fmt: skip


def find_link_tier(languages: Collection[str]) -> LinkTier:
    """Return the lowest tier of some languages; ``none`` without any."""
    if not languages or any(_is_unlinked(language) for language in languages):
        return "none"
    return "full" if FULLY_LINKED_LANGUAGES.issuperset(languages) else "simple"


def explain_missing_edges(languages: Collection[str]) -> str:
    """Explain why the code graph may lack edges to declarations of some languages."""
    tier = find_link_tier(languages)
    if not languages:
        return "The repository does not declare this name, so that only imports can have edges to it."
    names = " and ".join(sorted({format_language(language) for language in languages}))
    if tier == "none":
        return f"The code graph does not link uses of names declared in {names}."
    if tier == "simple":
        return f"{names}: names are linked only within a file and along its imports."
    return (
        f"{names}: a use has no edge where the code does not tell the type of a value, and where the name is reached by"
        " dynamic dispatch, reflection or a template."
    )


def format_language(language: str) -> str:
    """Return the name of a language as people write it."""
    return _DISPLAY_NAMES.get(language, language.replace("_", " ").title())


def _is_unlinked(language: str) -> bool:
    row = LANGUAGES.get(language)
    return row is None or row.data or language in _UNLINKED_LANGUAGES
