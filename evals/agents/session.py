"""Session of an agent with one task: its limits, its log of calls, its answer, as files in a folder."""

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coderag.errors import ConfigurationError
from evals.golden import Target, format_faults

from .tasks import parse_place
from .toolsets import Arm, CallReply, Toolset

MAX_PLACES: Final = 5

Ending = Literal["answered", "no answer", "failed"]
"""How a session ended; ``failed`` is a fault of the model or the agent's command, not of its work."""

_RECORD, _LOG, _ANSWER, _END, _REPLIES = "session.json", "log.jsonl", "answer.json", "end.json", "replies"


class SessionRecord(BaseModel):
    """Facts of a session that its agent may see.

    Attributes:
        id: Random, so that a judge of statements does not see the arm.
        agent: Name of the agent or model.
        root: Folder of the repository.
        started: Unix time at which the agent got the task.
        definition_chars: Characters of the tools' definitions and instructions.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    task: str
    arm: Arm
    agent: str = ""
    root: str
    max_calls: int = Field(40, ge=1)
    max_seconds: float = Field(1800.0, gt=0)
    started: float
    definition_chars: int = 0


class CallRecord(BaseModel):
    """Logged call of a tool.

    Attributes:
        sent, received: Characters of the tool's name with its arguments as JSON, and of the reply.
        milliseconds: Time of the tool alone.
        seconds: Time since the start of the session, at the end of the call.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    tool: str
    arguments: dict[str, Any]
    sent: int
    received: int
    milliseconds: float
    seconds: float
    is_error: bool = False


