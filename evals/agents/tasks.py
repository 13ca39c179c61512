"""Tasks of the trial: questions about repositories, with the declarations and facts that answer them."""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coderag.errors import ConfigurationError
from evals.golden import Target, format_faults
from evals.sources import ProjectSource, check_out_project

TASKS: Final = Path(__file__).with_name("tasks.jsonl")
GOLDEN_SETS: Final = TASKS.parent.parent / "datasets" / "declarations"

_PLACE = re.compile(r"(?P<path>.+?):(?P<start>\d+)(?:-(?P<end>\d+))?")


class Task(BaseModel):
    """Question to an agent, with its labels.

    Attributes:
        id: Id of the golden question.
        repository: Name of the repository in ``sources.toml``.
        places: Declarations that answer the question; empty if the repository has no answer.
        also: Declarations that support the answer: naming them is not wrong.
        reference: Facts of the answer, for judges of statements.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    repository: str
    kind: str
    question: str = Field(min_length=1)
    places: tuple[Target, ...] = ()
    also: tuple[Target, ...] = ()
    reference: str = ""


def load_tasks(path: Path = TASKS) -> dict[str, Task]:
    """Load tasks by id, from JSON lines.

    Raises:
        ConfigurationError: The file cannot be read, or one of its lines is invalid.
    """
    tasks: dict[str, Task] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"tasks {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            task = Task.model_validate_json(line)
        except ValidationError as error:
            raise ConfigurationError(f"tasks {path}, line {number}: {'; '.join(format_faults(error))}") from error
        if task.id in tasks:
            raise ConfigurationError(f"tasks {path}, line {number}: id {task.id!r} is already used")
        tasks[task.id] = task
    return tasks


def dump_tasks(tasks: Iterable[Task]) -> str:
    """Serialize tasks as JSON lines for `load_tasks`, without empty fields."""
    records = (task.model_dump(mode="json", exclude_defaults=True) for task in tasks)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def get_task(tasks: Mapping[str, Task], task_id: str) -> Task:
    """Return a task.

    Raises:
        ConfigurationError: No task has that id.
    """
    if task_id not in tasks:
        raise ConfigurationError(
            f"no task {task_id!r}", hint="`python -m evals.agents list` prints the ids of all tasks."
        )
    return tasks[task_id]


def find_tree(name: str, sources: Mapping[str, ProjectSource], trees: Path, clones: Path | None = None) -> Path:
    """Return the folder of a repository: ``trees/name`` if it exists, else a checkout of its revision in `trees`.

    Raises:
        ConfigurationError: No source has that name.
        IngestionError: The revision is not available.
    """
    if (trees / name).is_dir():
        return (trees / name).resolve()
    if name not in sources:
        raise ConfigurationError(f"no folder {trees / name}, and sources.toml has no table [{name}]")
    return check_out_project(name, sources[name], trees, clones).resolve()


def parse_place(text: str) -> Target:
    """Parse a place ``path:start-end`` or ``path:line``.

    Raises:
        ValueError: The text is not a place; the message names it.
    """
    match = _PLACE.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a place; write path:start-end, such as src/cart.py:10-24")
    start = int(match["start"])
    try:
        return Target(path=match["path"], start_line=start, end_line=int(match["end"] or start))
    except ValidationError as error:
        raise ValueError(f"{text!r} is not a place: {'; '.join(format_faults(error))}") from error
