"""Golden sets: questions about a repository with the places that answer them, as JSON lines or a YAML list."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from coderag.errors import InvalidQueryError
from coderag.schema.vocabulary import Intent


class GoldenSetError(InvalidQueryError):
    """A golden set that cannot be used; the message says which file and line."""


class Target(BaseModel):
    """A place that answers a question: a whole file, lines of it, or a declaration in it.

    Attributes:
        path: Seen from the repository's root, with ``/``.
        start_line, end_line: 1-based, inclusive; both or neither.
        symbol: Qualified name of the declaration, or the end of it, such as ``Session.login``. With it the lines are found
            again when the code above has moved; alone, they are those of the declaration.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    start_line: int | None = Field(None, ge=1)
    end_line: int | None = Field(None, ge=1)
    symbol: str = ""

    @field_validator("path")
    @classmethod
    def _inside(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\\" in path or parts[0].endswith(":"):
            raise ValueError(f"{path!r} is no path inside the repository, seen from its root and with '/'")
        return str(PurePosixPath(path))

    @model_validator(mode="after")
    def _whole_span(self) -> "Target":
        if (self.start_line is None) != (self.end_line is None):
            raise ValueError("start_line and end_line go together")
        if self.start_line is not None and self.end_line is not None and self.end_line < self.start_line:
            raise ValueError(f"end_line {self.end_line} is before start_line {self.start_line}")
        return self

    @property
    def lines(self) -> range | None:
        """The lines; None for a whole file, or for a declaration that was not looked up yet."""
        if self.start_line is None or self.end_line is None:
            return None
        return range(self.start_line, self.end_line + 1)

    @property
    def location(self) -> str:
        """The place as ``path:start-end``, or as much of it as is known."""
        lines = f":{self.start_line}-{self.end_line}" if self.start_line else ""
        return f"{self.path}{lines}" + (f" {self.symbol}" if self.symbol else "")


class Question(BaseModel):
    """One question of a golden set.

    Attributes:
        answers: What must be found.
        also: Right as well, but not needed: never counts against an engine.
        unanswerable: Nothing in the repository answers it, and a good engine says so.
        reference: An answer in one to three sentences; empty if there is none.
        tags: Free words to group questions by.
        origin: Where the question and its labels come from.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(min_length=1)
    question: str
    intent: Intent = "general"
    answers: tuple[Target, ...] = ()
    also: tuple[Target, ...] = ()
    unanswerable: bool = False
    reference: str = ""
    tags: tuple[str, ...] = ()
    origin: str = ""

    @model_validator(mode="after")
    def _answered_or_not(self) -> "Question":
        if not self.question.strip():
            raise ValueError("the question is empty")
        if self.unanswerable and (self.answers or self.also):
            raise ValueError("an unanswerable question has neither 'answers' nor 'also'")
        if not self.unanswerable and not self.answers:
            raise ValueError("no answers; a question that nothing answers needs 'unanswerable': true")
        return self


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """Questions about one repository.

    Attributes:
        name: The file's name without its extension.
        digest: SHA-256 of the file's bytes: two runs with equal ones had the same questions.
    """

    name: str
    questions: Sequence[Question]
    digest: str = ""


class _Entry(NamedTuple):
    """One question as read, and its line in the file."""

    line: int
    value: Any


def load_golden(path: Path) -> GoldenSet:
    """Return the golden set in a file: ``.yaml`` and ``.yml`` hold a list, all others one JSON object a line.

    A question without an ``id`` gets one from the file's name and its line.

    Raises:
        GoldenSetError: The file is missing or empty, or an entry cannot be used; the message names the line.
    """
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise GoldenSetError(f"golden set {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise GoldenSetError(f"golden set {path}: not UTF-8 (byte {error.start})") from error
    entries = _yaml_entries if path.suffix.lower() in (".yaml", ".yml") else _json_entries
    questions: list[Question] = []
    lines: dict[str, int] = {}
    for line, value in entries(path, text):
        question = _question(path, line, value)
        if question.id in lines:
            raise _fault(path, line, f"id {question.id!r} is that of line {lines[question.id]} already")
        lines[question.id] = line
        questions.append(question)
    if not questions:
        raise GoldenSetError(
            f"golden set {path}: no questions", hint="Write one JSON object a line: docs/evaluation.md."
        )
    return GoldenSet(path.stem, tuple(questions), hashlib.sha256(content).hexdigest())


def dump_golden(questions: Iterable[Question]) -> str:
    """Return questions as JSON lines that `load_golden` reads, without what is empty."""
    records = (question.model_dump(mode="json", exclude_defaults=True) for question in questions)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _json_entries(path: Path, text: str) -> Iterator[_Entry]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield _Entry(number, json.loads(line))
            except ValueError as error:
                raise _fault(path, number, f"no valid JSON ({error})") from error


def _yaml_entries(path: Path, text: str) -> Iterator[_Entry]:
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return
        if not isinstance(root, yaml.SequenceNode):
            raise _fault(path, 1, "a list of questions is wanted")
        for node in root.value:
            yield _Entry(node.start_mark.line + 1, loader.construct_object(node, deep=True))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or error
        raise _fault(path, mark.line + 1 if mark else 1, f"no valid YAML ({problem})") from error
    finally:
        loader.dispose()


def _question(path: Path, line: int, value: Any) -> Question:  # noqa: ANN401  # whatever the file holds
    if not isinstance(value, dict):
        raise _fault(path, line, "an object with 'question' and 'answers' is wanted")
    try:
        return Question.model_validate({"id": f"{path.stem}-{line}", **value})
    except ValidationError as error:
        raise _fault(path, line, "; ".join(faults(error))) from error


def faults(error: ValidationError) -> list[str]:
    """Return what is wrong with a record, each with the key it is at."""
    told = []
    for fault in error.errors():
        where = ".".join(str(key) for key in fault["loc"])
        what = "no such key" if fault["type"] == "extra_forbidden" else fault["msg"].removeprefix("Value error, ")
        told.append(f"{where}: {what}" if where else what)
    return told


def _fault(path: Path, line: int, what: str) -> GoldenSetError:
    return GoldenSetError(f"golden set {path}, line {line}: {what}", hint="The format is in docs/evaluation.md.")
