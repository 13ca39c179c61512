"""What a repository declares and which of its files import which: the words and the answers of questions."""

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


class Declared(NamedTuple):
    """A class, an interface, a function, a method, or a field that may hold one.

    Attributes:
        kind: ``class``, ``function`` or ``field``.
        line: Of its name, from 1.
        first, last: Its lines, from 1, with decorators and comments that belong to it.
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
        """Its own name."""
        return self.qualified_name.rpartition(".")[2]

    @property
    def owner(self) -> str:
        """Qualified name of the class that it is in; empty without one."""
        return self.qualified_name.rpartition(".")[0]


class Import(NamedTuple):
    """A line of one file that imports another one."""

    path: str
    line: int
    imported: str


@dataclass(frozen=True)
class Outline:
    """The declarations and imports of a repository.

    Args:
        declarations: In order of position in each file.
        imports: From file to file, inside the repository.
    """

    declarations: Sequence[Declared]
    imports: Sequence[Import]

    @cached_property
    def files(self) -> dict[str, list[Declared]]:
        """The declarations by file."""
        found: dict[str, list[Declared]] = defaultdict(list)
        for declared in self.declarations:
            found[declared.path].append(declared)
        return found

    @cached_property
    def _by_place(self) -> dict[tuple[str, int, str], Declared]:
        return {(one.path, one.line, one.name): one for one in self.declarations}

    @cached_property
    def _spellings(self) -> Counter[str]:
        names = Counter(one.name for one in self.declarations)
        return names + Counter(one.qualified_name for one in self.declarations if one.owner)

    def at(self, place: DeclarationSite) -> Declared | None:
        """Return what is declared at a place."""
        return self._by_place.get((place.path, place.line, place.name))

    def around(self, path: str, line: int) -> Declared | None:
        """Return the outermost function around a line, else the innermost class; None for code outside of both."""
        inside = [one for one in self.files.get(path, ()) if one.first <= line <= one.last and one.kind != "field"]
        return next((one for one in inside if one.kind == "function"), inside[-1] if inside else None)

    def spelling(self, declared: Declared) -> str:
        """Return the shortest name that only this declaration has: its own, with its class, or with its file's path."""
        for name in (declared.name, declared.qualified_name):
            if self._spellings[name] == 1:
                return name
        return f"{declared.path}::{declared.qualified_name}"


def typescript_outline(repository: Path, tools: Path | None, timeout_s: float = 600) -> Outline:
    """Ask the TypeScript compiler for an outline.

    Args:
        repository: Its root.
        tools: Folder in which npm installed typescript.
        timeout_s: How long the compiler may take, in seconds.

    Raises:
        EvaluationError: Node or TypeScript is missing, or failed.
    """
    if tools is None or not (package := tools.resolve() / "node_modules" / "typescript").is_dir():
        raise EvaluationError(
            "--tools: no TypeScript there; install it with `npm install --prefix FOLDER typescript@5`"
        )
    command = ["node", str(_SCRIPT), str(package), str(repository.resolve())]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except OSError as error:
        raise EvaluationError(f"node: {error.strerror}; install it and put it on the PATH") from error
    except subprocess.TimeoutExpired as error:
        raise EvaluationError(f"{_SCRIPT.name}: not done after {timeout_s:g} s") from error
    if done.returncode:
        raise EvaluationError(f"{_SCRIPT.name}: status {done.returncode}: {done.stderr.strip()[:800]}")
    found = json.loads(done.stdout)
    return Outline(_declared(found["declarations"]), [Import(*row) for row in found["imports"]])


def _declared(rows: Iterable[Sequence[object]]) -> list[Declared]:
    return [Declared(*row) for row in rows]  # type: ignore[arg-type]
