"""Shared options and arguments, with the parsing of their values."""

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path, PurePosixPath
from typing import Annotated, get_args

import typer

from coderag.errors import InvalidQueryError
from coderag.schema.search import Filters
from coderag.schema.vocabulary import Kind, Role


def _check_values(values: list[str] | None, allowed: Sequence[str]) -> list[str]:
    """Return the values as they are spelled among the allowed ones, which takes any case and the plural.

    Typer does not support lists of a `Literal`.
    """
    checked = []
    for value in values or ():
        lowered = value.lower().replace("-", "_")
        spellings = (lowered, lowered.removesuffix("s"), lowered.removesuffix("es"))
        allowed_value = next((spelling for spelling in spellings if spelling in allowed), None)
        if allowed_value is None:
            raise typer.BadParameter(f"{value!r} is not one of {', '.join(allowed)}.")
        checked.append(allowed_value)
    return checked


def _check_kinds(values: list[str] | None) -> list[str]:
    return _check_values(values, get_args(Kind))


def _check_roles(values: list[str] | None) -> list[str]:
    return _check_values(values, get_args(Role))


def _complete_kinds(start: str) -> list[str]:
    return [kind for kind in get_args(Kind) if kind.startswith(start)]


def _complete_roles(start: str) -> list[str]:
    return [role for role in get_args(Role) if role.startswith(start)]


_QUERY_HELP = "The question. Quotes are optional; '-' reads standard input."
_REPO_HELP = "The repository. Default: the nearest folder upwards with .coderag or .coderag.yaml, else the git root."
_KIND_HELP = f"Only this kind: {', '.join(get_args(Kind))}."
_PATH_HELP = "Only these paths, relative to the root or to this folder: 'src', 'src/**/*.py'; '!tests' excludes some."
_LANGUAGE_HELP = "Only this language, by any usual name: typescript or ts, c++, c#. TypeScript includes TSX."
_ROLE_HELP = f"Only files that are: {', '.join(get_args(Role))}."
_COMPLEXITY_HELP = "Only code of this cyclomatic complexity: '10' (and more), or '5..20'."
_CHANGED_HELP = "Only files changed since this git revision, including untracked files: 'HEAD', 'main'."
_BUDGET_HELP = "Maximum tokens of code, at least 200. Default: search.token_budget, which is 8000."
_DEBUG_HELP = "Log to standard error, and print tracebacks of errors."

QueryArgument = Annotated[list[str], typer.Argument(metavar="QUERY", help=_QUERY_HELP, show_default=False)]
# `readable=False`: the engine reports unreadable folders, in the same way for all.
RepoOption = Annotated[
    Path | None,
    typer.Option("--repo", "-C", metavar="PATH", help=_REPO_HELP, show_default=False, readable=False),
]
FolderArgument = Annotated[
    Path | None,
    typer.Argument(metavar="[PATH]", help="The repository, as with --repo.", show_default=False, readable=False),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print results and errors as JSON.")]
DebugOption = Annotated[bool, typer.Option("--debug", help=_DEBUG_HELP)]
NoIndexOption = Annotated[bool, typer.Option("--no-index", help="Fail if there is no index, instead of building it.")]
ExplainOption = Annotated[
    bool,
    typer.Option("--explain", help="Explain the ranking, the related code and the context."),
]
BudgetOption = Annotated[
    int | None,
    typer.Option("--budget", "-b", metavar="TOKENS", help=_BUDGET_HELP, show_default=False),
]
LanguageOption = Annotated[
    list[str] | None,
    typer.Option("--language", "-l", metavar="NAME", help=_LANGUAGE_HELP, show_default=False),
]
KindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kind", "-k", metavar="KIND", help=_KIND_HELP, callback=_check_kinds, autocompletion=_complete_kinds
    ),
]  # fmt: skip
PathOption = Annotated[
    list[str] | None, typer.Option("--path", "-p", metavar="GLOB", help=_PATH_HELP, show_default=False)
]
RoleOption = Annotated[
    list[str] | None,
    typer.Option(
        "--role", "-r", metavar="ROLE", help=_ROLE_HELP, callback=_check_roles, autocompletion=_complete_roles
    ),
]  # fmt: skip
ComplexityOption = Annotated[
    str | None, typer.Option("--complexity", metavar="RANGE", help=_COMPLEXITY_HELP, show_default=False)
]
ChangedSinceOption = Annotated[
    str | None, typer.Option("--changed-since", metavar="REV", help=_CHANGED_HELP, show_default=False)
]


