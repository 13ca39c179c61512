"""``coderag eval mine``, step by step."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.config.repository_root import find_root
from coderag.errors import ConfigurationError, InvalidQueryError
from coderag.interfaces.cli import _eval_modules as evals
from coderag.interfaces.cli._eval_text import question_count
from coderag.interfaces.cli._progress import index_progress
from coderag.interfaces.cli._streams import Output, visible

if TYPE_CHECKING:
    from evals.mining import Mined

SOURCES: Final = ("commits", "tests")


@dataclass(frozen=True, slots=True, kw_only=True)
class MinePlan:
    """What was asked for on the command line."""

    repo: Path | None
    sources: str
    limit: int
    since: str
    out: Path
    force: bool


def mine_set(plan: MinePlan, output: Output) -> None:
    """Write a golden set of what the sources yield, and tell what was left out and why."""
    sources = _sources(plan)
    if plan.out.suffix.lower() in (".yaml", ".yml"):
        hint = f"Name it {plan.out.with_suffix('.jsonl').name}."
        raise InvalidQueryError(f"{plan.out}: a mined set is written as JSON lines, not as YAML", hint=hint)
    if plan.out.exists() and not plan.force:
        raise ConfigurationError(f"{plan.out} already exists", hint="--force overwrites it.")
    if not plan.out.resolve().parent.is_dir():
        raise InvalidQueryError(f"{plan.out}: its folder does not exist")
    mined = [_mine(source, plan) for source in sources]
    questions = evals.mining.joined(mined)
    if not questions:
        told = "; ".join(f"{one.considered} {one.source}: {_reasons(one) or 'none found'}" for one in mined)
        hint = "A longer history, --from commits,tests or an earlier --since may give some."
        raise InvalidQueryError(f"no usable question in {find_root(plan.repo)} ({told})", hint=hint)
    try:
        plan.out.write_text(evals.golden.dump_golden(questions), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{plan.out} cannot be written: {error.strerror or error}") from error
    named = sum("names-answer" in question.tags for question in questions)
    if output.as_json:
        record = {"path": plan.out, "questions": len(questions), "naming_answers": named}
        output.result({**record, "sources": [_as_record(one) for one in mined]})
    else:
        lines = [f"{plan.out}: {question_count(len(questions))}, {named} of them with the name of an answer in it"]
        lines += [line for one in mined for line in _lines(one)]
        output.write(visible("\n".join(lines)))
    for note in (note for one in mined for note in one.notes):
        output.note(f"warning: {note}")


def _sources(plan: MinePlan) -> list[str]:
    sources = [source.strip() for source in plan.sources.split(",") if source.strip()]
    unknown = [source for source in sources if source not in SOURCES]
    if unknown or not sources:
        wrong = repr(unknown[0]) if unknown else "nothing"
        raise InvalidQueryError(f"--from: {wrong} cannot be mined", hint=f"Give {' or '.join(SOURCES)}, or both.")
    return list(dict.fromkeys(sources))


def _mine(source: str, plan: MinePlan) -> "Mined":
    root = find_root(plan.repo)
    if source == "commits":
        with _counting("reading commits") as progress:
            commits: Mined = evals.mining.mine_commits(root, limit=plan.limit, since=plan.since, progress=progress)
        return commits
    with index_progress() as indexing:
        repository = evals.repository.Repository.open(root, progress=indexing)
    with _counting("reading tests") as progress:
        tests: Mined = evals.mining.mine_tests(repository, limit=plan.limit, progress=progress)
    return tests


@contextmanager
def _counting(doing: str) -> Iterator[Callable[[int], None] | None]:
    """Yield what to report progress to: a count, or None where standard error is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from coderag.interfaces.cli._console import SideConsole

    columns = (SpinnerColumn("line"), TextColumn(doing), TextColumn("{task.completed}"))
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(done: int) -> None:
            progress.update(task, completed=done)

        yield show


def _lines(mined: "Mined") -> Iterator[str]:
    yield f"\n{mined.source}: {mined.considered} looked at, {len(mined.questions)} made a question"
    for reason, count in mined.dropped.most_common():
        yield f"  {count:>6}  {reason}"


def _reasons(mined: "Mined") -> str:
    return ", ".join(f"{reason} {count}" for reason, count in mined.dropped.most_common())


def _as_record(mined: "Mined") -> dict[str, object]:
    return {
        "source": mined.source,
        "considered": mined.considered,
        "questions": len(mined.questions),
        "dropped": dict(mined.dropped.most_common()),
        "notes": mined.notes,
    }
