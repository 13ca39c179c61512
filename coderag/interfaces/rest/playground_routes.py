"""Routes of the search playground: previews, options and experiments."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter, Response

from coderag.app import CodeRAG
from coderag.config.sections import MAX_RESULTS
from coderag.engine.search_options import RankingSettings, SearchOptions, get_ranking_settings, replace_ranking
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.playground_bodies import MAX_PAGE, ExperimentBody, PreviewBody
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.search_preview import PreviewReply, build_previews
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.retrieval.explanation import Explanation
from coderag.retrieval.rank_moves import RankedPlace, RankMove, compare_rankings

router = APIRouter(route_class=StrictRoute, tags=["search"])


@dataclass(frozen=True, slots=True)
class ExperimentRun:
    """A query ranked with some settings.

    Attributes:
        settings: Settings of the ranking.
        explanation: Its results, each with the reasons for its rank.
        moves: Moves in rank against the saved settings: the results in their order, then those that are gone.
    """

    settings: RankingSettings
    explanation: Explanation
    moves: Sequence[RankMove]


@dataclass(frozen=True, slots=True)
class ExperimentReply:
    """A query ranked with the saved settings, and with those of an experiment."""

    query: str
    root: str
    saved: ExperimentRun
    variants: Sequence[ExperimentRun]


@router.post("/search/preview", response_model=PreviewReply, summary="Search for code as you type")
async def preview_search(body: PreviewBody, runner: RunnerDependency) -> Response:
    """Find the declarations for a query as `POST /api/v1/search`, with matching lines instead of their whole text.

    `next_offset` of the reply is the `offset` of the next page.
    """
    return await runner.reply(partial(_search_preview, runner, body))


@router.get("/search/options", response_model=SearchOptions, summary="Get the options of a search")
async def search_options(root: RootParameter, runner: RunnerDependency) -> Response:
    """Return what searches of a repository can be filtered by, and the signals and settings of its ranking."""
    return await runner.reply(partial(_list_options, runner, root))


@router.post("/experiment", response_model=ExperimentReply, summary="Try other settings of the ranking")
async def experiment(body: ExperimentBody, runner: RunnerDependency) -> Response:
    """Rank a query with the saved settings and with one or two others, and return what moves.

    The settings hold for this request only.
    """
    return await runner.reply(partial(_run_experiment, runner, body), is_long=True)


def _search_preview(runner: RequestRunner, body: PreviewBody) -> PreviewReply:
    with runner.hold_repository(body.root) as repository:
        started = time.perf_counter()
        engine = repository.engine
        end = min(body.offset + (body.top_k or min(engine.settings.search.top_k, MAX_PAGE)), MAX_RESULTS)
        hits = engine.search(body.query, top_k=end, filters=body.to_filters())
        if not body.offset:
            runner.recorder.record(repository, "search", body, hits, started)
        previews = build_previews(hits[body.offset :], body.query)
        return PreviewReply(
            query=body.query,
            root=repository.place,
            repository=repository.name,
            hits=previews,
            evidence=hits.evidence,
            confidence=hits.confidence,
            not_indexed=hits.not_indexed,
            notes=hits.notes,
            next_offset=end if len(hits) == end < MAX_RESULTS else None,
            ms=round((time.perf_counter() - started) * 1e3, 2),
        )


def _list_options(runner: RequestRunner, root: str) -> SearchOptions:
    with runner.hold_repository(root) as repository:
        return repository.engine.list_options()


def _run_experiment(runner: RequestRunner, body: ExperimentBody) -> ExperimentReply:
    with runner.hold_repository(body.root) as repository:
        engine = repository.engine
        saved = _run_settings(engine, body, get_ranking_settings(engine.settings.search), None)
        variants = [_run_settings(engine, body, variant.to_settings(), saved) for variant in body.variants]
        return ExperimentReply(body.query, repository.place, saved, variants)


def _run_settings(
    engine: CodeRAG, body: ExperimentBody, ranking: RankingSettings, saved: ExperimentRun | None
) -> ExperimentRun:
    """Rank a query with some settings, and compare the result with that of the saved ones."""
    variant = engine.with_search(replace_ranking(engine.settings.search, ranking))
    explanation = variant.explain(body.query, top_k=body.top_k, filters=body.to_filters())
    before = saved.explanation if saved else explanation
    return ExperimentRun(ranking, explanation, compare_rankings(_list_places(before), _list_places(explanation)))


def _list_places(explanation: Explanation) -> list[RankedPlace]:
    return [
        RankedPlace(result.path, result.name, result.kind, result.start_line, result.end_line)
        for result in explanation.results
    ]
