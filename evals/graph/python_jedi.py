"""Print jedi's definitions of names; a script for an interpreter that has jedi.

`python python_jedi.py REPOSITORY`, with rows of JSON on standard input: `[path, line, column]`, lines from 1, columns from 0.
The output has one row for each: `[[file, line, column], ...]`. It contains both the bindings of a name and its inferred values,
because a variable may hold the function.
"""

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

jedi: Any = importlib.import_module("jedi")


def _main() -> None:
    root = Path(sys.argv[1]).resolve()
    project = jedi.Project(root, environment_path=sys.prefix)
    scripts: dict[str, Any] = {}
    for row in sys.stdin:
        path, line, column = json.loads(row)
        if path not in scripts:
            scripts[path] = jedi.Script(path=root / path, project=project)
        print(json.dumps(_find_definitions(scripts[path], line, column)))


def _find_definitions(script: Any, line: int, column: int) -> list[list[object]]:  # noqa: ANN401  # jedi's types cannot be imported here
    definitions: list[Any] = []
    queries: tuple[Callable[[], list[Any]], ...] = (
        lambda: script.goto(line, column, follow_imports=True),
        lambda: script.infer(line, column),
    )
    for query in queries:
        try:
            definitions += [
                name for name in query() if name.type != "instance"
            ]  # the class of an instance is not the callee
        except Exception as error:  # noqa: BLE001  # bugs of jedi must not end the run
            print(f"jedi: {script.path}:{line}: {error!r}", file=sys.stderr)
    return [[str(name.module_path or ""), name.line or 0, name.column or 0] for name in definitions]


if __name__ == "__main__":
    _main()
