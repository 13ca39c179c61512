"""Summarizing run: most used code first, concurrent requests, commits of small generations."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from threading import Event
from typing import Final

from coderag.errors import (
    ConfigurationError,
    IndexLockedError,
    ModelAuthenticationError,
    ModelError,
    ModelUnavailableError,
    StoreError,
)
from coderag.ingestion.summaries.enrich_results import EnrichProgress, EnrichReport, StopReason
from coderag.ingestion.summaries.sentence_writer import NO_MODEL_HINT, BatchOutcome, SentenceWriter, SummaryBatch
from coderag.ingestion.summaries.summary_commit import commit_summaries
from coderag.ingestion.summaries.targets import LEVELS, Level, SummaryTarget
from coderag.ingestion.summaries.worklist import Todo, Worklist
from coderag.models.dense import DenseModel, check_embedding
from coderag.stores.index_store import IndexStore
from coderag.stores.search_counts import ResultKey
from coderag.stores.summary_cache import SummaryCache

EnrichProgressCallback = Callable[[EnrichProgress], None]

_POLL_S: Final = 0.2  # interval between checks for a stop
_GRACE_S: Final = 10.0  # for running requests after the time limit
_LOCK_TIMEOUT_S: Final = 60.0  # for another writer, at the end of a run
_COMMIT_RETRY_S: Final = 5.0  # after another writer held the lock
_MAX_COMMIT_SHARE: Final = 0.05  # maximum share of the time spent on commits
_MAX_ERRORS: Final = 3  # consecutive errors of the model before the run ends
_SERVER_ERRORS: Final = (ModelAuthenticationError, ModelUnavailableError)  # not caused by the summarized code

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EnrichLimits:
    """Limits of a run; None is unlimited.

    Attributes:
        budget_s: Seconds; running requests then have a short grace period.
        max_cost: Maximum cost, by the prices of the settings.
        limit: Maximum number of requested sentences.
    """

    budget_s: float | None = None
    max_cost: float | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class EnrichContext:
    """Index, models and cache that a run works with.

    Attributes:
        model: The embedding model of the index.
        read_counts: Returns how often searches have returned each declaration.
        include: Roles of files to summarize although they are excluded by default.
        commit_every: New sentences between commits.
    """

    store: IndexStore
    model: DenseModel
    cache: SummaryCache
    read_counts: Callable[[], Mapping[ResultKey, int]]
    include: Collection[str] = ()
    commit_every: int = 200

    def load_worklist(self, failed_before_ns: int | None = None) -> Worklist:
        """Load the worklist of the current generation. Raises `IndexNotFoundError`."""
        return Worklist(self.store.open(), self.cache, self.include, failed_before_ns)


class Enricher:
    """A single run of summarizing.

    Args:
        context: Index, models and cache.
        writer: Sends requests to the language model.
        limits: Limits of the run.
        max_concurrency: Maximum number of concurrent requests.
        progress: Called as the run goes on.
        stop: Ends the run when set; running requests are cancelled.
        failed_before_ns: As for `Worklist`.

    Raises:
        ConfigurationError: There is no language model; or the cost is limited, but the settings have no prices.
    """

    def __init__(
        self,
        context: EnrichContext,
        writer: SentenceWriter,
        limits: EnrichLimits,
        *,
        max_concurrency: int = 1,
        progress: EnrichProgressCallback | None = None,
        stop: Event | None = None,
        failed_before_ns: int | None = None,
    ) -> None:
        if not writer.model_name:
            raise ConfigurationError("no language model is configured to write summaries", hint=NO_MODEL_HINT)
        if limits.max_cost is not None and writer.compute_cost(0, 0) is None:
            hint = "Set llm.price_per_million_input_tokens and llm.price_per_million_output_tokens."
            raise ConfigurationError("the cost is limited, but the settings have no prices for the model", hint=hint)
        self._context = context
        self._writer = writer
        self._limits = limits
        self._max_concurrency = max_concurrency
        self._progress = progress or (lambda _: None)
        self._stop = stop or Event()
        self._failed_before_ns = failed_before_ns
        self._started = time.monotonic()
        self._stop_reason: StopReason | None = None
        self._running: dict[asyncio.Task[BatchOutcome], SummaryBatch] = {}
        self._reserved = 0.0  # estimated cost of running requests
        self._tried: set[str] = set()
        self._has_returned_targets = False  # whether targets left `_tried` to be requested again
        self._places_by_subject: dict[str, str] = {}
        self._faults: dict[str, str] = {}
        self._written: Counter[str] = Counter()
        self._tokens: Counter[str] = Counter()
        self._errors = 0
        self._last_error: ModelError | None = None
        self._uncommitted = 0
        self._next_commit = 0.0
        self._level: Level = "chunk"
        self._done = self._total = 0

    async def run(self) -> EnrichReport:
        """Write summaries until nothing is left or a limit is reached, and report the result.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            ModelError: The language model failed at every request; or the embedding model failed at the sentences.
            StoreError: The sentences cannot be stored.
        """
        # Errors of the index are raised before any request is paid for.
        check_embedding(self._context.store.open().pointer.embedding, self._context.model)
        await self._commit(timeout_s=0)  # sentences that an interrupted run left in the cache
        try:
            for level in LEVELS:
                await self._write_level(level)
        finally:  # also after a cancellation: paid sentences are in the cache
            for task in self._running:
                task.cancel()
        await self._commit(timeout_s=_LOCK_TIMEOUT_S)
        if self._stop_reason == "failing" and not self._written.total() and self._last_error is not None:
            raise self._last_error
        return self._build_report()

    async def _write_level(self, level: Level) -> None:
        """Write summaries of all targets of a level."""
        if level != "chunk" and self._stop_reason is None:
            await self._commit(timeout_s=_LOCK_TIMEOUT_S)  # its targets consist of earlier sentences
        self._level, self._done = level, 0
        maker_key = self._writer.get_maker_key(level)
        while self._stop_reason is None:
            worklist = self._context.load_worklist(self._failed_before_ns)
            self._has_returned_targets = False
            try:
                for todo in worklist.iterate_todos(level, maker_key, self._context.read_counts()):
                    if not await self._write_todo(todo, maker_key):
                        break
                else:
                    if self._is_current(worklist) and not self._has_returned_targets:
                        return
            except StoreError:  # the generation was deleted after many commits by others
                if self._is_current(worklist):
                    raise

    def _is_current(self, worklist: Worklist) -> bool:
        pointer = self._context.store.read_pointer()
        return pointer is None or pointer.generation == worklist.generation

    async def _write_todo(self, todo: Todo, maker_key: str) -> bool:
        """Write summaries of a todo; return whether it is exhausted, not just interrupted by a commit."""
        self._context.cache.prefer_maker(maker_key, todo.outdated)
        self._uncommitted += len(todo.outdated)
        untried = self._skip_tried(todo.fresh)
        retried = (
            [target] for target in self._skip_tried(todo.retried)
        )  # alone: another target may have spoilt their batch
        batches = chain(self._writer.build_batches(untried), map(self._writer.build_batch, retried))
        n_running = sum(len(batch.targets) for batch in self._running.values())
        self._total = self._done + n_running + len(todo.subjects - self._tried)
        while True:
            is_exhausted = not self._start_requests(batches)
            if not self._running:
                return is_exhausted
            await asyncio.wait(self._running, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in self._running if task.done()]:
                self._record_outcome(self._running.pop(task), task.result(), maker_key)
            if self._is_overdue():
                for task in self._running:
                    task.cancel()
                self._running.clear()
            if self._uncommitted >= self._context.commit_every and await self._commit(timeout_s=0):
                return False  # the texts of the previous generation are deleted soon

    def _skip_tried(self, targets: Iterable[SummaryTarget]) -> Iterator[SummaryTarget]:
        return (target for target in targets if target.subject not in self._tried)

    def _start_requests(self, batches: Iterator[SummaryBatch]) -> bool:
        """Start as many requests as may run concurrently; return whether more batches may follow."""
        while len(self._running) < self._max_concurrency and self._can_start():
            batch = next(batches, None)
            if batch is None:
                return False
            batch = self._truncate_batch(batch)
            cost = self._writer.estimate_cost(batch) or 0.0
            if (
                self._limits.max_cost is not None
                and self._compute_cost() + self._reserved + cost > self._limits.max_cost
            ):
                self._stop_reason = "cost"
                return False
            self._reserved += cost
            self._tried |= {target.subject for target in batch.targets}
            self._places_by_subject |= {target.subject: target.place for target in batch.targets}
            self._running[asyncio.create_task(self._writer.write(batch))] = batch
        return self._stop_reason is None

    def _truncate_batch(self, batch: SummaryBatch) -> SummaryBatch:
        limit = self._limits.limit
        remaining = len(batch.targets) if limit is None else limit - len(self._tried)
        return batch if remaining >= len(batch.targets) else self._writer.build_batch(batch.targets[:remaining])

    def _can_start(self) -> bool:
        """Return whether another request may be sent; if not, set the stop reason."""
        limits = self._limits
        if self._stop_reason is None:
            if self._stop.is_set():
                self._stop_reason = "stopped"
            elif limits.budget_s is not None and self._compute_elapsed_s() >= limits.budget_s:
                self._stop_reason = "budget"
            elif limits.limit is not None and len(self._tried) >= limits.limit:
                self._stop_reason = "limit"
            elif self._errors >= _MAX_ERRORS:
                self._stop_reason = "failing"
        return self._stop_reason is None

    def _is_overdue(self) -> bool:
        """Return whether running requests have to be cancelled."""
        budget_s = self._limits.budget_s
        return self._stop.is_set() or (budget_s is not None and self._compute_elapsed_s() >= budget_s + _GRACE_S)

    def _record_outcome(self, batch: SummaryBatch, outcome: BatchOutcome, maker_key: str) -> None:
        """Record the outcome of a batch."""
        cache = self._context.cache
        self._reserved -= self._writer.estimate_cost(batch) or 0.0
        cache.put(maker_key, outcome.sentences)
        self._errors = self._errors + 1 if outcome.error else 0
        self._last_error = outcome.error or self._last_error
        if isinstance(outcome.error, _SERVER_ERRORS):
            self._tried.difference_update(target.subject for target in batch.targets)
            self._has_returned_targets = True
            return
        cache.record_failures(maker_key, outcome.faults)
        self._faults |= outcome.faults
        self._written[self._level] += len(outcome.sentences)
        self._uncommitted += len(outcome.sentences)
        self._tokens.update(input=outcome.input_tokens, output=outcome.output_tokens)
        self._done += len(batch.targets)
        tokens = self._tokens.total()
        self._progress(EnrichProgress(self._level, self._done, self._total, tokens, self._compute_known_cost()))

    async def _commit(self, *, timeout_s: float) -> bool:
        """Commit unless the last commit is recent; return whether there is a new generation."""
        if timeout_s == 0 and time.monotonic() < self._next_commit:
            return False
        context, started = self._context, time.monotonic()
        self._progress(
            EnrichProgress("commit", self._done, self._total, self._tokens.total(), self._compute_known_cost())
        )
        try:
            committed = await asyncio.to_thread(
                commit_summaries, context.store, context.model, context.cache, timeout_s=timeout_s
            )
        except IndexLockedError:
            if timeout_s:
                _logger.warning(
                    "Another process is writing the index: the summaries are cached and the next run adds them."
                )
            self._next_commit = time.monotonic() + _COMMIT_RETRY_S
            return False
        duration_s = time.monotonic() - started
        self._next_commit = time.monotonic() + duration_s / _MAX_COMMIT_SHARE
        self._uncommitted = 0
        return committed is not None

    def _compute_elapsed_s(self) -> float:
        return time.monotonic() - self._started

    def _compute_cost(self) -> float:
        return self._compute_known_cost() or 0.0

    def _compute_known_cost(self) -> float | None:
        return self._writer.compute_cost(self._tokens["input"], self._tokens["output"])

    def _build_report(self) -> EnrichReport:
        elapsed_s = self._compute_elapsed_s()
        cache, model = self._context.cache, self._writer.model_name
        if self._written["chunk"]:
            cache.record_speed(model, self._written["chunk"], elapsed_s)
        worklist = self._context.load_worklist()
        coverage = worklist.coverage
        pointer = self._context.store.read_pointer()
        return EnrichReport(
            stopped=self._stop_reason or "done",
            written=dict(+self._written),
            failed=[(self._places_by_subject[subject], fault) for subject, fault in self._faults.items()],
            remaining=len(worklist.select_chunks(self._writer.get_maker_key("chunk"), {}).subjects),
            share=(coverage.written, coverage.total),
            input_tokens=self._tokens["input"],
            output_tokens=self._tokens["output"],
            cost=self._compute_known_cost(),
            generation=pointer.generation if pointer else 0,
            elapsed_s=elapsed_s,
            model=model,
            error=str(self._last_error) if self._stop_reason == "failing" else "",
        )
