"""Scores of sessions: what the agent named, what it claimed wrongly, and what it spent."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coderag.errors import ConfigurationError
from evals.golden import Target, format_faults

from .session import Session
from .tasks import Task, get_task
from .toolsets import Arm

METRICS: Final = {
    "answered": "answered",
    "all_places": "all places named",
    "any_place": "any place named",
    "precision": "precision of named places",
    "wrong_places": "wrong places",
    "wrong_claims": "wrong claims",
    "calls": "calls",
    "failed_calls": "calls with an error",
    "received": "characters received",
    "sent": "characters sent",
    "definitions": "characters of tool definitions",
    "tool_seconds": "seconds in tools",
    "seconds": "seconds of wall time",
    "input_tokens": "input tokens of the model",
    "output_tokens": "output tokens of the model",
}
"""Titles of the metrics, in the order of the tables."""

_MAX_EXTRA_LINES = 20  # around a declaration, for its comments and decorators


class ClaimJudgement(BaseModel):
    """ClaimJudgement of a statement, or the form for one.

    Attributes:
        session: Id of the session.
        wrong_claims: Number of claims of the statement that contradict the reference or the code; None if not judged.
        judge: Name of the person or model.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    session: str
    wrong_claims: int | None = Field(None, ge=0)
    judge: str = ""


@dataclass(frozen=True, slots=True)
class SessionScore:
    """Scores of a session by metric; a metric that does not apply is missing."""

    session: str
    task: str
    kind: str
    repository: str
    arm: Arm
    agent: str
    metrics: Mapping[str, float]


def is_named(declaration: Target, place: Target) -> bool:
    """Return whether a place names a declaration.

    It does if it lies inside, or overlaps it and has at most 20 further lines, or as many as the declaration has.
    """
    if place.path != declaration.path or declaration.lines is None or place.lines is None:
        return place.path == declaration.path and declaration.lines is None
    common = len(range(max(place.lines.start, declaration.lines.start), min(place.lines.stop, declaration.lines.stop)))
    return common > 0 and len(place.lines) - common <= max(_MAX_EXTRA_LINES, len(declaration.lines))


def score_places(task: Task, places: Sequence[Target]) -> dict[str, float]:
    """Return the metrics of named places. Where nothing answers, naming nothing is right."""
    named = [any(is_named(declaration, place) for place in places) for declaration in task.places]
    accepted = (*task.places, *task.also)
    right = sum(any(is_named(declaration, place) for declaration in accepted) for place in places)
    metrics = {
        "all_places": float(all(named) if task.places else not places),
        "any_place": float(any(named) if task.places else not places),
        "wrong_places": float(len(places) - right),
    }
    return metrics | ({"precision": right / len(places)} if places else {})


def score_session(session: Session, task: Task, judgements: Mapping[str, ClaimJudgement]) -> SessionScore | None:
    """Score a session; return None if it goes on, or if a fault beyond the agent's control ended it."""
    submitted, end, calls, record = session.read_answer(), session.read_outcome(), session.read_calls(), session.record
    is_over = submitted or (end.ending != "failed" if end else session.seconds > record.max_seconds)
    if not is_over:
        return None
    if submitted:
        metrics = score_places(task, submitted.answer.parse_places())
        seconds = submitted.seconds
    else:
        metrics = {"all_places": 0.0, "any_place": 0.0}
        seconds = end.seconds if end else record.max_seconds
    metrics |= {
        "answered": float(submitted is not None),
        "calls": float(len(calls)),
        "failed_calls": float(sum(call.is_error for call in calls)),
        "received": float(sum(call.received for call in calls)),
        "sent": float(sum(call.sent for call in calls) + (submitted.sent if submitted else 0)),
        "definitions": float(record.definition_chars),
        "tool_seconds": sum(call.milliseconds for call in calls) / 1000,
        "seconds": seconds,
    }
    judgement = judgements.get(record.id)
    if judgement and judgement.wrong_claims is not None:
        metrics["wrong_claims"] = float(judgement.wrong_claims)
    if end and end.input_tokens:
        metrics |= {"input_tokens": float(end.input_tokens), "output_tokens": float(end.output_tokens)}
    return SessionScore(record.id, task.id, task.kind, task.repository, record.arm, record.agent, metrics)


def load_judgements(path: Path) -> dict[str, ClaimJudgement]:
    """Load judgements by session, from JSON lines.

    Raises:
        ConfigurationError: The file cannot be read, or one of its lines is invalid.
    """
    judgements: dict[str, ClaimJudgement] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"judgements {path}: {error}") from error
    for number, line in enumerate(lines, 1):
        try:
            judgement = ClaimJudgement.model_validate_json(line)
        except ValidationError as error:
            raise ConfigurationError(f"judgements {path}, line {number}: {'; '.join(format_faults(error))}") from error
        judgements[judgement.session] = judgement
    return judgements


def build_judging_forms(sessions: Iterable[Session], tasks: Mapping[str, Task]) -> list[str]:
    """Build a form, one JSON object, for each statement; neither arm nor agent is in it, nor in the order."""
    forms = {}
    for session in sessions:
        if submitted := session.read_answer():
            task = get_task(tasks, session.record.task)
            form = {
                "session": session.record.id,
                "question": task.question,
                "reference": task.reference,
                "statement": submitted.answer.statement,
                "wrong_claims": None,
                "judge": "",
            }
            forms[session.record.id] = json.dumps(form, ensure_ascii=False)
    return [forms[session_id] for session_id in sorted(forms)]
