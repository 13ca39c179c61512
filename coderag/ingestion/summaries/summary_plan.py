"""Plan of a summarizing run, without sending requests."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice

from coderag.ingestion.summaries.enrich_results import EnrichPlan, PlannedBatch
from coderag.ingestion.summaries.enricher import EnrichContext
from coderag.ingestion.summaries.sentence_writer import TOKENS_PER_SENTENCE, SentenceWriter, SummaryBatch
from coderag.ingestion.summaries.targets import LEVELS, Level, SummaryTarget

_MAX_LISTED_PLACES = 10


def plan_summaries(context: EnrichContext, writer: SentenceWriter, *, limit: int | None = None) -> EnrichPlan:
    """Plan the requests of a run for the first level that has work. Nothing is sent or written.

    Args:
        context: Index, models and cache.
        writer: Builds the prompts; it needs no model.
        limit: Maximum number of targets.

    Raises:
        IndexNotFoundError: Nothing is indexed yet.
    """
    worklist = context.load_worklist()
    batches: list[tuple[Level, SummaryBatch]] = []
    target_counts: Counter[str] = Counter()
    failed_before = 0
    for level in LEVELS:
        for todo in worklist.iterate_todos(level, writer.get_maker_key(level), context.read_counts()):
            fresh = _take_first(todo.fresh, limit, target_counts.total())
            retried = _take_first(todo.retried, limit, target_counts.total() + len(fresh))
            failed_before += len(retried)
            target_counts[level] += len(fresh) + len(retried)
            batches += ((level, batch) for batch in writer.build_batches([*fresh, *retried]))
        if batches:
            break
    target_counts = +target_counts
    n_targets = target_counts.total()
    tokens, reply_tokens = sum(batch.tokens for _, batch in batches), n_targets * TOKENS_PER_SENTENCE
    seconds = context.cache.estimate_seconds_per_summary(writer.model_name)
    coverage = worklist.coverage
    return EnrichPlan(
        model=writer.model_name,
        pieces=dict(target_counts),
        failed_before=failed_before,
        share=(coverage.written, coverage.total),
        input_tokens=tokens,
        output_tokens=reply_tokens,
        cost=writer.compute_cost(tokens, reply_tokens),
        seconds=None if seconds is None else seconds * n_targets,
        first=[target.place for _, batch in batches for target in batch.targets][:_MAX_LISTED_PLACES],
        batches=[
            PlannedBatch(level, batch.prompt, [_describe_target(target) for target in batch.targets])
            for level, batch in batches
        ],
    )


def _take_first(targets: Iterable[SummaryTarget], limit: int | None, n_taken: int) -> list[SummaryTarget]:
    return list(targets if limit is None else islice(targets, max(0, limit - n_taken)))


def _describe_target(target: SummaryTarget) -> dict[str, str]:
    return {"place": target.place, "id": target.id} if target.id else {"place": target.place}
