"""Ask all agents the questions of a golden set: the share of the wanted lines that each has seen, by tokens spent."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from ..golden import GoldenSet  # noqa: TID252  # installed, it has another name
from ..repository import Repository, anchor  # noqa: TID252  # installed, it has another name
from .asking import ContextAsker, ContextCaller, PlaceReader, SearchReader
from .calling import Tools
from .grepping import Grep
from .reading import POLICIES, GrepReader
from .spending import BUDGETS, Line, recall_by_budget, wanted_lines


class Agent(Protocol):
    """Somebody who spends tokens on a question, line by line.

    Attributes:
        name: Of the curve.
    """

    name: str

    def lines(self, question: str) -> Iterator[Line]:
        """Yield the lines that are paid for."""
        ...


class Spent(BaseModel):
    """What was seen of the answers to one question.

    Attributes:
        id: Of the question in its golden set.
        wanted: Lines that answer it, but blank ones.
        recall: By name of the curve, the share of them that was seen, a value for each of `BUDGETS`.
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
    """What was measured on one golden set.

    Attributes:
        questions: Those with lines among their answers.
        left_out: Answerable ones that ask for whole files only, or whose answers the repository does not have.
    """

    questions: Sequence[Spent]
    left_out: int


def measure(golden: GoldenSet, repository: Repository, progress: Callable[[int], None] | None = None) -> Measured:
    """Return what each agent has seen for each number of tokens.

    Args:
        golden: The questions; those that nothing answers are passed over.
        repository: What they are about, indexed.
        progress: Told how many questions are done.
    """
    grep = Grep(repository)
    readers = [GrepReader(policy, grep, repository) for policy in POLICIES]
    tools = Tools(repository)
    agents: list[Agent] = [*readers, SearchReader(tools), PlaceReader(tools)]
    contexts: list[ContextCaller | ContextAsker] = [ContextCaller(tools), ContextAsker(repository)]
    anchored = anchor(golden, repository)
    questions: list[Spent] = []
    asked = [question for question in anchored.questions if not question.unanswerable]
    for number, question in enumerate(asked, 1):
        wanted = wanted_lines(question.answers, repository)
        if wanted:
            recall = {agent.name: recall_by_budget(agent.lines(question.question), wanted) for agent in agents}
            recall |= {one.name: one.recall(question.question, wanted, BUDGETS) for one in contexts}
            questions.append(
                Spent(
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
    return Measured(questions, len(asked) - len(questions) + len(anchored.skipped))
