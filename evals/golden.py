"""Golden sets: questions about a repository with labelled answers, as JSON lines or a YAML list."""

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
    """Invalid golden set; the message names the file and the line."""


class Target(BaseModel):
    """Labelled answer: a whole file, lines of it, or a declaration in it.

    Attributes:
        path: Relative to the repository root, with ``/``.
        start_line, end_line: 1-based, inclusive; both or neither.
        symbol: Qualified name of the declaration, or the end of it, such as ``Session.login``. It locates the lines again
            after edits above them; without lines, the target is the whole declaration.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: str
    start_line: int | None = Field(None, ge=1)
    end_line: int | None = Field(None, ge=1)
    symbol: str = ""

    @field_validator("path")
    @classmethod
    def _normalize_path(cls, path: str) -> str:
        parts = PurePosixPath(path).parts
        if not parts or path.startswith("/") or ".." in parts or "\\" in path or parts[0].endswith(":"):
            raise ValueError(f"{path!r} is not a relative path inside the repository with '/'")
        return str(PurePosixPath(path))

    @model_validator(mode="after")
    def _check_span(self) -> "Target":
        if (self.start_line is None) != (self.end_line is None):
            raise ValueError("start_line and end_line go together")
        if self.start_line is not None and self.end_line is not None and self.end_line < self.start_line:
            raise ValueError(f"end_line {self.end_line} is before start_line {self.start_line}")
        return self

    @property
    def lines(self) -> range | None:
        """The lines; None for a whole file, or for a declaration that is not resolved yet."""
        if self.start_line is None or self.end_line is None:
            return None
        return range(self.start_line, self.end_line + 1)

    @property
    def location(self) -> str:
        """Location as ``path:start-end symbol``, without the parts that are not set."""
        lines = f":{self.start_line}-{self.end_line}" if self.start_line else ""
        return f"{self.path}{lines}" + (f" {self.symbol}" if self.symbol else "")


class Question(BaseModel):
    """Question of a golden set.

    Attributes:
        answers: Targets that must be retrieved.
        also: Targets that are right but not required: they never count against an engine.
        unanswerable: Whether the repository has no answer; a good engine reports that.
        reference: Reference answer in one to three sentences; empty if there is none.
        tags: Free-form labels for grouping.
        origin: Source of the question and its labels.
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
    def _check_answers(self) -> "Question":
        if not self.question.strip():
            raise ValueError("the question is empty")
        if self.unanswerable and (self.answers or self.also):
            raise ValueError("an unanswerable question has neither 'answers' nor 'also'")
        if not self.unanswerable and not self.answers:
            raise ValueError("no answers; mark a question without an answer with 'unanswerable': true")
        return self


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """Questions about one repository.

    Attributes:
        name: The file's name without its extension.
        digest: SHA-256 of the file's bytes; runs with equal digests had the same questions.
    """

    name: str
    questions: Sequence[Question]
    digest: str = ""


class _Entry(NamedTuple):
    """Raw question, and its line in the file."""

    line: int
    value: Any


def load_golden(path: Path) -> GoldenSet:
    """Load a golden set: ``.yaml`` and ``.yml`` files hold a list, all others one JSON object per line.

    A question without an ``id`` gets one from the file's name and its line.

    Raises:
        GoldenSetError: The file is missing or empty, or an entry is invalid; the message names the line.
    """
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise GoldenSetError(f"golden set {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise GoldenSetError(f"golden set {path}: not UTF-8 (byte {error.start})") from error
    entries = _read_yaml_entries if path.suffix.lower() in (".yaml", ".yml") else _read_json_entries
    questions: list[Question] = []
    lines: dict[str, int] = {}
    for line, value in entries(path, text):
        question = _parse_question(path, line, value)
        if question.id in lines:
            raise _make_error(path, line, f"id {question.id!r} is already used in line {lines[question.id]}")
        lines[question.id] = line
        questions.append(question)
    if not questions:
        raise GoldenSetError(
            f"golden set {path}: no questions", hint="Write one JSON object per line: docs/evaluation.md."
        )
    return GoldenSet(path.stem, tuple(questions), hashlib.sha256(content).hexdigest())


def dump_golden(questions: Iterable[Question]) -> str:
    """Serialize questions as JSON lines for `load_golden`, without empty fields."""
    records = (question.model_dump(mode="json", exclude_defaults=True) for question in questions)
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def _read_json_entries(path: Path, text: str) -> Iterator[_Entry]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                yield _Entry(number, json.loads(line))
            except ValueError as error:
                raise _make_error(path, number, f"invalid JSON ({error})") from error


def _read_yaml_entries(path: Path, text: str) -> Iterator[_Entry]:
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return
        if not isinstance(root, yaml.SequenceNode):
            raise _make_error(path, 1, "expected a list of questions")
        for node in root.value:
            yield _Entry(node.start_mark.line + 1, loader.construct_object(node, deep=True))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or error
        raise _make_error(path, mark.line + 1 if mark else 1, f"invalid YAML ({problem})") from error
    finally:
        loader.dispose()


def _parse_question(path: Path, line: int, value: Any) -> Question:  # noqa: ANN401  # any parsed value
    if not isinstance(value, dict):
        raise _make_error(path, line, "expected an object with 'question' and 'answers'")
    try:
        return Question.model_validate({"id": f"{path.stem}-{line}", **value})
    except ValidationError as error:
        raise _make_error(path, line, "; ".join(format_faults(error))) from error


def format_faults(error: ValidationError) -> list[str]:
    """Return one message per validation error, with the path of its key."""
    messages = []
    for fault in error.errors():
        key_path = ".".join(str(key) for key in fault["loc"])
        problem = "no such key" if fault["type"] == "extra_forbidden" else fault["msg"].removeprefix("Value error, ")
        messages.append(f"{key_path}: {problem}" if key_path else problem)
    return messages


def _make_error(path: Path, line: int, problem: str) -> GoldenSetError:
    return GoldenSetError(f"golden set {path}, line {line}: {problem}", hint="The format is in docs/evaluation.md.")