def read_query(words: list[str], *, indented: bool = False) -> str:
    """Return the question as valid Unicode; a lone ``-`` reads standard input.

    Args:
        words: Words of the command line.
        indented: Keep leading and trailing white space.
    """
    if words == ["-"]:
        return sys.stdin.buffer.read().decode("utf-8-sig", errors="replace").strip("\r\n" if indented else None)
    query = " ".join(words)
    return query.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


def make_filters(
    *,
    language: LanguageOption = None,
    kind: KindOption = None,
    path: PathOption = None,
    role: RoleOption = None,
    complexity: ComplexityOption = None,
    changed_since: ChangedSinceOption = None,
) -> Filters | None:
    """Build the requested filters; None if there are none."""
    if changed_since is not None and not changed_since.strip():
        raise typer.BadParameter("no revision given.", param_hint="--changed-since")
    filters = Filters(
        languages=tuple(name.lower() for name in language or ()),
        kinds=tuple(kind or ()),
        paths=tuple(_to_pattern(pattern) for pattern in path or ()),
        roles=tuple(role or ()),
        complexity=_parse_complexity(complexity) if complexity is not None else 0,
        changed_since=changed_since or "",
    )
    return filters or None


def resolve_typed_paths(filters: Filters | None, root: Path) -> Filters | None:
    """Return the filters with paths that exist only below the current folder relative to the root instead."""
    if filters is None or not filters.paths:
        return filters
    return replace(filters, paths=tuple(_resolve_typed_path(pattern, root) for pattern in filters.paths))


def _resolve_typed_path(pattern: str, root: Path) -> str:
    prefix = "!" if pattern.startswith("!") else ""
    typed = pattern[len(prefix) :].replace("\\", "/")
    parts = PurePosixPath(typed).parts
    fixed = Path(*takewhile(lambda part: not set(part) & set("*?"), parts))
    if not fixed.parts or fixed.is_absolute() or typed.startswith(("~", "./")):
        return pattern
    here, root = Path.cwd().resolve(), root.resolve()
    place = Path(os.path.normpath(here / fixed))
    is_elsewhere = ".." in parts or not (root / fixed).exists()
    if not is_elsewhere or not place.exists() or not place.is_relative_to(root):
        return pattern
    rest = parts[len(fixed.parts) :]
    return prefix + ("/".join((*place.relative_to(root).parts, *rest)) or ".")


def _parse_complexity(text: str) -> int | tuple[int, int]:
    """Parse a range: ``5`` or ``5..``, ``5..20``, ``..20``."""
    match = re.fullmatch(r"(?=.*[0-9])([0-9]*)(?:(\.\.)([0-9]*))?", text.strip())
    if not match:
        raise typer.BadParameter(f"{text!r} is not a range such as '10' or '5..20'.", param_hint="--complexity")
    minimum = int(match[1] or 0)
    return (minimum, int(match[3])) if match[3] else minimum


def _to_pattern(path: str) -> str:
    """Convert a path typed in a shell to an index pattern; ``./!name`` is not an exclusion."""
    posix = path.replace(os.sep, "/")
    if posix == "!":
        raise typer.BadParameter("'!' needs a path, as in '!tests'.", param_hint="--path")
    if posix.startswith("./!"):
        return posix
    return posix.removeprefix("./") or "**"


def choose_repository(folder: Path | None, repo: Path | None) -> Path | None:
    """Return the repository named as an argument or with ``--repo``; None if neither is given.

    Raises:
        InvalidQueryError: Both are given.
    """
    if folder is not None and repo is not None:
        raise InvalidQueryError("name the repository once: as an argument or with --repo")
    return folder or repo
