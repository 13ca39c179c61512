"""`python -m evals.efficiency`: recall of answer lines by tokens spent, CodeRAG against grep and read."""

import argparse
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from coderag import __version__
from coderag.errors import CodeRAGError, IngestionError, InvalidQueryError

from ..golden import GoldenSet, load_golden  # noqa: TID252  # installed, it has another name
from ..repository import Repository  # noqa: TID252  # installed, it has another name
from .measuring import measure
from .plot import draw_plot
from .report import BenchmarkRecord, format_report
from .sets import SETS, Subject, list_subjects


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 if a golden set is missing."""
    options = _build_parser().parse_args(arguments)
    try:
        record, missing = (_join_records(options.redraw), []) if options.redraw else _measure(options)
        print(format_report(record))
        _save_record(options.out, record)
        if options.out:
            (options.out / "efficiency.md").write_text(format_report(record), encoding="utf-8")
            (options.out / "efficiency.svg").write_text(draw_plot(record.questions), encoding="utf-8")
    except (CodeRAGError, OSError) as error:
        hint = getattr(error, "hint", "")
        print(f"error: {error}" + (f"\nhint: {hint}" if hint else ""), file=sys.stderr)
        return 1
    for line in missing:
        print(f"left out: {line}", file=sys.stderr)
    return 1 if missing else 0


def _join_records(paths: Sequence[Path]) -> BenchmarkRecord:
    """Merge earlier records."""
    merged = BenchmarkRecord(version=__version__)
    for path in paths:
        try:
            record = BenchmarkRecord.model_validate_json(path.read_text(encoding="utf-8"))
        except ValidationError as error:
            raise InvalidQueryError(
                f"{path} is not a record of this command: {error.error_count()} validation errors"
            ) from error
        merged = BenchmarkRecord(
            version=record.version,
            questions=[*merged.questions, *record.questions],
            left_out=merged.left_out + record.left_out,
        )
    return merged


def _measure(options: argparse.Namespace) -> tuple[BenchmarkRecord, list[str]]:
    record = BenchmarkRecord(version=__version__)
    missing: list[str] = []
    for subject in _select_subjects(options):
        try:
            folder = subject.get_folder()
        except IngestionError as error:  # measure the rest
            missing.append(f"{subject.golden.name}: {error}")
            continue
        repository = Repository.open(
            folder,
            project=subject.golden.name,
            storage={"directory": str(subject.index)},
            ingestion={"exclude": list(subject.excluded)},
        )
        measured = measure(subject.golden, repository)
        record.questions += measured.questions
        record.left_out += measured.left_out
        print(f"{subject.golden.name}: {len(measured.questions)} questions", file=sys.stderr, flush=True)
        _save_record(options.out, record)  # so that an interrupted run keeps its results
    if not record.questions:
        raise IngestionError("; ".join(missing) or "no question has an answer with lines")
    return record, missing


def _select_subjects(options: argparse.Namespace) -> Iterable[Subject]:
    if options.golden:
        golden: GoldenSet = load_golden(options.golden)
        return [Subject(golden, lambda: options.repo, options.trees / "efficiency" / golden.name)]
    chosen = list_subjects(options.set, options.repo, options.trees, options.clones)
    return [subject for subject in chosen if not options.only or subject.golden.name in options.only]


def _save_record(folder: Path | None, record: BenchmarkRecord) -> None:
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "efficiency.json").write_text(record.model_dump_json() + "\n", encoding="utf-8")


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.efficiency", description=__doc__)
    add = parser.add_argument
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--set", choices=SETS, default="coderag", help="golden sets of this repository (%(default)s)")
    which.add_argument("--golden", type=Path, help="golden set of your own about --repo")
    which.add_argument(
        "--redraw", type=Path, nargs="+", metavar="JSON", help="report on earlier efficiency.json files, merged"
    )
    add(
        "--repo",
        type=Path,
        default=Path(),
        help="checkout of this repository, or the repository of --golden (%(default)s)",
    )
    add("--only", nargs="+", metavar="NAME", help="only these golden sets")
    add(
        "--clones",
        type=Path,
        help="folder of git clones of the projects, owner+name or name (default: download them)",
    )
    add("--trees", type=Path, default=Path(tempfile.gettempdir()) / "coderag-projects",
        help="folder for the projects' files and for indexes (%(default)s)")  # fmt: skip
    add("--out", type=Path, help="folder for efficiency.json, .md and .svg")
    return parser


if __name__ == "__main__":
    sys.exit(main())
