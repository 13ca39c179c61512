"""`python -m evals.projects`: run the golden sets of open-source projects, or of the fixtures, with several engines."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from coderag.errors import CodeRAGError, ConfigurationError, IngestionError

from .engines import ENGINES, make_engine
from .golden import GoldenSet, load_golden
from .report_markdown import table_text
from .repository import Repository
from .runner import run_golden
from .runs import Run
from .sources import lay_out, load_sources
from .tables import remarks
from .thresholds import load_thresholds, missed
from .versus import overview_table, versus_table

DATASETS = Path(__file__).parent / "datasets"
METRICS = ("hit@1", "hit@5", "function_hit@5", "ndcg@10", "file_ndcg@10", "coverage@8000")


@dataclass(frozen=True, slots=True)
class Project:
    """A golden set and the folder that it is about.

    Attributes:
        place: Returns the folder; where it must be made first, that may fail.
        index: Where the index goes; None puts it into the folder.
    """

    golden: GoldenSet
    place: Callable[[], Path]
    index: Path | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 if something could not be asked, or 6 below a threshold."""
    options = _parser().parse_args(arguments, argparse.Namespace(left_out=[]))
    try:
        runs = _run_all(options)
        failed = _missed(options, runs)
    except CodeRAGError as error:
        print(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return 1
    known = [name for name in options.metric or METRICS if any(name in run.metric_names for run in runs.values())]
    tables = [overview_table(runs, known), *(versus_table(name, runs) for name in known)]
    print("\n\n".join(table_text(table) for table in tables))
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    for line in options.left_out:
        print(f"left out: {line}", file=sys.stderr)
    return 1 if options.left_out else 6 if failed else 0


def _run_all(options: argparse.Namespace) -> dict[str, Run]:
    engines = dict.fromkeys(options.engine or ("coderag", "bm25"))
    runs: dict[str, list[Run]] = {name: [] for name in engines}
    for project in _projects(options):
        try:
            folder = project.place()
        except IngestionError as error:  # the others can still be measured
            options.left_out.append(f"{project.golden.name}: {error}")
            continue
        arguments: dict[str, Any] = {"storage": {"directory": str(project.index)}} if project.index else {}
        repository = Repository.open(folder, project=project.golden.name, **arguments)
        for name in engines:
            run = run_golden(project.golden, repository, make_engine(name, repository))
            runs[name].append(run)
            for remark in remarks(run):
                print(f"warning: {project.golden.name}: {remark}", file=sys.stderr)
        print(f"{project.golden.name}: {len(runs[name][-1].questions)} questions", file=sys.stderr, flush=True)
        _keep(options, runs)  # after each project, so that an interrupted run is not lost
    if not any(runs.values()):
        raise IngestionError("; ".join(options.left_out))
    return _joined(options, runs)


def _joined(options: argparse.Namespace, runs: dict[str, list[Run]]) -> dict[str, Run]:
    return {name: Run.joined(done, _collection(options)) for name, done in runs.items()}


def _collection(options: argparse.Namespace) -> str:
    return "fixtures" if options.fixtures else str(options.collection)


def _keep(options: argparse.Namespace, runs: dict[str, list[Run]]) -> None:
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, run in _joined(options, runs).items():
            (options.out / f"{run.golden}-{name}.json").write_text(run.to_json(), encoding="utf-8")


def _projects(options: argparse.Namespace) -> Iterator[Project]:
    """Yield what is to be asked about.

    Raises:
        ConfigurationError: A project that was named is not there, or there is none.
    """
    folder = options.datasets / _collection(options)
    sets = {path.stem: path for path in sorted(folder.glob("*.jsonl"))}
    unknown = sorted(set(options.only or ()) - sets.keys())
    if unknown or not sets:
        raise ConfigurationError(
            f"no golden set {unknown[0] if unknown else ''} in {folder}", hint=f"There are: {', '.join(sets)}."
        )
    sources = {} if options.fixtures else load_sources(folder / "sources.toml")
    for name, path in sets.items():
        if options.only and name not in options.only:
            continue
        golden = load_golden(path)
        if options.fixtures:
            yield Project(golden, partial(Path, options.fixtures, name), options.trees / "fixtures" / name)
        elif name not in sources:
            raise ConfigurationError(f"{folder / 'sources.toml'} has no table [{name}]")
        else:
            yield Project(golden, partial(lay_out, name, sources[name], options.trees, options.clones))


def _missed(options: argparse.Namespace, runs: dict[str, Run]) -> list[str]:
    """Return which thresholds for the first engine are missed."""
    if options.thresholds is None:
        return []
    run = next(iter(runs.values()))
    return [str(miss) for miss in missed(run, load_thresholds(options.thresholds, run.golden))]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.projects", description=__doc__)
    add = parser.add_argument
    add(
        "--clones", type=Path, help="folder of git clones (owner+name or name); without it the revisions are downloaded"
    )
    add("--trees", type=Path, default=Path(tempfile.gettempdir()) / "coderag-projects",
        help="folder for the projects' files and indexes (%(default)s)")  # fmt: skip
    add("--fixtures", type=Path, help="ask about these fixture repositories instead, a folder for each golden set")
    add(
        "--collection", choices=("projects", "everyday"), default="projects", help="folder of golden sets (%(default)s)"
    )
    add("--datasets", type=Path, default=DATASETS, help="folder of the collections (%(default)s)")
    add("--engine", action="append", choices=sorted(ENGINES), help="repeatable; the first is compared with the others")
    add("--only", nargs="+", metavar="NAME", help="only these golden sets")
    add("--metric", action="append", help=f"repeatable; default: {', '.join(METRICS)}")
    add("--out", type=Path, help="folder in which the runs are kept, one file an engine")
    add(
        "--thresholds",
        type=Path,
        help="TOML: the least that the first engine must reach, in a table named as the collection",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
