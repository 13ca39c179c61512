"""Runs: results of an engine for each question of a golden set, serialized as JSON."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from coderag.errors import InvalidQueryError
from coderag.schema.vocabulary import Evidence, Intent

from .golden import Target, format_faults
from .metrics import compute_latency
from .statistics import MeanEstimate, estimate

Grouping = Literal["intent", "language", "tag", "repository"]
"""Field by which the questions of a run can be grouped."""

SettingValue = str | int | float | bool | tuple[str, ...] | None

GROUPINGS: Final[tuple[Grouping, ...]] = get_args(Grouping)


class RunFileError(InvalidQueryError):
    """File that is not a valid run of this version."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RankedResult(_Record):
    """Ranked result of an engine.

    Attributes:
        name: Qualified name of the declaration; empty if the engine has none.
        score: Score, comparable within one question only.
        channels: Score in each channel that retrieved it.
        signals: Contribution of each ranking signal.
        answers: Positions of the question's answers that it covers; -1 stands for one of ``also``.
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
        """Location as ``path:start-end``."""
        return f"{self.path}:{self.start_line}-{self.end_line}"


class AnswerCheck(_Record):
    """Check of a generated answer.

    Attributes:
        verified, citations: Number of citations that hold, and of all.
        supported, claims: Number of claims that the evidence supports, and of all.
        judge: Judge of the claims: ``words``, or the provider and model of the LLM.
    """

    text: str
    verified: int
    citations: int
    supported: int
    claims: int
    judge: str
    generator: str


class QuestionResult(_Record):
    """Results and metrics of one question.

    Attributes:
        intent: Labelled intent; ``detected_intent`` is the engine's, empty if it detects none.
        language: Language of the first answer's file; empty for an unanswerable question.
        answers, also: Targets of the golden set, with their current lines in this repository.
        results: Results, best first.
        evidence: The engine's verdict; None if it gives none.
        ms: Median time of a search, in milliseconds.
        metrics: Metrics by name, see `evals.metrics`; those that do not apply are missing.
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

    def list_groups(self, by: Grouping) -> tuple[str, ...]:
        """Return the groups that the question belongs to."""
        if by == "tag":
            return self.tags
        group = {"intent": str(self.intent), "language": self.language, "repository": self.repository}[by]
        return (group,) if group else ()


class StaleAnswer(_Record):
    """Answer of the golden set that this repository does not have, or no longer has."""

    question: str
    target: Target
    reason: str


class Run(_Record):
    """Evaluation of one engine on a golden set.

    Attributes:
        engine: Name of the engine: ``coderag``, ``bm25`` or ``semble``.
        version: Version of the engine.
        settings: Settings that affect the results, with dotted keys: ``search.max_per_file``, ``embedding``, ``top_k`` ...
        golden, golden_digest: Name and SHA-256 of the golden set.
        revision: Commit of the repository; empty if there is none.
        created: Time of the run, ISO 8601.
        stale: Answers that were left out; a question with no other answer is in ``skipped``.
        skipped: Ids of questions that could not be measured.
        index_seconds: Time of indexing in this run; 0 if the index existed.
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
        """Names of the metrics that at least one question has, in order of first occurrence."""
        return list(dict.fromkeys(name for question in self.questions for name in question.metrics))

    def get_values(self, metric: str, where: Callable[[QuestionResult], bool] | None = None) -> list[float]:
        """Return a metric's values over the questions that have it and satisfy the condition."""
        return [
            question.metrics[metric]
            for question in self.questions
            if metric in question.metrics and (where is None or where(question))
        ]

    def compute_overall(self) -> dict[str, MeanEstimate]:
        """Return each metric's mean over all questions, with its interval."""
        return _compute_estimates(self.questions)

    def compute_by_group(self, grouping: Grouping) -> dict[str, dict[str, MeanEstimate]]:
        """Return each metric's mean with its interval, for each group of questions in order of name."""
        return {group: _compute_estimates(questions) for group, questions in self.group_questions(grouping).items()}

    def group_questions(self, grouping: Grouping) -> dict[str, list[QuestionResult]]:
        """Return the questions of each group, in order of name."""
        groups: dict[str, list[QuestionResult]] = defaultdict(list)
        for question in self.questions:
            for group in question.list_groups(grouping):
                groups[group].append(question)
        return dict(sorted(groups.items()))

    def compute_latency(self) -> Mapping[str, float]:
        """Return percentiles of the questions' times in milliseconds: ``ms_p50``, ``ms_p90``, ``ms_p99``."""
        return compute_latency([question.ms for question in self.questions])

    def count_verdicts(self) -> dict[Evidence, tuple[int, int]]:
        """Count the answerable and the unanswerable questions of each verdict."""
        verdicts: dict[Evidence, tuple[int, int]] = {}
        for verdict in get_args(Evidence):
            with_it = [question.unanswerable for question in self.questions if question.evidence == verdict]
            verdicts[verdict] = (with_it.count(False), with_it.count(True))
        return verdicts

    def to_json(self) -> str:
        """Serialize the run as JSON for `load_run`."""
        return self.model_dump_json(indent=1, exclude_defaults=True) + "\n"

    @classmethod
    def join(cls, runs: Sequence["Run"], name: str) -> "Run":
        """Merge runs of one engine over several repositories."""
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
    """Load a run from a JSON file.

    Raises:
        RunFileError: The file cannot be read, or is not a valid run.
    """
    hint = "Write one with `coderag eval run GOLDEN --out FILE`."
    try:
        return Run.model_validate_json(path.read_bytes())
    except OSError as error:
        raise RunFileError(f"run {path}: {error.strerror or error}", hint=hint) from error
    except ValidationError as error:
        faults = format_faults(error)
        more = f" (and {len(faults) - 3} more)" if len(faults) > 3 else ""
        raise RunFileError(f"run {path}: {'; '.join(faults[:3])}{more}", hint=hint) from error


def _compute_estimates(questions: Iterable[QuestionResult]) -> dict[str, MeanEstimate]:
    values: dict[str, list[float]] = defaultdict(list)
    for question in questions:
        for name, value in question.metrics.items():
            values[name].append(value)
    return {name: estimate(known) for name, known in values.items()}
