"""Turn results into search hits."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from coderag.schema.query import Candidate
from coderag.schema.search import SearchHit
from coderag.stores.corpus import Corpus
from coderag.stores.pieces import result_pieces


def make_hits(corpus: Corpus, results: Sequence[Candidate]) -> list[SearchHit]:
    """Return the hits for some results, in their order."""
    return [
        SearchHit(
            chunk_id=piece.chunk_id,
            path=PurePosixPath(piece.path),
            start_line=piece.start_line,
            end_line=piece.end_line,
            kind=piece.kind,
            name=piece.name.rsplit(".", 1)[-1],
            qualified_name=piece.name,
            signature=piece.signature,
            summary=piece.summary,
            language=piece.language,
            role=corpus.value("role", corpus.row_of[piece.chunk_id]),
            score=result["score"],
            text=piece.text,
            signals=result["signals"],
            channels=result["channels"],
            duplicates=result.get("duplicates", ()),
        )
        for piece, result in zip(result_pieces(corpus, results), results, strict=True)
    ]
