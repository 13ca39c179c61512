"""What a run of summarising would ask, without asking."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from coderag.ingestion.summaries.asking import REPLY_TOKENS, Batch, SentenceWriter
from coderag.ingestion.summaries.enriching import Target
from coderag.ingestion.summaries.results import EnrichPlan, PlannedBatch
from coderag.ingestion.summaries.subjects import LEVELS, Level, Piece

_FIRST = 10


def plan_summaries(target: Target, writer: SentenceWriter, *, limit: int | None = None) -> EnrichPlan:
    """Return what a run would ask now: of the first level that has something to do. Nothing is sent, nothing written.

    Args:
        target: What is summarised.
        writer: Makes the prompts; it needs no model.
        limit: Pieces, at most.

    Raises:
        IndexNotFoundError: Nothing is indexed yet.
    """
    work = target.work()
    batches: list[tuple[Level, Batch]] = []
    pieces: Counter[str] = Counter()
    failed_before = 0
    for level in LEVELS:
        for todo in work.todos(level, writer.maker(level), target.counts()):
            fresh = _first(todo.fresh, limit, pieces.total())
            again = _first(todo.again, limit, pieces.total() + len(fresh))
            failed_before += len(again)
            pieces[level] += len(fresh) + len(again)
            batches += ((level, batch) for batch in writer.batches([*fresh, *again]))
        if batches:
            break
    pieces = +pieces
    number = pieces.total()
    tokens, reply = sum(batch.tokens for _, batch in batches), number * REPLY_TOKENS
    seconds = target.cache.estimate_seconds_per_summary(writer.model_name)
    share = work.share
    return EnrichPlan(
        model=writer.model_name,
        pieces=dict(pieces),
        failed_before=failed_before,
        share=(share.written, share.total),
        input_tokens=tokens,
        output_tokens=reply,
        cost=writer.cost(tokens, reply),
        seconds=None if seconds is None else seconds * number,
        first=[piece.place for _, batch in batches for piece in batch.pieces][:_FIRST],
        batches=[
            PlannedBatch(level, batch.prompt, [_described(piece) for piece in batch.pieces]) for level, batch in batches
        ],
    )


def _first(pieces: Iterable[Piece], limit: int | None, taken: int) -> list[Piece]:
    return list(pieces if limit is None else islice(pieces, max(0, limit - taken)))


def _described(piece: Piece) -> dict[str, str]:
    return {"place": piece.place, "id": piece.id} if piece.id else {"place": piece.place}
