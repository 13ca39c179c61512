"""Targets of the calls on some lines of a Python repository, according to jedi and pyright."""

import functools
import json
import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from .ground_truth import CallSite, CallTarget, DeclarationSite, EvaluationError, read_json
from .language_server import LanguageServer
from .python_source import CallExpression, PythonFile

_JEDI = Path(__file__).with_name("python_jedi.py")
_PYRIGHT = Path("node_modules", "pyright")

_Definitions = list[tuple[str, int, int]]
"""Definitions of a name: file, line from 1, column from 0."""


class PythonDefinitionFinder:
    """Finds definitions in one repository by jedi and pyright.

    Args:
        repository: Its root.
        python: The interpreter of its environment, which must have jedi.
        tools: The folder with pyright, installed by npm.
        cache: File of earlier results, read and written. Valid while the repository and its environment are unchanged.
    """

    def __init__(self, repository: Path, python: Path, tools: Path, cache: Path | None = None) -> None:
        self._repository, self._python, self._tools, self._cache = repository.resolve(), python, tools, cache
        cached = read_json(cache) if cache is not None and cache.exists() else {}
        self._definitions: dict[str, dict[str, _Definitions]] = {"jedi": {}, "pyright": {}, **cached}

    def find_sites(self, lines: Iterable[tuple[str, int]]) -> list[CallSite]:
        """Return the calls on lines of files, each once for each tool.

        Raises:
            EvaluationError: A tool is missing or fails.
        """
        calls = [(path, call) for path, line in sorted(set(lines)) for call in self._find_calls(path, line)]
        for tool, query in (("jedi", self._query_jedi), ("pyright", self._query_pyright)):
            tool_definitions = self._definitions[tool]
            missing = [(path, call) for path, call in calls if _build_key(path, call) not in tool_definitions]
            if missing:
                results = query(missing)
                tool_definitions.update(
                    (_build_key(*request), result) for request, result in zip(missing, results, strict=True)
                )
        if self._cache is not None:
            self._cache.write_text(json.dumps(self._definitions), encoding="utf-8")
        return [
            self._build_site(path, call, self._definitions[tool][_build_key(path, call)])
            for tool in self._definitions
            for path, call in calls
        ]

    def _find_calls(self, path: str, line: int) -> Sequence[CallExpression]:
        file = self._parse_file(path)
        return file.find_calls(line) if file else []

    @functools.cache  # noqa: B019  # lives as long as one measurement
    def _parse_file(self, path: str) -> PythonFile | None:
        try:
            return PythonFile((self._repository / path).read_bytes())
        except (OSError, SyntaxError, ValueError):
            return None

    def _build_site(self, path: str, call: CallExpression, definitions: _Definitions) -> CallSite:
        locations = [(Path(file).resolve(), line, column) for file, line, column in definitions]
        inner_locations = [location for location in locations if location[0].is_relative_to(self._repository)]
        places = [place for location in inner_locations if (place := self._find_place(*location)) is not None]
        targets = tuple(CallTarget(place, call.kind) for place in places)
        is_held = len(places) < len(inner_locations)
        return CallSite(
            path, call.line, call.name, targets, outside=len(inner_locations) < len(locations), held=is_held
        )

    def _find_place(self, file: Path, line: int, column: int) -> DeclarationSite | None:
        """Return the function or class at a place of the repository; None for a variable or a module."""
        relative = file.relative_to(self._repository).as_posix()
        source = self._parse_file(relative)
        name = source.get_identifier(line, column) if source else ""
        return DeclarationSite(relative, line, name) if source and source.has_declaration(line, name) else None

    def _query_jedi(self, calls: Sequence[tuple[str, CallExpression]]) -> list[_Definitions]:
        rows = "".join(json.dumps([path, call.line, call.column]) + "\n" for path, call in calls)
        command = [str(self._python), str(_JEDI), str(self._repository)]
        try:
            completed = subprocess.run(command, input=rows, capture_output=True, text=True, check=False)
        except OSError as error:
            raise EvaluationError(f"{self._python}: {error.strerror}; name an interpreter with --python") from error
        if completed.returncode:
            hint = (
                f"install it with `{self._python} -m pip install jedi`"
                if "No module named 'jedi'" in completed.stderr
                else ""
            )
            raise EvaluationError(f"jedi failed: {hint or completed.stderr.strip()[-800:]}")
        return [
            [(file, line, column) for file, line, column in json.loads(row)] for row in completed.stdout.splitlines()
        ]

    def _query_pyright(self, calls: Sequence[tuple[str, CallExpression]]) -> list[_Definitions]:
        server = self._tools / _PYRIGHT / "langserver.index.js"
        if not server.is_file():
            raise EvaluationError(f"{server}: missing; install it with `npm install --prefix {self._tools} pyright`")
        settings = {"python": {"pythonPath": str(self._python.absolute())}}
        with LanguageServer(["node", str(server.resolve()), "--stdio"], self._repository, "python", settings) as client:
            return [
                [
                    (str(file), line, column)
                    for file, line, column in client.find_definitions(path, call.line, call.column)
                ]
                for path, call in calls
            ]


def _build_key(path: str, call: CallExpression) -> str:
    return f"{path}:{call.line}:{call.column}"
