"""`python -m evals.graph LANGUAGE REPOSITORY --graph graph.json`: measure a code graph against independent tools."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from .comparison import sample_edges
from .exported_graph import ExportedGraph
from .ground_truth import EvaluationError
from .recorders import RECORDERS, MeasurementOptions, find_covered_files, find_judge_sites, record_truth
from .report import format_text, measure_graph


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status: 0, or 1 with one line on standard error."""
    options = _build_parser().parse_args(arguments)
    try:
        figures = _run(options)
    except EvaluationError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(figures, indent=1) if options.json else format_text(figures))
    return 0


def _run(options: argparse.Namespace) -> dict[str, object]:
    if not options.repository.is_dir():
        raise EvaluationError(f"{options.repository}: not a folder")
    measurement = MeasurementOptions(
        options.repository, options.python, options.run, options.tools, options.keep, options.timeout
    )
    graph = None if options.graph is None else ExportedGraph(options.graph)
    truth = record_truth(options.language, measurement)
    if graph is None:
        return {"truth": truth.summarize()}
    covered_paths = find_covered_files(options.language, graph, truth)
    edges = sample_edges((edge for edge in graph.edges if edge.path in covered_paths), options.sample, options.seed)
    return measure_graph(
        graph, truth, edges, find_judge_sites(options.language, measurement, truth, edges), options.examples
    )


def _build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m evals.graph", description=__doc__)
    add = parser.add_argument
    add("language", choices=sorted(RECORDERS))
    add("repository", type=Path)
    add("--graph", type=Path, help="export of the graph; without it, only record the calls")
    add("--keep", type=Path, help="folder for the tools' results, which are then reused")
    add("--python", type=Path, help="interpreter of the repository's environment: Python 3.12 or newer, with jedi")
    add(
        "--run", default="pytest -q -p no:cacheprovider --assert=plain", help="module that runs its tests (%(default)s)"
    )
    add("--tools", type=Path, help="folder in which npm installed pyright or typescript")
    add("--sample", type=int, default=400, help="edges to judge, 0 for all (%(default)s)")
    add("--seed", type=int, default=0, help="seed of the sample (%(default)s)")
    add("--examples", type=int, default=0, help="wrong edges and missed calls to list (%(default)s)")
    add("--timeout", type=float, default=1800, help="time limit of a tool in seconds (%(default)s)")
    add("--json", action="store_true", help="print JSON")
    return parser


if __name__ == "__main__":
    sys.exit(main())
