"""Seeded, stratified draw of tasks from golden sets: over languages, repositories and kinds of question."""

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Final

from coderag.errors import ConfigurationError
from evals.golden import Question, load_golden
from evals.sources import ProjectSource, load_sources

from .tasks import Task

MEASURING_ONLY: Final = frozenset({"faraday", "fsspec", "htop", "mdbook", "nlog", "nuke", "socket-io", "viper"})
"""Repositories of the golden declarations that are never drawn: docs of the set lock them for other measurements."""


def draw_tasks(
    folder: Path, *, repositories: int, per_repository: int, seed: int, excluded: Set[str] = MEASURING_ONLY
) -> list[Task]:
    """Draw tasks from the golden sets of a folder; nothing else than labels and the seed decides.

    Repositories are drawn so that languages differ as much as possible, and questions so that kinds are balanced.

    Raises:
        ConfigurationError: There are fewer repositories, or fewer kinds in one of them.
    """
    sources = {name: source for name, source in load_sources(folder / "sources.toml").items() if name not in excluded}
    if len(sources) < repositories:
        raise ConfigurationError(f"{folder} has {len(sources)} repositories to draw {repositories} from")
    generator = random.Random(seed)
    drawn_kinds: Counter[str] = Counter()
    tasks = []
    for name in _draw_repositories(sources, repositories, generator):
        by_kind = _group_by_kind(load_golden(folder / f"{name}.jsonl").questions)
        if len(by_kind) < per_repository:
            raise ConfigurationError(f"{name} has {len(by_kind)} kinds to draw {per_repository} from")
        order = _order_randomly(by_kind, generator)
        for kind in sorted(order, key=drawn_kinds.__getitem__)[:per_repository]:
            drawn_kinds[kind] += 1
            tasks.append(_make_task(name, kind, generator.choice(by_kind[kind])))
    return tasks


def _draw_repositories(sources: Mapping[str, ProjectSource], count: int, generator: random.Random) -> list[str]:
    """Draw repositories; a language comes again only after all other languages have come as often."""
    seen: Counter[str] = Counter()
    order: list[tuple[int, int, str]] = []
    for name in _order_randomly(sources, generator):
        order.append((seen[sources[name].language], len(order), name))
        seen[sources[name].language] += 1
    return [name for _, _, name in sorted(order)[:count]]


def _group_by_kind(questions: Sequence[Question]) -> dict[str, list[Question]]:
    groups: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        groups[question.tags[0]].append(question)
    return groups


def _order_randomly(names: Mapping[str, object], generator: random.Random) -> list[str]:
    return generator.sample(sorted(names), len(names))


def _make_task(repository: str, kind: str, question: Question) -> Task:
    return Task(
        id=question.id,
        repository=repository,
        kind=kind,
        question=question.question,
        places=question.answers,
        also=question.also,
        reference=question.reference,
    )
