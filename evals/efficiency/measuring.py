"""Measurement of all agents on a golden set: the share of wanted lines that each sees, by tokens spent."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from ..golden import GoldenSet  # noqa: TID252  # installed, it has another name
from ..repository import Repository, resolve_targets  # noqa: TID252  # installed, it has another name
from .asking import McpContextAgent, PythonContextAgent, SearchAgent, SearchAndReadAgent
from .calling import McpTools
from .grepping import Grep
from .reading import POLICIES, GrepAgent
from .spending import BUDGETS, Line, compute_recall_by_budget, find_wanted_lines


class Agent(Protocol):
    """Agent that spends tokens on a question, line by line.

    Attributes:
        name: Name of its curve.
    """

    name: str

    def stream_lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that cost tokens."""
        ...


class QuestionRecall(BaseModel):
    """Recall of the answer lines of one question.

    Attributes:
        id: Id of the question in its golden set.
        wanted: Number of answer lines, without blank ones.
        recall: Share of them that was seen, by name of the curve, with a value for each of `BUDGETS`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    golden: str
    repository: str
    question: str
    tags: tuple[str, ...] = ()
    wanted: int
    recall: Mapping[str, tuple[float, ...]]


@dataclass(frozen=True, slots=True)
class Measured:
    """Measurements on one golden set.

    Attributes:
        questions: Questions with lines among their answers.
        left_out: Number of answerable questions whose answers are whole files or stale.
    """

    questions: Sequence[QuestionRecall]
    left_out: int


def measure(golden: GoldenSet, repository: Repository, progress: Callable[[int], None] | None = None) -> Measured:
    """Measure the recall of each agent at each budget.

    Args:
        golden: The questions; unanswerable ones are skipped.
        repository: The indexed repository that they are about.
        progress: Called with the number of finished questions.
    """
    grep = Grep(repository)
    readers = [GrepAgent(policy, grep, repository) for policy in POLICIES]
    tools = McpTools(repository)
    agents: list[Agent] = [*readers, SearchAgent(tools), SearchAndReadAgent(tools)]
    contexts: list[McpContextAgent | PythonContextAgent] = [McpContextAgent(tools), PythonContextAgent(repository)]
    anchored = resolve_targets(golden, repository)
    questions: list[QuestionRecall] = []
    answerable = [question for question in anchored.questions if not question.unanswerable]
    for number, question in enumerate(answerable, 1):
        wanted = find_wanted_lines(question.answers, repository)
        if wanted:
            recall = {
                agent.name: compute_recall_by_budget(agent.stream_lines(question.question), wanted) for agent in agents
            }
            recall |= {
                context_agent.name: context_agent.measure_recall(question.question, wanted, BUDGETS)
                for context_agent in contexts
            }
            questions.append(
                QuestionRecall(
                    id=question.id,
                    golden=golden.name,
                    repository=repository.name,
                    question=question.question,
                    tags=question.tags,
                    wanted=len(wanted),
                    recall={name: tuple(round(value, 6) for value in values) for name, values in recall.items()},
                )
            )
        if progress:
            progress(number)
    return Measured(questions, len(answerable) - len(questions) + len(anchored.skipped))
