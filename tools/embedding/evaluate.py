#!/usr/bin/env python3
"""Evaluate the embedded model on labelled questions: alone, against lexical search, and in the engine.

usage: evaluate.py DATA --trees DIR [--model FOLDER] [--only NAME ...] [--out FILE.json] [--compare FILE.json]

DATA       a folder with repos.json and queries.jsonl, such as evals/paraphrased
--trees    parent of one folder per repository, at its revision
--model    a folder of word vectors, by default the package's; the engine always uses the package's
--compare  output of --out for another model; adds paired differences with intervals

`dense` ranks chunks by the cosine of their vectors alone, `lexical` by BM25 alone, `engine` is `CodeRAG.search`. Figures:
nDCG@10 by chunks and by files, where a target counts at the rank of the first result that covers it, and recall@5, the
share of questions for which one of the first five chunks covers an answer. Intervals are 95 % bootstrap intervals over the
questions.
"""

import argparse
import json
import math
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from coderag import CodeRAG
from coderag.ingestion.reembedding import ReembeddedSnapshot
from coderag.models.embedded_dense import EmbeddedDense
from coderag.models.word_vectors import DEFAULT_FOLDER, WordVectors
from coderag.stores.corpus import Corpus
from coderag.stores.index_store import IndexStore
from coderag.text.tokenizer import tokenize_query

TOP_K = 10
RECALL_K = 5
ROUNDS = 2000
SYSTEMS = ("dense", "lexical", "engine")
MEASURES = ("chunk", "file", "recall")


class RankedLines(NamedTuple):
    """Result: path relative to the repository root, and lines, 1-based and inclusive."""

    path: str
    first: int
    last: int


def has_target_line(place: RankedLines, target: str | dict[str, Any]) -> bool:
    """Return whether a result covers a target: a file, or lines of it."""
    if isinstance(target, str):
        return place.path == target
    if place.path != target["path"]:
        return False
    first = target.get("start_line")
    return first is None or (place.last >= first and place.first <= target["end_line"])


def compute_ndcg(places: Sequence[RankedLines], targets: Sequence[str | dict[str, Any]]) -> float:
    """Return nDCG of the first results; each rank counts once, as in semble's benchmark."""
    ranks = {
        next((rank for rank, place in enumerate(places[:TOP_K], 1) if has_target_line(place, target)), 0)
        for target in targets
    }
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(TOP_K, len(targets)) + 1))
    return sum(1 / math.log2(rank + 1) for rank in ranks if rank) / ideal if ideal else 0.0


def score_ranking(places: Iterator[RankedLines], question: dict[str, Any]) -> dict[str, float]:
    """Return the measures of one ranking, best result first."""
    chunks: list[RankedLines] = []
    by_file: dict[str, RankedLines] = {}
    for place in places:
        chunks.append(place)
        by_file.setdefault(place.path, place)
        if len(by_file) == TOP_K and len(chunks) >= TOP_K:
            break
    targets = [*question["relevant"], *question["secondary"]]
    is_recalled = any(has_target_line(place, target) for place in chunks[:RECALL_K] for target in question["relevant"])
    return {
        "chunk": compute_ndcg(chunks, targets),
        "file": compute_ndcg(list(by_file.values()), targets),
        "recall": float(is_recalled),
    }


def measure(tree: Path, root: str, questions: Sequence[dict[str, Any]], words: WordVectors) -> list[dict[str, Any]]:
    """Return the measures of each system for each question of a repository."""
    rag = CodeRAG(tree)
    rag.index()
    prefix = f"{root}/" if root else ""
    corpus = Corpus(ReembeddedSnapshot(IndexStore(tree / ".coderag").open(), EmbeddedDense(words)))

    def rank_rows(scores: np.ndarray) -> Iterator[RankedLines]:
        for row in np.argsort(-scores, kind="stable"):
            path = prefix + corpus.paths[corpus.chunk_files[row]]
            yield RankedLines(path, int(corpus.start_lines[row]), int(corpus.end_lines[row]))

    def rank_by_engine(query: str) -> Iterator[RankedLines]:
        for hit in rag.search(query, top_k=TOP_K):
            yield RankedLines(prefix + str(hit.path), hit.start_line, hit.end_line)

    rankings: dict[str, Callable[[str], Iterator[RankedLines]]] = {
        "dense": lambda query: rank_rows(corpus.vectors @ words.embed_terms(tokenize_query(query))),
        "lexical": lambda query: rank_rows(corpus.body.score(corpus.get_term_ids(tokenize_query(query)))),
        "engine": rank_by_engine,
    }
    return [
        {
            **question,
            **{system: score_ranking(ranking(question["query"]), question) for system, ranking in rankings.items()},
        }
        for question in questions
    ]


def format_interval(values: Sequence[float]) -> str:
    """Format a mean with its 95 % bootstrap interval."""
    rng = random.Random(0)
    means = sorted(statistics.fmean(rng.choices(values, k=len(values))) for _ in range(ROUNDS))
    low, high = means[int(0.025 * ROUNDS)], means[int(0.975 * ROUNDS)]
    return f"{statistics.fmean(values):+.3f} ({low:+.3f} to {high:+.3f})"


def report(rows: Sequence[dict[str, Any]], other: dict[tuple[str, str], dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of a table of each system's measures and their differences."""
    yield f"{len(rows)} questions; nDCG@10 a chunk, a file; recall@5 of lines"
    for system in SYSTEMS:
        for name in MEASURES:
            values = [row[system][name] for row in rows]
            gaps = [
                row[system][name] - other[row["repo"], row["query"]][system][name]
                for row in rows
                if (row["repo"], row["query"]) in other
            ]
            yield f"{system:8} {name:7} {format_interval(values)}" + (
                f"   difference {format_interval(gaps)}" if gaps else ""
            )
    gaps = [row["dense"]["recall"] - row["lexical"]["recall"] for row in rows]
    yield f"dense recall over lexical recall: {format_interval(gaps)}"
    by_language = defaultdict(list)
    for row in rows:
        by_language[row["language"]].append(row["dense"]["chunk"])
    for language, values in sorted(by_language.items()):
        yield f"dense chunk, {language:12} {statistics.fmean(values):.3f} (n={len(values)})"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=DEFAULT_FOLDER)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--compare", type=Path)
    arguments = parser.parse_args()

    words = WordVectors.load(arguments.model)
    questions = [json.loads(line) for line in (arguments.data / "queries.jsonl").read_text("utf-8").splitlines()]
    rows: list[dict[str, Any]] = []
    for spec in json.loads((arguments.data / "repos.json").read_text("utf-8")):
        root = spec["root"] or ""
        tree = arguments.trees / spec["name"] / root
        if tree.is_dir() and (not arguments.only or spec["name"] in arguments.only):
            own = [{**item, "language": spec["language"]} for item in questions if item["repo"] == spec["name"]]
            rows += measure(tree, root, own, words)
            print(f"{spec['name']}: {len(own)} questions", flush=True)
    if not rows:
        parser.error(f"no repository of {arguments.data} is in {arguments.trees}")
    compared = json.loads(arguments.compare.read_text("utf-8")) if arguments.compare else []
    print("\n".join(report(rows, {(row["repo"], row["query"]): row for row in compared})))
    if arguments.out:
        arguments.out.write_text(json.dumps(rows), "utf-8")


if __name__ == "__main__":
    main()
