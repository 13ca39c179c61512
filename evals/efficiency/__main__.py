"""`python -m evals.efficiency`: the lines of an answer that are seen for the tokens spent, CodeRAG against grep and read."""

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
from .plot import drawn
from .report import Record, markdown
from .sets import SETS, Subject, subjects


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 if something could not be asked."""
    options = _parser().parse_args(arguments)
    try:
        record, missing = (_joined(options.redraw), []) if options.redraw else _measure(options)
        print(markdown(record))
        _keep(options.out, record)
        if options.out:
            (options.out / "efficiency.md").write_text(markdown(record), encoding="utf-8")
            (options.out / "efficiency.svg").write_text(drawn(record.questions), encoding="utf-8")
    except (CodeRAGError, OSError) as error:
        hint = getattr(error, "hint", "")
        print(f"error: {error}" + (f"\nhint: {hint}" if hint else ""), file=sys.stderr)
        return 1
    for line in missing:
        print(f"left out: {line}", file=sys.stderr)
    return 1 if missing else 0


def _joined(paths: Sequence[Path]) -> Record:
    """Return earlier records as one."""
    joined = Record(version=__version__)
    for path in paths:
        try:
            record = Record.model_validate_json(path.read_text(encoding="utf-8"))
        except ValidationError as error:
            raise InvalidQueryError(
                f"{path} is no record of this command: {error.error_count()} faults in it"
            ) from error
        joined = Record(
            version=record.version,
            questions=[*joined.questions, *record.questions],
            left_out=joined.left_out + record.left_out,
        )
    return joined


def _measure(options: argparse.Namespace) -> tuple[Record, list[str]]:
    record = Record(version=__version__)
    missing: list[str] = []
    for subject in _subjects(options):
        try:
            folder = subject.place()
        except IngestionError as error:  # the others can still be measured
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
        _keep(options.out, record)  # so that an interrupted run is not lost
    if not record.questions:
        raise IngestionError("; ".join(missing) or "none of the questions has lines among its answers")
    return record, missing


def _subjects(options: argparse.Namespace) -> Iterable[Subject]:
    if options.golden:
        golden: GoldenSet = load_golden(options.golden)
        return [Subject(golden, lambda: options.repo, options.trees / "efficiency" / golden.name)]
    chosen = subjects(options.set, options.repo, options.trees, options.clones)
    return [one for one in chosen if not options.only or one.golden.name in options.only]


def _keep(folder: Path | None, record: Record) -> None:
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "efficiency.json").write_text(record.model_dump_json() + "\n", encoding="utf-8")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.efficiency", description=__doc__)
    add = parser.add_argument
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--set", choices=SETS, default="coderag", help="golden sets of this repository (%(default)s)")
    which.add_argument("--golden", type=Path, help="a golden set of your own about --repo")
    which.add_argument(
        "--redraw", type=Path, nargs="+", metavar="JSON", help="report on earlier efficiency.json again, as one"
    )
    add("--repo", type=Path, default=Path(), help="checkout of this repository, or the one of --golden (%(default)s)")
    add("--only", nargs="+", metavar="NAME", help="only these of the set")
    add(
        "--clones",
        type=Path,
        help="folder of git clones (owner+name or name) of the projects; else they are downloaded",
    )
    add("--trees", type=Path, default=Path(tempfile.gettempdir()) / "coderag-projects",
        help="folder for the projects' files and for indexes (%(default)s)")  # fmt: skip
    add("--out", type=Path, help="folder for efficiency.json, .md and .svg")
    return parser


if __name__ == "__main__":
    sys.exit(main())