class TaskAnswer(BaseModel):
    """Answer to a task.

    Attributes:
        places: At most five places ``path:start-end``, the most important first; none if nothing answers.
        statement: The answer in one paragraph.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    places: tuple[str, ...] = Field(
        max_length=MAX_PLACES,
        description="At most 5 places path:start-end, the most important first; empty if the repository has no answer.",
    )
    statement: str = Field(min_length=1, description="The answer in one paragraph.")

    def parse_places(self) -> list[Target]:
        """Return the places. Raises `ValueError` if one is malformed."""
        return [parse_place(place) for place in self.places]


class SubmittedAnswer(BaseModel):
    """Accepted answer, with its cost in characters and the time since the start of the session."""

    answer: TaskAnswer
    sent: int
    seconds: float


class SessionOutcome(BaseModel):
    """End of a session as its driver saw it.

    Attributes:
        detail: Reason, if there is no answer.
        input_tokens, output_tokens: Token counts of the model over all requests; 0 if unknown.
    """

    ending: Ending
    detail: str = ""
    seconds: float
    input_tokens: int = 0
    output_tokens: int = 0


class Session:
    """Session in a folder. Several processes may open it in turn.

    Args:
        folder: Folder with the session's record.

    Raises:
        ConfigurationError: The folder has no valid session.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        try:
            self.record = self._read_record()
        except (OSError, ValidationError) as error:
            raise ConfigurationError(
                f"no session in {folder}", hint="`python -m evals.agents start` starts one."
            ) from error

    @classmethod
    def create(cls, folder: Path, task: str, arm: Arm, root: Path, **facts: Any) -> "Session":  # noqa: ANN401  # validated
        """Create a session whose time starts now.

        Raises:
            ConfigurationError: The folder has a session already, or a fact is invalid.
        """
        if (folder / _RECORD).exists():
            raise ConfigurationError(f"{folder} has a session already", hint="Choose another folder.")
        try:
            record = SessionRecord(
                id=uuid.uuid4().hex[:12], task=task, arm=arm, root=str(root), started=time.time(), **facts
            )
        except ValidationError as error:
            raise ConfigurationError(f"session: {'; '.join(format_faults(error))}") from error
        (folder / _REPLIES).mkdir(parents=True, exist_ok=True)
        (folder / _RECORD).write_text(record.model_dump_json(indent=1) + "\n", encoding="utf-8")
        return cls(folder)

    def begin(self, definition_chars: int) -> None:
        """Start the time again, now that the tools are ready."""
        self.record = self.record.model_copy(update={"started": time.time(), "definition_chars": definition_chars})
        (self.folder / _RECORD).write_text(self.record.model_dump_json(indent=1) + "\n", encoding="utf-8")

    @property
    def seconds(self) -> float:
        """Time since the start, which another process may have recorded."""
        return time.time() - self._read_record().started

    def _read_record(self) -> SessionRecord:
        return SessionRecord.model_validate_json((self.folder / _RECORD).read_text(encoding="utf-8"))

    def read_calls(self) -> list[CallRecord]:
        """Read the log."""
        path = self.folder / _LOG
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [CallRecord.model_validate_json(line) for line in lines]

    def read_answer(self) -> SubmittedAnswer | None:
        """Read the answer; None if there is none yet."""
        path = self.folder / _ANSWER
        return SubmittedAnswer.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else None

    def read_outcome(self) -> SessionOutcome | None:
        """Read the end that a driver recorded; None if there is none."""
        path = self.folder / _END
        return SessionOutcome.model_validate_json(path.read_text(encoding="utf-8")) if path.exists() else None

    def find_limit(self) -> str:
        """Return why no further call is possible; empty if one is."""
        if self.read_answer():
            return "the answer is in: the session is over"
        if self.seconds > self.record.max_seconds:
            return f"the time limit of {self.record.max_seconds:g} s is reached: answer now"
        if len(self.read_calls()) >= self.record.max_calls:
            return f"the limit of {self.record.max_calls} calls is reached: answer now"
        return ""

    def call(self, toolset: Toolset, tool: str, arguments: Mapping[str, Any]) -> CallReply:
        """Call a tool, log the call, and keep the reply. Beyond a limit, nothing is called or logged."""
        if limit := self.find_limit():
            return CallReply(limit, is_error=True)
        start = time.perf_counter()
        reply = toolset.call(tool, arguments)
        milliseconds = (time.perf_counter() - start) * 1000
        record = CallRecord(
            tool=tool,
            arguments=dict(arguments),
            sent=len(tool) + len(json.dumps(arguments, ensure_ascii=False)),
            received=len(reply.text),
            milliseconds=round(milliseconds, 1),
            seconds=round(self.seconds, 1),
            is_error=reply.is_error,
        )
        with (self.folder / _LOG).open("a", encoding="utf-8") as log:
            log.write(record.model_dump_json() + "\n")
        number = len(self.read_calls())
        (self.folder / _REPLIES / f"{number:03}.txt").write_text(reply.text, encoding="utf-8", errors="replace")
        return reply

    def submit_answer(self, given: object) -> TaskAnswer:
        """Check and save the answer of the agent. A second answer is refused.

        Raises:
            ConfigurationError: The answer is malformed or the second one; the message is for the agent.
        """
        if self.read_answer():
            raise ConfigurationError("the answer is in already")
        try:
            answer = TaskAnswer.model_validate(given)
            answer.parse_places()
        except ValidationError as error:
            raise ConfigurationError(f"answer: {'; '.join(format_faults(error))}") from error
        except ValueError as error:
            raise ConfigurationError(f"answer: {error}") from error
        submitted = SubmittedAnswer(answer=answer, sent=len(answer.model_dump_json()), seconds=round(self.seconds, 1))
        (self.folder / _ANSWER).write_text(submitted.model_dump_json(indent=1) + "\n", encoding="utf-8")
        return answer

    def finish(
        self, detail: str = "", *, has_failed: bool = False, input_tokens: int = 0, output_tokens: int = 0
    ) -> SessionOutcome:
        """Record the end of the session.

        Args:
            detail: Reason, if there is no answer.
            has_failed: Whether a fault beyond the agent's control ended it.
            input_tokens, output_tokens: Token counts of the model.
        """
        ending: Ending = "answered" if self.read_answer() else "failed" if has_failed else "no answer"
        end = SessionOutcome(
            ending=ending,
            detail="" if ending == "answered" else detail,
            seconds=round(self.seconds, 1),
            input_tokens=input_tokens,
            output_tokens=output_tokens,
        )
        (self.folder / _END).write_text(end.model_dump_json(indent=1) + "\n", encoding="utf-8")
        return end


def find_sessions(folders: Sequence[Path]) -> list[Session]:
    """Return all sessions below folders.

    Raises:
        ConfigurationError: There are none.
    """
    records = sorted({path for folder in folders for path in folder.rglob(_RECORD)})
    if not records:
        raise ConfigurationError(f"no sessions in {', '.join(map(str, folders))}")
    return [Session(path.parent) for path in records]
