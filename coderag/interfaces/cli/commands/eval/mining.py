"""Steps of ``coderag eval mine``."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from coderag.config.repository_root import find_root
from coderag.errors import ConfigurationError, InvalidQueryError
from coderag.interfaces.cli.commands.eval import harness as evals
from coderag.interfaces.cli.commands.eval.text_tables import format_question_count
from coderag.interfaces.cli.output.progress import show_index_progress
from coderag.interfaces.cli.output.streams import Output, escape_controls

if TYPE_CHECKING:
    from evals.mining import MiningResult

SOURCES: Final = ("commits", "tests")


@dataclass(frozen=True, slots=True, kw_only=True)
class MineOptions:
    """Options of the command."""

    repo: Path | None
    sources: str
    limit: int
    since: str
    out: Path
    force: bool


def mine_golden_set(options: MineOptions, output: Output) -> None:
    """Write a golden set mined from the sources, and report dropped items with reasons."""
    sources = _parse_sources(options)
    if options.out.suffix.lower() in (".yaml", ".yml"):
        hint = f"Name it {options.out.with_suffix('.jsonl').name}."
        raise InvalidQueryError(f"{options.out}: mined sets are written as JSON lines, not as YAML", hint=hint)
    if options.out.exists() and not options.force:
        raise ConfigurationError(f"{options.out} already exists", hint="--force overwrites it.")
    if not options.out.resolve().parent.is_dir():
        raise InvalidQueryError(f"{options.out}: its folder does not exist")
    results = [_mine_source(source, options) for source in sources]
    questions = evals.mining.join_questions(results)
    if not questions:
        reasons = "; ".join(
            f"{result.considered} {result.source}: {_format_reasons(result) or 'none found'}" for result in results
        )
        hint = "Try a longer history, --from commits,tests or an earlier --since."
        raise InvalidQueryError(f"no usable question in {find_root(options.repo)} ({reasons})", hint=hint)
    try:
        options.out.write_text(evals.golden.dump_golden(questions), encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{options.out} cannot be written: {error.strerror or error}") from error
    naming_answers = sum("names-answer" in question.tags for question in questions)
    if output.as_json:
        record = {"path": options.out, "questions": len(questions), "naming_answers": naming_answers}
        output.write_json({**record, "sources": [_to_record(result) for result in results]})
    else:
        lines = [f"{options.out}: {format_question_count(len(questions))}, {naming_answers} of them naming an answer"]
        lines += [line for result in results for line in _format_lines(result)]
        output.write(escape_controls("\n".join(lines)))
    for note in (note for result in results for note in result.notes):
        output.note(f"warning: {note}")


def _parse_sources(options: MineOptions) -> list[str]:
    sources = [source.strip() for source in options.sources.split(",") if source.strip()]
    unknown = [source for source in sources if source not in SOURCES]
    if unknown or not sources:
        rejected = repr(unknown[0]) if unknown else "nothing"
        raise InvalidQueryError(f"--from: {rejected} is not a source", hint=f"Give {' or '.join(SOURCES)}, or both.")
    return list(dict.fromkeys(sources))


def _mine_source(source: str, options: MineOptions) -> "MiningResult":
    root = find_root(options.repo)
    if source == "commits":
        with _show_count("reading commits") as progress:
            commits: MiningResult = evals.mining.mine_commits(
                root, limit=options.limit, since=options.since, progress=progress
            )
        return commits
    with show_index_progress() as indexing:
        repository = evals.repository.Repository.open(root, progress=indexing)
    with _show_count("reading tests") as progress:
        tests: MiningResult = evals.mining.mine_tests(repository, limit=options.limit, progress=progress)
    return tests


@contextmanager
def _show_count(activity: str) -> Iterator[Callable[[int], None] | None]:
    """Yield the callback of a counter, or None if standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn

    from coderag.interfaces.cli.output.console import SideConsole

    columns = (SpinnerColumn("line"), TextColumn(activity), TextColumn("{task.completed}"))
    with Progress(*columns, console=SideConsole(), transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(done: int) -> None:
            progress.update(task, completed=done)

        yield show


def _format_lines(result: "MiningResult") -> Iterator[str]:
    yield f"\n{result.source}: {result.considered} looked at, {len(result.questions)} made a question"
    for reason, count in result.dropped.most_common():
        yield f"  {count:>6}  {reason}"


def _format_reasons(result: "MiningResult") -> str:
    return ", ".join(f"{reason} {count}" for reason, count in result.dropped.most_common())


def _to_record(result: "MiningResult") -> dict[str, object]:
    return {
        "source": result.source,
        "considered": result.considered,
        "questions": len(result.questions),
        "dropped": dict(result.dropped.most_common()),
        "notes": result.notes,
    }
