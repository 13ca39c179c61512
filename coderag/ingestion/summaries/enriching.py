"""One run of summarising: the most used code first, some requests side by side, committed in small generations."""

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
from coderag.ingestion.summaries.asking import NO_MODEL_HINT, Batch, Outcome, SentenceWriter
from coderag.ingestion.summaries.committing import commit_summaries
from coderag.ingestion.summaries.results import EnrichProgress, EnrichReport, Stop
from coderag.ingestion.summaries.subjects import LEVELS, Level, Piece
from coderag.ingestion.summaries.work import Todo, Work
from coderag.models.dense import DenseModel, check_embedding
from coderag.stores.index_store import IndexStore
from coderag.stores.search_counts import ResultKey
from coderag.stores.summary_cache import SummaryCache

Progress = Callable[[EnrichProgress], None]

_LOOK_S: Final = 0.2  # how often it is looked whether to stop
_GRACE_S: Final = 10.0  # for requests that are under way when the time is up
_WAIT_S: Final = 60.0  # for another writer, at the end of a run
_RETRY_S: Final = 5.0  # after another writer was found at work
_COMMIT_SHARE: Final = 0.05  # of the time, at most, is spent on writing the index
_MOST_ERRORS: Final = 3  # of the model, one after another, before it is left alone
_NOBODYS_FAULT: Final = (ModelAuthenticationError, ModelUnavailableError)  # of the code that was asked about

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may use; None is as much as it takes.

    Attributes:
        budget_s: Seconds; requests that are under way then have a moment to end.
        max_cost: By the prices of the settings.
        limit: Sentences asked for.
    """

    budget_s: float | None = None
    max_cost: float | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Target:
    """What is summarised, and where it goes.

    Attributes:
        model: The embedding model of the index.
        counts: Returns how often searches have returned what.
        include: Roles of files to summarise that are left out by default.
        commit_every: New sentences after which the index is written.
    """

    store: IndexStore
    model: DenseModel
    cache: SummaryCache
    counts: Callable[[], Mapping[ResultKey, int]]
    include: Collection[str] = ()
    commit_every: int = 200

    def work(self, failed_before_ns: int | None = None) -> Work:
        """Return what is to be done in the current generation. Raises `IndexNotFoundError`."""
        return Work(self.store.open(), self.cache, self.include, failed_before_ns)


class Enricher:
    """One run.

    Args:
        target: What is summarised.
        writer: Asks the language model.
        limits: What the run may use.
        side_by_side: Requests at the same time.
        progress: Called as the run goes on.
        stop: Ends the run when set; requests that are under way are given up.
        failed_before_ns: As of `Work`.

    Raises:
        ConfigurationError: There is no language model; or the cost is limited, and nothing tells what a request costs.
    """

    def __init__(
        self,
        target: Target,
        writer: SentenceWriter,
        limits: Limits,
        *,
        side_by_side: int = 1,
        progress: Progress | None = None,
        stop: Event | None = None,
        failed_before_ns: int | None = None,
    ) -> None:
        if not writer.model_name:
            raise ConfigurationError("no language model is configured to write summaries", hint=NO_MODEL_HINT)
        if limits.max_cost is not None and writer.cost(0, 0) is None:
            hint = "Set llm.price_per_million_input_tokens and llm.price_per_million_output_tokens."
            raise ConfigurationError("the cost is limited, but the settings do not tell the model's prices", hint=hint)
        self._target = target
        self._writer = writer
        self._limits = limits
        self._side_by_side = side_by_side
        self._progress = progress or (lambda _: None)
        self._stop = stop or Event()
        self._failed_before_ns = failed_before_ns
        self._started = time.monotonic()
        self._ended: Stop | None = None
        self._running: dict[asyncio.Task[Outcome], Batch] = {}
        self._reserved = 0.0  # cost of what is under way, about
        self._tried: set[str] = set()
        self._has_given_back = False  # of `_tried`, to be asked for once more
        self._places: dict[str, str] = {}
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
        """Write until nothing is left or something is used up, and return what was done.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
            ModelError: The language model failed at everything; or the embedding model did at what was written.
            StoreError: What was written cannot be stored.
        """
        # Whatever is wrong with the index is said before anything is paid for.
        check_embedding(self._target.store.open().pointer.embedding, self._target.model)
        await self._commit(timeout_s=0)  # what a killed run has left, or one that could not wait for another writer
        try:
            for level in LEVELS:
                await self._write_level(level)
        finally:  # also when it is cancelled: what was paid for is in the cache, and soon in the index
            for task in self._running:
                task.cancel()
        await self._commit(timeout_s=_WAIT_S)
        if self._ended == "failing" and not self._written.total() and self._last_error is not None:
            raise self._last_error
        return self._report()

    async def _write_level(self, level: Level) -> None:
        """Write of all pieces of a level."""
        if level != "chunk" and self._ended is None:
            await self._commit(timeout_s=_WAIT_S)  # it is made from what was written before
        self._level, self._done = level, 0
        maker = self._writer.maker(level)
        while self._ended is None:
            work = self._target.work(self._failed_before_ns)
            self._has_given_back = False
            try:
                for todo in work.todos(level, maker, self._target.counts()):
                    if not await self._write(todo, maker):
                        break
                else:
                    if self._is_current(work) and not self._has_given_back:
                        return
            except StoreError:  # a generation is deleted when others have made many new ones meanwhile
                if self._is_current(work):
                    raise

    def _is_current(self, work: Work) -> bool:
        pointer = self._target.store.read_pointer()
        return pointer is None or pointer.generation == work.generation

    async def _write(self, todo: Todo, maker: str) -> bool:
        """Write of pieces; return whether that were all, and not only those until the index was written."""
        self._target.cache.prefer_maker(maker, todo.outdated)
        self._uncommitted += len(todo.outdated)
        new = self._untried(todo.fresh)
        again = ([piece] for piece in self._untried(todo.again))  # one of several may have spoilt a batch
        batches = chain(self._writer.batches(new), map(self._writer.batch, again))
        under_way = sum(len(batch.pieces) for batch in self._running.values())
        self._total = self._done + under_way + len(todo.subjects - self._tried)
        while True:
            is_exhausted = not self._begin(batches)
            if not self._running:
                return is_exhausted
            await asyncio.wait(self._running, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in self._running if task.done()]:
                self._take(self._running.pop(task), task.result(), maker)
            if self._is_cut_off():
                for task in self._running:
                    task.cancel()
                self._running.clear()
            if self._uncommitted >= self._target.commit_every and await self._commit(timeout_s=0):
                return False  # the texts of the generation before are soon deleted

    def _untried(self, pieces: Iterable[Piece]) -> Iterator[Piece]:
        return (piece for piece in pieces if piece.subject not in self._tried)

    def _begin(self, batches: Iterator[Batch]) -> bool:
        """Begin as many requests as may run side by side; return whether there may be more batches."""
        while len(self._running) < self._side_by_side and self._may_begin():
            batch = next(batches, None)
            if batch is None:
                return False
            batch = self._within_limit(batch)
            cost = self._writer.expected_cost(batch) or 0.0
            if self._limits.max_cost is not None and self._cost() + self._reserved + cost > self._limits.max_cost:
                self._ended = "cost"
                return False
            self._reserved += cost
            self._tried |= {piece.subject for piece in batch.pieces}
            self._places |= {piece.subject: piece.place for piece in batch.pieces}
            self._running[asyncio.create_task(self._writer.write(batch))] = batch
        return self._ended is None

    def _within_limit(self, batch: Batch) -> Batch:
        limit = self._limits.limit
        left = len(batch.pieces) if limit is None else limit - len(self._tried)
        return batch if left >= len(batch.pieces) else self._writer.batch(batch.pieces[:left])

    def _may_begin(self) -> bool:
        """Whether another request may be sent; if not, note why."""
        limits = self._limits
        if self._ended is None:
            if self._stop.is_set():
                self._ended = "stopped"
            elif limits.budget_s is not None and self._elapsed() >= limits.budget_s:
                self._ended = "budget"
            elif limits.limit is not None and len(self._tried) >= limits.limit:
                self._ended = "limit"
            elif self._errors >= _MOST_ERRORS:
                self._ended = "failing"
        return self._ended is None

    def _is_cut_off(self) -> bool:
        """Whether what is under way is to be given up."""
        budget_s = self._limits.budget_s
        return self._stop.is_set() or (budget_s is not None and self._elapsed() >= budget_s + _GRACE_S)

    def _take(self, batch: Batch, outcome: Outcome, maker: str) -> None:
        """Keep what came of a batch."""
        cache = self._target.cache
        self._reserved -= self._writer.expected_cost(batch) or 0.0
        cache.put(maker, outcome.written)
        self._errors = self._errors + 1 if outcome.error else 0
        self._last_error = outcome.error or self._last_error
        if isinstance(outcome.error, _NOBODYS_FAULT):
            self._tried.difference_update(piece.subject for piece in batch.pieces)
            self._has_given_back = True
            return
        cache.record_failures(maker, outcome.faults)
        self._faults |= outcome.faults
        self._written[self._level] += len(outcome.written)
        self._uncommitted += len(outcome.written)
        self._tokens.update(input=outcome.input_tokens, output=outcome.output_tokens)
        self._done += len(batch.pieces)
        tokens = self._tokens.total()
        self._progress(EnrichProgress(self._level, self._done, self._total, tokens, self._known_cost()))

    async def _commit(self, *, timeout_s: float) -> bool:
        """Write the index, unless that was done a moment ago; return whether there is a new generation."""
        if timeout_s == 0 and time.monotonic() < self._next_commit:
            return False
        target, started = self._target, time.monotonic()
        self._progress(EnrichProgress("commit", self._done, self._total, self._tokens.total(), self._known_cost()))
        try:
            made = await asyncio.to_thread(
                commit_summaries, target.store, target.model, target.cache, timeout_s=timeout_s
            )
        except IndexLockedError:
            if timeout_s:
                _logger.warning(
                    "Another process writes the index: the summaries are kept, and come in with the next run."
                )
            self._next_commit = time.monotonic() + _RETRY_S
            return False
        took = time.monotonic() - started
        self._next_commit = time.monotonic() + took / _COMMIT_SHARE
        self._uncommitted = 0
        return made is not None

    def _elapsed(self) -> float:
        return time.monotonic() - self._started

    def _cost(self) -> float:
        return self._known_cost() or 0.0

    def _known_cost(self) -> float | None:
        return self._writer.cost(self._tokens["input"], self._tokens["output"])

    def _report(self) -> EnrichReport:
        elapsed_s = self._elapsed()
        cache, model = self._target.cache, self._writer.model_name
        if self._written["chunk"]:
            cache.record_speed(model, self._written["chunk"], elapsed_s)
        work = self._target.work()
        share = work.share
        pointer = self._target.store.read_pointer()
        return EnrichReport(
            stopped=self._ended or "done",
            written=dict(+self._written),
            failed=[(self._places[subject], fault) for subject, fault in self._faults.items()],
            remaining=len(work.chunks(self._writer.maker("chunk"), {}).subjects),
            share=(share.written, share.total),
            input_tokens=self._tokens["input"],
            output_tokens=self._tokens["output"],
            cost=self._known_cost(),
            generation=pointer.generation if pointer else 0,
            elapsed_s=elapsed_s,
            model=model,
            error=str(self._last_error) if self._ended == "failing" else "",
        )
