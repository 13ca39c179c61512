#!/usr/bin/env python3
"""Measure the latency of `search` and `context` in your own repository, and of each stage.

usage: queries.py REPOSITORY [--questions FILE] [--rounds 5] [--json FILE]

REPOSITORY   a folder; its index is updated first
--questions  a file with one question per line; by default, questions are made from declared names

A question's time is the median of its rounds in a warm process. The table shows the median and the 90th percentile over the
questions, in wall-clock time and in CPU time of this thread. Stages come from the trace of each query; `steps` is the time
between the nodes, `hits` the time outside them. Times depend on the machine and its load, so compare figures of one run only.
"""

import argparse
import json
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from coderag import CodeRAG
from coderag.nodes.steps import walk
from coderag.retrieval.hits import build_hits
from coderag.retrieval.query_context import QueryContext
from coderag.schema.query import Goal, QueryInput

_PHRASES = ("{}", "where is {} defined", "who calls {}", "how does {} work", "what tests {}", "{} error handling")
_MAX_NAMES = 24


def make_questions(context: QueryContext) -> list[str]:
    """Return questions about declared names spread over the repository, the same in every run."""
    names = sorted({name for name in context.corpus.get_column("name") if len(name) > 3 and name.isidentifier()})
    spread = names[:: max(1, len(names) // _MAX_NAMES)][:_MAX_NAMES]
    return [_PHRASES[number % len(_PHRASES)].format(name) for number, name in enumerate(spread)]


def measure_stages(context: QueryContext, question: str, goal: Goal) -> dict[str, float]:
    """Return the milliseconds of each stage of one query."""
    started = time.perf_counter()
    output = walk(QueryInput(query=question, goal=goal), context)
    ended = time.perf_counter()
    if goal == "search":
        build_hits(context.corpus, output["results"])
    spent: dict[str, float] = defaultdict(float)
    for entry in output["trace"]:
        spent[entry["node"]] += entry["ms"]
    spent["steps"] = (ended - started) * 1e3 - sum(spent.values())
    spent["hits"] = (time.perf_counter() - ended) * 1e3
    return spent


def measure_call(action: Callable[[], object]) -> tuple[float, float]:
    """Return the milliseconds of a call: wall-clock time, and CPU time of this thread."""
    wall, own = time.perf_counter(), time.thread_time()
    action()
    return (time.perf_counter() - wall) * 1e3, (time.thread_time() - own) * 1e3


def compute_percentiles(values: Sequence[float]) -> dict[str, float]:
    """Return the median and the 90th percentile."""
    ordered = sorted(values)
    return {"p50": statistics.median(ordered), "p90": ordered[int(0.9 * (len(ordered) - 1))]}


def measure(rag: CodeRAG, questions: Sequence[str], goal: Goal, rounds: int) -> dict[str, dict[str, float]]:
    """Return percentiles over the questions: ``wall`` and ``thread`` for the call, and one row per stage."""
    ask = rag.search if goal == "search" else rag.context
    context = rag._open()
    for question in questions[:3]:
        ask(question)  # warm up what is loaded on first use
    medians: dict[str, list[float]] = defaultdict(list)
    for question in questions:
        laps = [measure_call(lambda question=question: ask(question)) for _ in range(rounds)]
        medians["wall"].append(statistics.median(wall for wall, _ in laps))
        medians["thread"].append(statistics.median(own for _, own in laps))
        traced = [measure_stages(context, question, goal) for _ in range(rounds)]
        for name in traced[0]:
            medians[name].append(statistics.median(lap[name] for lap in traced))
    return {name: {**compute_percentiles(values), "questions": len(values)} for name, values in medians.items()}


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rag = CodeRAG(arguments.repository)
    rag.index()
    context = rag._open()
    if arguments.questions:
        lines = arguments.questions.read_text(encoding="utf-8").splitlines()
        questions = [line.strip() for line in lines if line.strip()]
    else:
        questions = make_questions(context)
    if not questions:
        parser.error("no questions: the file is empty, or the repository declares no names")
    print(f"{context.corpus.n_files:,} files, {context.corpus.n_chunks:,} chunks, {len(questions)} questions")
    results = {}
    for goal in ("search", "context"):
        results[goal] = measure(rag, questions, goal, arguments.rounds)
        print(f"\n{goal:12}{'p50 ms':>10}{'p90 ms':>10}   questions")
        for name, figures in results[goal].items():
            print(f"{name:12}{figures['p50']:10.2f}{figures['p90']:10.2f}{figures['questions']:12}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
