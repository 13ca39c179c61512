"""Outlines of repositories: declarations and file imports, the subjects and answers of questions."""

import json
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from evals.graph.ground_truth import DeclarationSite, EvaluationError

_SCRIPT = Path(__file__).with_name("typescript_outline.mjs")


class CompilerDeclaration(NamedTuple):
    """A class, interface, function, method, or field that may hold one.

    Attributes:
        kind: ``class``, ``function`` or ``field``.
        line: Line of its name, 1-based.
        first, last: Its lines, 1-based, with decorators and comments that belong to it.
        local: Whether it is inside a function.
    """

    path: str
    qualified_name: str
    kind: str
    line: int
    first: int
    last: int
    local: bool

    @property
    def name(self) -> str:
        """Unqualified name."""
        return self.qualified_name.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """Qualified name of the enclosing class; empty without one."""
        return self.qualified_name.rpartition(".")[0]


class FileImport(NamedTuple):
    """A line of a file that imports another file."""

    path: str
    line: int
    imported_path: str


@dataclass(frozen=True)
class Outline:
    """The declarations and imports of a repository.

    Args:
        declarations: Declarations, ordered by position in each file.
        imports: Imports between files of the repository.
    """

    declarations: Sequence[CompilerDeclaration]
    imports: Sequence[FileImport]

    @cached_property
    def files(self) -> dict[str, list[CompilerDeclaration]]:
        """Declarations by file."""
        declarations_by_file: dict[str, list[CompilerDeclaration]] = defaultdict(list)
        for declaration in self.declarations:
            declarations_by_file[declaration.path].append(declaration)
        return declarations_by_file

    @cached_property
    def _declarations_by_place(self) -> dict[tuple[str, int, str], CompilerDeclaration]:
        return {
            (declaration.path, declaration.line, declaration.name): declaration for declaration in self.declarations
        }

    @cached_property
    def _name_counts(self) -> Counter[str]:
        names = Counter(declaration.name for declaration in self.declarations)
        return names + Counter(declaration.qualified_name for declaration in self.declarations if declaration.owner)

    def find_at(self, place: DeclarationSite) -> CompilerDeclaration | None:
        """Return the declaration at a place."""
        return self._declarations_by_place.get((place.path, place.line, place.name))

    def find_enclosing(self, path: str, line: int) -> CompilerDeclaration | None:
        """Return the outermost function around a line, else the innermost class; None for code outside of both."""
        enclosing = [
            declaration
            for declaration in self.files.get(path, ())
            if declaration.first <= line <= declaration.last and declaration.kind != "field"
        ]
        return next(
            (declaration for declaration in enclosing if declaration.kind == "function"),
            enclosing[-1] if enclosing else None,
        )

    def find_shortest_name(self, declaration: CompilerDeclaration) -> str:
        """Return the shortest unique name of a declaration: plain, with its class, or with its file's path."""
        for name in (declaration.name, declaration.qualified_name):
            if self._name_counts[name] == 1:
                return name
        return f"{declaration.path}::{declaration.qualified_name}"


def read_typescript_outline(repository: Path, tools: Path | None, timeout_s: float = 600) -> Outline:
    """Return the outline that the TypeScript compiler reports.

    Args:
        repository: Its root.
        tools: Folder in which npm installed typescript.
        timeout_s: Timeout of the compiler in seconds.

    Raises:
        EvaluationError: Node or TypeScript is missing, or failed.
    """
    if tools is None or not (package := tools.resolve() / "node_modules" / "typescript").is_dir():
        raise EvaluationError(
            "--tools: TypeScript is not installed there; run `npm install --prefix FOLDER typescript@5`"
        )
    command = ["node", str(_SCRIPT), str(package), str(repository.resolve())]
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except OSError as error:
        raise EvaluationError(f"node: {error.strerror}; install it and put it on the PATH") from error
    except subprocess.TimeoutExpired as error:
        raise EvaluationError(f"{_SCRIPT.name}: timed out after {timeout_s:g} s") from error
    if process.returncode:
        raise EvaluationError(f"{_SCRIPT.name}: exit status {process.returncode}: {process.stderr.strip()[:800]}")
    data = json.loads(process.stdout)
    return Outline(_to_declarations(data["declarations"]), [FileImport(*row) for row in data["imports"]])


def _to_declarations(rows: Iterable[Sequence[object]]) -> list[CompilerDeclaration]:
    return [CompilerDeclaration(*row) for row in rows]  # type: ignore[arg-type]
