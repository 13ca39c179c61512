"""Summaries of a repository by its language model, behind `CodeRAG.enrich` and ``coderag enrich``."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, Protocol

from coderag.config.settings import Settings
from coderag.errors import ConfigurationError, ModelUnavailableError
from coderag.ingestion.cache_directory import resolve_cache_directory
from coderag.ingestion.summaries.enrich_results import EnrichPlan, EnrichProgress, EnrichReport
from coderag.ingestion.summaries.enricher import EnrichContext, Enricher, EnrichLimits
from coderag.ingestion.summaries.sentence_writer import PromptGuard, SentenceWriter
from coderag.ingestion.summaries.summary_import import import_summaries
from coderag.ingestion.summaries.summary_plan import plan_summaries
from coderag.ingestion.summaries.worklist import EXCLUDED_ROLES
from coderag.models.dense import DenseModel
from coderag.models.llms.language_models import LanguageModels
from coderag.models.llms.providers import get_max_concurrency
from coderag.prompting import Prompts
from coderag.stores.index_locations import find_prompts_folder
from coderag.stores.index_store import IndexStore
from coderag.stores.search_counts import SearchCounts
from coderag.stores.summary_cache import SummaryCache
from coderag.system.event_loop import run_sync
from coderag.text.path_masking import MaskedPaths, PathMask

if TYPE_CHECKING:
    from coderag.models.protocols import LanguageModel

EnrichProgressCallback = Callable[[EnrichProgress], None]

_POLL_S: Final = 2.0  # interval between checks for a new generation
_FAILURE_PAUSE_S: Final = 60.0  # before a failed model is tried again
_RETRY_NS: Final = 3_600_000_000_000  # one hour: age of failures that `follow` retries


class EnrichableIndex(Protocol):
    """View of `coderag.engine.open_index.OpenIndex` that summaries need."""

    @property
    def path_mask(self) -> PathMask | None:
        """Mask of paths for remote servers."""
        ...

    def wait_for_renewal(self) -> None:
        """Wait until searches see committed summaries."""
        ...


class Summaries:
    """Summaries of one repository.

    Args:
        root: Folder of the repository.
        settings: Settings of the repository.
        store: Store of its index.
        dense_model: Returns the configured embedding model.
        language_models: Provides the model that writes.
        index: The open index of this process's searches.
        counts: Counts of search results by declaration.
    """

    def __init__(
        self,
        root: Path,
        settings: Settings,
        store: IndexStore,
        dense_model: Callable[[], DenseModel],
        language_models: LanguageModels,
        index: EnrichableIndex,
        counts: SearchCounts,
    ) -> None:
        self._root = root
        self._settings = settings
        self._store = store
        self._dense_model = dense_model
        self._language_models = language_models
        self._index = index
        self._counts = counts

    def write(
        self,
        limits: EnrichLimits,
        *,
        include: Collection[str] = (),
        progress: EnrichProgressCallback | None = None,
        stop: Event | None = None,
        failed_before_ns: int | None = None,
    ) -> EnrichReport:
        """Write summaries until nothing is left or a limit is reached. See `CodeRAG.enrich`."""
        if limits.max_cost is None:
            limits = replace(limits, max_cost=self._settings.summaries.max_cost)
        with self._open_context(include) as context:
            run = Enricher(
                context,
                self._build_writer(self._language_models.model),
                limits,
                max_concurrency=get_max_concurrency(self._settings.llm),
                progress=progress,
                stop=stop,
                failed_before_ns=failed_before_ns,
            ).run()
            report = run_sync(run)
        self._index.wait_for_renewal()
        return report

    def follow(
        self,
        limits: EnrichLimits,
        *,
        include: Collection[str] = (),
        progress: EnrichProgressCallback | None = None,
        stop: Event | None = None,
    ) -> Iterator[EnrichReport]:
        """Write summaries now and whenever the index changes; yield the report of each run.

        An unreachable model is an error in the first run; later runs wait for it.

        Args:
            limits: Limits of all runs together.
            include, progress, stop: As for `write`.
        """
        stop = stop or Event()
        deadline = float("inf") if limits.budget_s is None else time.monotonic() + limits.budget_s
        generation, is_failing, retry_at, failed_before_ns = -1, False, 0.0, None
        while not stop.is_set() and time.monotonic() < deadline:
            is_due = time.monotonic() >= retry_at if is_failing else self._get_generation() != generation
            if not is_due:
                stop.wait(_POLL_S)
                continue
            retry_at = time.monotonic() + _FAILURE_PAUSE_S
            try:
                report = self.write(
                    limits, include=include, progress=progress, stop=stop, failed_before_ns=failed_before_ns
                )
            except ModelUnavailableError:
                if failed_before_ns is None:
                    raise
                is_failing = True
                continue
            yield report
            if report.stopped not in ("done", "failing"):
                return
            generation, is_failing = report.generation, report.stopped == "failing"
            limits = _subtract_usage(limits, report, deadline)
            failed_before_ns = time.time_ns() - _RETRY_NS

    def plan(self, *, limit: int | None = None, include: Collection[str] = ()) -> EnrichPlan:
        """Plan the requests of `write`, prompts included; nothing is sent, and no model is needed.

        Args:
            limit: Maximum number of targets.
            include: As for `write`.

        Raises:
            IndexNotFoundError: Nothing is indexed yet.
        """
        with self._open_context(include) as context:
            return plan_summaries(context, self._build_writer(self._language_models.model), limit=limit)

    def import_file(self, path: Path) -> EnrichReport:
        """Import summaries from a file of JSON lines (docs/summaries.md).

        Raises:
            InvalidQueryError: The file cannot be read or a line is invalid; nothing is imported.
            IndexNotFoundError: Nothing is indexed yet.
        """
        with self._open_context(EXCLUDED_ROLES) as context:
            report = import_summaries(context, path)
        self._index.wait_for_renewal()
        return report

    # Internals

    @contextmanager
    def _open_context(self, include: Collection[str]) -> Iterator[EnrichContext]:
        if unknown_roles := sorted(set(include) - set(EXCLUDED_ROLES)):
            hint = f"Valid roles are {', '.join(EXCLUDED_ROLES)}; all others are always summarized."
            raise ConfigurationError(f"{unknown_roles[0]!r} is not a role that can be included", hint=hint)
        model, every = self._dense_model(), self._settings.summaries.commit_every
        with SummaryCache(resolve_cache_directory(self._root, self._store.directory)) as cache:
            yield EnrichContext(self._store, model, cache, self._counts.read_counts, include, every)

    def _build_writer(self, model: "LanguageModel | None") -> SentenceWriter:
        from coderag.answering.injection import fence_data, inspect_text  # noqa: PLC0415  # only requests to a model need it

        guard = PromptGuard(
            fence=lambda text, language: fence_data(inspect_text(text).text, language),
            find_injections=lambda text: inspect_text(text).findings,
        )
        mask, paths = self._index.path_mask, None
        if mask is not None:
            paths = MaskedPaths(mask, (record.path for record in self._store.open().read_files()))
        prompts = Prompts(find_prompts_folder(self._root, self._settings))
        return SentenceWriter(model, prompts, guard, self._settings.llm, self._settings.summaries.batch, paths)

    def _get_generation(self) -> int:
        pointer = self._store.read_pointer()
        return pointer.generation if pointer else 0


def _subtract_usage(limits: EnrichLimits, report: EnrichReport, deadline: float) -> EnrichLimits:
    """Return the limits that remain after a run."""
    return EnrichLimits(
        budget_s=None if limits.budget_s is None else max(0.0, deadline - time.monotonic()),
        max_cost=None if limits.max_cost is None else max(0.0, limits.max_cost - (report.cost or 0.0)),
        limit=None
        if limits.limit is None
        else max(0, limits.limit - sum(report.written.values()) - len(report.failed)),
    )
