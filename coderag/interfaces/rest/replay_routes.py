"""Routes that run recorded searches again and compare their results."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter, Response
from pydantic import ValidationError

from coderag.app import CodeRAG
from coderag.engine.query_replay import compare_with_record, count_compared
from coderag.engine.search_options import replace_ranking
from coderag.errors import CodeRAGError, InvalidQueryError, UnknownNameError
from coderag.interfaces.rest.bodies import FilterBody
from coderag.interfaces.rest.playground_bodies import MAX_REPLAYS, ReplayBody
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.retrieval.rank_moves import RankMove
from coderag.schema.search import Filters
from coderag.schema.vocabulary import Evidence
from coderag.stores.pointer import read_pointer
from coderag.stores.query_log import QueryLog, QueryRecord
from coderag.workspace.engines import get_index_folder

router = APIRouter(route_class=StrictRoute, tags=["queries"])


@dataclass(frozen=True, slots=True)
class Replay:
    """A recorded search, run again.

    Attributes:
        time: Time of the recorded search, ISO 8601.
        generation: Generation of the index that answered then.
        previous_evidence: The verdict then.
        evidence: The verdict now.
        is_changed: Whether a result moved, is new or is gone.
        moves: Moves in rank: the results of now in their order, then those that are gone.
        ms: Milliseconds that the search took.
        error: Reason why it could not be run again; empty if it was.
    """

    id: str
    query: str
    time: str
    generation: int
    previous_evidence: Evidence
    evidence: Evidence
    is_changed: bool
    moves: Sequence[RankMove]
    ms: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class ReplayReply:
    """Recorded searches, run again on the index as it is now.

    Attributes:
        generation: Generation of the index now.
        changed: Number of searches whose results differ.
    """

    root: str
    generation: int
    replays: Sequence[Replay]
    changed: int


@router.post("/queries/replay", response_model=ReplayReply, summary="Run recorded searches again")
async def replay_queries(body: ReplayBody, runner: RunnerDependency) -> Response:
    """Run recorded searches on the index as it is now, and compare with the recorded results."""
    return await runner.reply(partial(_replay_all, runner, body), is_long=True)


def _replay_all(runner: RequestRunner, body: ReplayBody) -> ReplayReply:
    with runner.hold_repository(body.root) as repository:
        engine = repository.engine
        folder = get_index_folder(engine)
        search = engine.settings.search
        variant = engine.with_search(replace_ranking(search, body.ranking.to_settings()) if body.ranking else search)
        records = _select_records(runner.recorder.run(QueryLog(folder).read_records), body.ids)
        replays = [_replay(variant, record) for record in records]
        pointer = read_pointer(folder)
        generation = pointer.generation if pointer else 0
        return ReplayReply(repository.place, generation, replays, sum(replay.is_changed for replay in replays))


def _select_records(records: Sequence[QueryRecord], ids: Sequence[str] | None) -> list[QueryRecord]:
    searches = [record for record in records if record.kind == "search"]
    if ids is None:
        return searches[:MAX_REPLAYS]
    by_id = {record.id: record for record in searches}
    for record_id in ids:
        if record_id not in by_id:
            raise UnknownNameError(f"there is no recorded search {record_id!r}", hint="GET /api/v1/queries lists them.")
    return [by_id[record_id] for record_id in dict.fromkeys(ids)]


def _replay(engine: CodeRAG, record: QueryRecord) -> Replay:
    started = time.perf_counter()
    moves: Sequence[RankMove] = ()
    evidence, error = record.evidence, ""
    try:
        size = count_compared(record, engine.settings.search.top_k)
        hits = engine.search(record.query, top_k=max(size, 1), filters=_parse_filters(record))
        evidence, moves = hits.evidence, compare_with_record(record, hits[:size])
    except CodeRAGError as failure:
        error = str(failure)
    return Replay(
        id=record.id,
        query=record.query,
        time=record.time,
        generation=record.generation,
        previous_evidence=record.evidence,
        evidence=evidence,
        is_changed=evidence != record.evidence or any(move.change != "same" for move in moves),
        moves=moves,
        ms=round((time.perf_counter() - started) * 1e3, 2),
        error=error,
    )


def _parse_filters(record: QueryRecord) -> Filters | None:
    if record.is_shortened:
        raise InvalidQueryError("the query was too long to be recorded as a whole")
    try:
        return FilterBody.model_validate(dict(record.filters)).to_filters()
    except ValidationError as error:
        raise InvalidQueryError("its recorded filters are not valid any more") from error
