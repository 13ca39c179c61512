"""Runs: what an engine found for each question of a golden set, as plain data that is written to JSON and read again."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coderag.errors import InvalidQueryError
from coderag.schema.vocabulary import Evidence, Intent

from .golden import Target, faults
from .metrics import latency
from .statistics import Estimate, estimate

Grouping = Literal["intent", "language", "tag", "repository"]
"""What the questions of a run can be grouped by."""

SettingValue = str | int | float | bool | tuple[str, ...] | None

GROUPINGS: Final[tuple[Grouping, ...]] = get_args(Grouping)


class RunFileError(InvalidQueryError):
    """A file that is no run of this version."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RankedResult(_Record):
    """One result, as an engine ranked it.

    Attributes:
        name: Qualified name of the declaration; empty where the engine knows none.
        score: Comparable within one question only.
        channels: Score in each channel that found it.
        signals: What each ranking signal added.
        answers: Which of the question's answers it covers, by position; -1 stands for one of ``also``.
    """

    path: str
    start_line: int
    end_line: int
    name: str = ""
    score: float = 0.0
    channels: Mapping[str, float] = {}
    signals: Mapping[str, float] = {}
    answers: tuple[int, ...] = ()

    @property
    def location(self) -> str:
        """The place as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


class AnswerCheck(_Record):
    """What was checked of an answer in words.

    Attributes:
        verified, citations: Citations that hold, and all.
        supported, claims: Claims that the evidence supports, and all.
        judge: Who judged the claims: ``words``, or the provider and model of the LLM.
    """

    text: str
    verified: int
    citations: int
    supported: int
    claims: int
    judge: str
    generator: str


class QuestionResult(_Record):
    """What came of one question.

    Attributes:
        intent: As labelled; ``detected_intent`` is what the engine took it for, empty where it tells none.
        language: Of the file of the first answer; empty for an unanswerable question.
        answers, also: As in the golden set, with the lines as they are in this repository.
        results: Best first.
        evidence: The engine's verdict; None where it gives none.
        ms: Median time of a search, in milliseconds.
        metrics: By name, see `evals.metrics`; one that does not apply is missing.
    """

    id: str
    question: str
    intent: Intent
    repository: str = ""
    language: str = ""
    tags: tuple[str, ...] = ()
    unanswerable: bool = False
    answers: tuple[Target, ...] = ()
    also: tuple[Target, ...] = ()
    reference: str = ""
    results: tuple[RankedResult, ...] = ()
    detected_intent: str = ""
    evidence: Evidence | None = None
    ms: float = 0.0
    metrics: Mapping[str, float] = {}
    answer: AnswerCheck | None = None

    def groups(self, by: Grouping) -> tuple[str, ...]:
        """Return the groups that it belongs to."""
        if by == "tag":
            return self.tags
        group = {"intent": str(self.intent), "language": self.language, "repository": self.repository}[by]
        return (group,) if group else ()


class StaleAnswer(_Record):
    """An answer of the golden set that this repository does not have (any more)."""

    question: str
    target: Target
    reason: str


class Run(_Record):
    """A golden set, asked of one engine.

    Attributes:
        engine: Its name, ``coderag``, ``bm25`` or ``semble``.
        version: Of the engine.
        settings: What the result depends on, flat: ``search.fusion``, ``embedding``, ``top_k`` ...
        golden, golden_digest: Name and SHA-256 of the golden set.
        revision: Commit of the repository; empty where there is none.
        created: ISO 8601.
        stale: Answers that were left out; a question with no other answer is in ``skipped``.
        skipped: Ids of questions that could not be measured.
        index_seconds: Of the indexing in this run; 0 if there was an index.
    """

    format: Literal[1] = 1
    engine: str
    version: str = ""
    settings: Mapping[str, SettingValue] = {}
    golden: str = ""
    golden_digest: str = ""
    repository: str = ""
    revision: str = ""
    created: str = ""
    questions: tuple[QuestionResult, ...]
    stale: tuple[StaleAnswer, ...] = ()
    skipped: tuple[str, ...] = ()
    index_seconds: float = Field(0.0, ge=0)

    @property
    def metric_names(self) -> list[str]:
        """Names of the metrics that at least one question has, in the order of the first that has each."""
        return list(dict.fromkeys(name for question in self.questions for name in question.metrics))

    def values(self, metric: str, where: Callable[[QuestionResult], bool] | None = None) -> list[float]:
        """Return a metric's value for each question that has one and fulfils the condition."""
        return [
            question.metrics[metric]
            for question in self.questions
            if metric in question.metrics and (where is None or where(question))
        ]

    def overall(self) -> dict[str, Estimate]:
        """Return each metric's mean over all questions, with its interval."""
        return _estimates(self.questions)

    def by(self, grouping: Grouping) -> dict[str, dict[str, Estimate]]:
        """Return each metric's mean for each group of questions, groups by name."""
        return {group: _estimates(questions) for group, questions in self.grouped(grouping).items()}

    def grouped(self, grouping: Grouping) -> dict[str, list[QuestionResult]]:
        """Return the questions of each group, groups by name."""
        groups: dict[str, list[QuestionResult]] = defaultdict(list)
        for question in self.questions:
            for group in question.groups(grouping):
                groups[group].append(question)
        return dict(sorted(groups.items()))

    def latency(self) -> Mapping[str, float]:
        """Return percentiles of the questions' times in milliseconds: ``ms_p50``, ``ms_p90``, ``ms_p99``."""
        return latency([question.ms for question in self.questions])

    def calibration(self) -> dict[Evidence, tuple[int, int]]:
        """Return for each verdict the number of answerable and of unanswerable questions that got it."""
        verdicts: dict[Evidence, tuple[int, int]] = {}
        for verdict in get_args(Evidence):
            with_it = [question.unanswerable for question in self.questions if question.evidence == verdict]
            verdicts[verdict] = (with_it.count(False), with_it.count(True))
        return verdicts

    def to_json(self) -> str:
        """Return the run as JSON, which `load_run` reads."""
        return self.model_dump_json(indent=1, exclude_defaults=True) + "\n"

    @classmethod
    def joined(cls, runs: Sequence["Run"], name: str) -> "Run":
        """Return runs of one engine over several repositories as one, whose questions tell their repository."""
        first = runs[0]
        return first.model_copy(
            update={
                "golden": name,
                "golden_digest": "",
                "repository": "",
                "revision": "",
                "questions": tuple(question for run in runs for question in run.questions),
                "stale": tuple(stale for run in runs for stale in run.stale),
                "skipped": tuple(skipped for run in runs for skipped in run.skipped),
                "index_seconds": sum(run.index_seconds for run in runs),
            }
        )


def load_run(path: Path) -> Run:
    """Return the run in a JSON file.

    Raises:
        RunFileError: The file cannot be read, or is no run.
    """
    hint = "Write one with `coderag eval run GOLDEN --out FILE`."
    try:
        return Run.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RunFileError(f"run {path}: {error.strerror or error}", hint=hint) from error
    except ValidationError as error:
        told = faults(error)
        more = f" (and {len(told) - 3} more)" if len(told) > 3 else ""
        raise RunFileError(f"run {path}: {'; '.join(told[:3])}{more}", hint=hint) from error


def _estimates(questions: Iterable[QuestionResult]) -> dict[str, Estimate]:
    values: dict[str, list[float]] = defaultdict(list)
    for question in questions:
        for name, value in question.metrics.items():
            values[name].append(value)
    return {name: estimate(known) for name, known in values.items()}
