"""Candidates as `retrieve` and `lookup` make them."""

from coderag.schema.query import Candidate
from coderag.stores.corpus import Corpus


def candidate(corpus: Corpus, row: int, score: float = 0.5, *, symbol: str = "", **channels: float) -> Candidate:
    """Return a candidate for a chunk; by default all are alike."""
    return Candidate(
        chunk_id=corpus.get_value("id", row),
        score=score,
        channels=dict(channels),
        signals={},
        start_line=int(corpus.start_lines[row]),
        end_line=int(corpus.end_lines[row]),
        symbol=symbol,
    )


def candidates(corpus: Corpus, **channels: float) -> list[Candidate]:
    """Return one candidate a chunk, all alike."""
    return [candidate(corpus, row, **channels) for row in range(corpus.n_chunks)]


def paths_of(corpus: Corpus, results: list[Candidate]) -> list[str]:
    """Return the file of each result."""
    return [corpus.get_value("path", corpus.rows_by_id[result["chunk_id"]]) for result in results]


def names_of(corpus: Corpus, results: list[Candidate]) -> list[str]:
    """Return the qualified name of each result."""
    return [
        result["symbol"] or corpus.get_value("qualified_name", corpus.rows_by_id[result["chunk_id"]])
        for result in results
    ]
