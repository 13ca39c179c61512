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
from .report_markdown import format_table
from .repository import Repository
from .runner import run_golden
from .runs import Run
from .sources import check_out_project, load_sources
from .tables import list_remarks
from .thresholds import find_misses, load_thresholds
from .versus import build_overview_table, build_versus_table

DATASETS = Path(__file__).parent / "datasets"
METRICS = ("hit@1", "hit@5", "function_hit@5", "ndcg@10", "file_ndcg@10", "coverage@8000")


@dataclass(frozen=True, slots=True)
class Project:
    """Golden set with the source of its repository.

    Attributes:
        get_folder: Return the repository's folder; raise `IngestionError` if it cannot be checked out.
        index: Folder of the index; None for the default inside the repository.
    """

    golden: GoldenSet
    get_folder: Callable[[], Path]
    index: Path | None = None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, 1 if a project is missing, or 6 below a threshold."""
    options = _build_parser().parse_args(arguments, argparse.Namespace(left_out=[]))
    try:
        runs = _run_all(options)
        failed = _list_misses(options, runs)
    except CodeRAGError as error:
        print(f"error: {error}" + (f"\nhint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return 1
    metrics = [name for name in options.metric or METRICS if any(name in run.metric_names for run in runs.values())]
    tables = [build_overview_table(runs, metrics), *(build_versus_table(name, runs) for name in metrics)]
    print("\n\n".join(format_table(table) for table in tables))
    for line in failed:
        print(f"failed: {line}", file=sys.stderr)
    for line in options.left_out:
        print(f"left out: {line}", file=sys.stderr)
    return 1 if options.left_out else 6 if failed else 0


def _run_all(options: argparse.Namespace) -> dict[str, Run]:
    engines = dict.fromkeys(options.engine or ("coderag", "bm25"))
    runs: dict[str, list[Run]] = {name: [] for name in engines}
    for project in _list_projects(options):
        try:
            folder = project.get_folder()
        except IngestionError as error:  # measure the rest
            options.left_out.append(f"{project.golden.name}: {error}")
            continue
        arguments: dict[str, Any] = {"storage": {"directory": str(project.index)}} if project.index else {}
        repository = Repository.open(folder, project=project.golden.name, **arguments)
        for name in engines:
            run = run_golden(project.golden, repository, make_engine(name, repository))
            runs[name].append(run)
            for remark in list_remarks(run):
                print(f"warning: {project.golden.name}: {remark}", file=sys.stderr)
        print(f"{project.golden.name}: {len(runs[name][-1].questions)} questions", file=sys.stderr, flush=True)
        _save_runs(options, runs)  # after each project, so that an interrupted run keeps its results
    if not any(runs.values()):
        raise IngestionError("; ".join(options.left_out))
    return _join_runs(options, runs)


def _join_runs(options: argparse.Namespace, runs: dict[str, list[Run]]) -> dict[str, Run]:
    return {name: Run.join(done, _get_collection(options)) for name, done in runs.items()}


def _get_collection(options: argparse.Namespace) -> str:
    return "fixtures" if options.fixtures else str(options.collection)


def _save_runs(options: argparse.Namespace, runs: dict[str, list[Run]]) -> None:
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        for name, run in _join_runs(options, runs).items():
            (options.out / f"{run.golden}-{name}.json").write_text(run.to_json(), encoding="utf-8")


def _list_projects(options: argparse.Namespace) -> Iterator[Project]:
    """Yield the selected projects.

    Raises:
        ConfigurationError: A selected project has no golden set, or there are no golden sets.
    """
    folder = options.datasets / _get_collection(options)
    sets = {path.stem: path for path in sorted(folder.glob("*.jsonl"))}
    unknown = sorted(set(options.only or ()) - sets.keys())
    if unknown or not sets:
        raise ConfigurationError(
            f"no golden set {unknown[0] if unknown else ''} in {folder}", hint=f"Available: {', '.join(sets)}."
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
            yield Project(golden, partial(check_out_project, name, sources[name], options.trees, options.clones))


def _list_misses(options: argparse.Namespace, runs: dict[str, Run]) -> list[str]:
    """Return the thresholds that the first engine misses, as text."""
    if options.thresholds is None:
        return []
    run = next(iter(runs.values()))
    return [str(miss) for miss in find_misses(run, load_thresholds(options.thresholds, run.golden))]


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.projects", description=__doc__)
    add = parser.add_argument
    add("--clones", type=Path, help="folder of git clones, owner+name or name (default: download the revisions)")
    add("--trees", type=Path, default=Path(tempfile.gettempdir()) / "coderag-projects",
        help="folder for the projects' files and indexes (%(default)s)")  # fmt: skip
    add("--fixtures", type=Path, help="evaluate fixture repositories instead: parent folder, one folder per golden set")
    add(
        "--collection", choices=("projects", "everyday"), default="projects", help="folder of golden sets (%(default)s)"
    )
    add("--datasets", type=Path, default=DATASETS, help="folder of the collections (%(default)s)")
    add(
        "--engine",
        action="append",
        choices=sorted(ENGINES),
        help="engine to run; repeatable, the first is compared with the others",
    )
    add("--only", nargs="+", metavar="NAME", help="only these golden sets")
    add("--metric", action="append", help=f"metric to show; repeatable (default: {', '.join(METRICS)})")
    add("--out", type=Path, help="folder for the runs, one file per engine")
    add(
        "--thresholds",
        type=Path,
        help="TOML file with minimum values for the first engine, in a table named after the collection",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
