"""What jedi and pyright say that the calls on some lines of a Python repository reach."""

import functools
import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from .language_server import LanguageServer
from .python_source import Call, PythonFile
from .truth import EvaluationError, Place, Site, Target, read_json

_JEDI = Path(__file__).with_name("python_jedi.py")
_PYRIGHT = Path("node_modules", "pyright")

_Answer = list[tuple[str, int, int]]
"""Where a name is defined: file, line from 1, column from 0."""


class Resolver:
    """Two tools that know where the names of one repository are defined.

    Args:
        repository: Its root.
        python: The interpreter of its environment, which must have jedi.
        tools: The folder in which npm installed pyright.
        cache: File of earlier answers; it is read and written. Valid as long as the repository and its environment are.
    """

    def __init__(self, repository: Path, python: Path, tools: Path, cache: Path | None = None) -> None:
        self._repository, self._python, self._tools, self._cache = repository.resolve(), python, tools, cache
        known = read_json(cache) if cache is not None and cache.exists() else {}
        self._answers: dict[str, dict[str, _Answer]] = {"jedi": {}, "pyright": {}, **known}

    def sites(self, lines: Iterable[tuple[str, int]]) -> list[Site]:
        """Return the calls on lines of files, each once for each tool.

        Raises:
            EvaluationError: A tool is missing or fails.
        """
        calls = [(path, call) for path, line in sorted(set(lines)) for call in self._calls_on(path, line)]
        for tool, ask in (("jedi", self._ask_jedi), ("pyright", self._ask_pyright)):
            known = self._answers[tool]
            missing = [(path, call) for path, call in calls if _key(path, call) not in known]
            if missing:
                answers = ask(missing)
                known.update((_key(*each), answer) for each, answer in zip(missing, answers, strict=True))
        if self._cache is not None:
            self._cache.write_text(json.dumps(self._answers), encoding="utf-8")
        return [
            self._site(path, call, self._answers[tool][_key(path, call)])
            for tool in self._answers
            for path, call in calls
        ]

    def _calls_on(self, path: str, line: int) -> Sequence[Call]:
        file = self._file(path)
        return file.calls_on(line) if file else []

    @functools.cache  # noqa: B019  # lives as long as one measurement
    def _file(self, path: str) -> PythonFile | None:
        try:
            return PythonFile((self._repository / path).read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None

    def _site(self, path: str, call: Call, answer: _Answer) -> Site:
        rows = [(Path(file).resolve(), line, column) for file, line, column in answer]
        inside = [row for row in rows if row[0].is_relative_to(self._repository)]
        declared = [place for row in inside if (place := self._place(*row)) is not None]
        targets = tuple(Target(place, call.kind) for place in declared)
        held = len(declared) < len(inside)
        return Site(path, call.line, call.name, targets, outside=len(inside) < len(rows), held=held)

    def _place(self, file: Path, line: int, column: int) -> Place | None:
        """Return a function or class at a place of the repository; `None` for a variable or a module."""
        relative = file.relative_to(self._repository).as_posix()
        source = self._file(relative)
        name = source.name_at(line, column) if source else ""
        return Place(relative, line, name) if source and source.declares(line, name) else None

    def _ask_jedi(self, calls: Sequence[tuple[str, Call]]) -> list[_Answer]:
        rows = "".join(json.dumps([path, call.line, call.column]) + "\n" for path, call in calls)
        command = [str(self._python), str(_JEDI), str(self._repository)]
        try:
            done = subprocess.run(command, input=rows, capture_output=True, text=True, check=False)
        except OSError as error:
            raise EvaluationError(f"{self._python}: {error.strerror}; name an interpreter with --python") from error
        if done.returncode:
            hint = (
                f"install it with `{self._python} -m pip install jedi`"
                if "No module named 'jedi'" in done.stderr
                else ""
            )
            raise EvaluationError(f"jedi failed; {hint or done.stderr.strip()[-800:]}")
        return [[(file, line, column) for file, line, column in json.loads(row)] for row in done.stdout.splitlines()]

    def _ask_pyright(self, calls: Sequence[tuple[str, Call]]) -> list[_Answer]:
        server = self._tools / _PYRIGHT / "langserver.index.js"
        if not server.is_file():
            raise EvaluationError(f"{server}: missing; install it with `npm install --prefix {self._tools} pyright`")
        settings = {"python": {"pythonPath": str(self._python.absolute())}}
        with LanguageServer(["node", str(server.resolve()), "--stdio"], self._repository, "python", settings) as client:
            return [
                [(str(file), at, column) for file, at, column in client.definitions(path, call.line, call.column)]
                for path, call in calls
            ]


def _key(path: str, call: Call) -> str:
    return f"{path}:{call.line}:{call.column}"
