"""Routes for feedback on results, which becomes the questions of a golden set."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final, cast

from fastapi import APIRouter, Path, Response

from coderag.interfaces.rest.golden_export import export_golden
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.playground_bodies import FeedbackBody
from coderag.interfaces.rest.replies import ForgottenReply
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.stores.feedback import FeedbackCase, FeedbackPlace, FeedbackStore, ThumbVerdict
from coderag.workspace.engines import get_index_folder

router = APIRouter(route_class=StrictRoute, tags=["feedback"])

_JSON_LINES_TYPE: Final = "application/x-ndjson"
_EXPORT_NAME: Final = "coderag-feedback.jsonl"

CaseParameter = Annotated[str, Path(max_length=64, pattern=r"^[0-9a-f]+$", description="Id of the case.")]


@dataclass(frozen=True, slots=True)
class FeedbackReply:
    """Feedback on the results of a repository, last changed first.

    Attributes:
        complete: Number of cases that the golden set has: those with an answer, or marked as unanswerable.
    """

    root: str
    cases: Sequence[FeedbackCase]
    complete: int


@router.post("/feedback", response_model=FeedbackCase, summary="Give feedback on a result")
async def give_feedback(body: FeedbackBody, runner: RunnerDependency) -> Response:
    """Store whether a result answers its query; all feedback on one query is one case."""
    return await runner.reply(partial(_store_feedback, runner, body))


@router.get("/feedback", response_model=FeedbackReply, summary="List the feedback")
async def list_feedback(root: RootParameter, runner: RunnerDependency) -> Response:
    """List the feedback on the results of a repository, one case per query."""
    return await runner.reply(partial(_list_feedback, runner, root))


@router.get(
    "/feedback/export",
    summary="Export the feedback as a golden set",
    responses={200: {"content": {_JSON_LINES_TYPE: {"schema": {"type": "string"}}}, "description": "JSON lines."}},
    response_class=Response,
)
async def export_feedback(root: RootParameter, runner: RunnerDependency) -> Response:
    """Return the complete cases as JSON lines, the golden set that `coderag eval run` reads."""
    text = await runner.run(partial(_export, runner, root))
    headers = {"content-disposition": f'attachment; filename="{_EXPORT_NAME}"'}
    return Response(text.encode("utf-8", "backslashreplace"), media_type=_JSON_LINES_TYPE, headers=headers)


@router.delete("/feedback/{case}", response_model=ForgottenReply, summary="Delete feedback")
async def delete_feedback(case: CaseParameter, root: RootParameter, runner: RunnerDependency) -> Response:
    """Delete all feedback on one query."""
    return await runner.reply(partial(_delete, runner, root, case))


def _open_store(runner: RequestRunner, root: str) -> FeedbackStore:
    with runner.hold_repository(root) as repository:
        return FeedbackStore(get_index_folder(repository.engine))


def _store_feedback(runner: RequestRunner, body: FeedbackBody) -> FeedbackCase:
    store = _open_store(runner, body.root)
    if body.place is None:
        return store.set_unanswerable(body.query, is_unanswerable=body.verdict == "unanswerable")
    place = FeedbackPlace(body.place.path, body.place.start_line, body.place.end_line, body.place.symbol)
    verdict = None if body.verdict == "none" else cast("ThumbVerdict", body.verdict)
    return store.set_thumb(body.query, body.intent, place, verdict)


def _list_feedback(runner: RequestRunner, root: str) -> FeedbackReply:
    with runner.hold_repository(root) as repository:
        cases = FeedbackStore(get_index_folder(repository.engine)).list_cases()
        return FeedbackReply(repository.place, cases, sum(case.is_complete for case in cases))


def _export(runner: RequestRunner, root: str) -> str:
    return export_golden(_open_store(runner, root).list_cases())


def _delete(runner: RequestRunner, root: str, case: str) -> ForgottenReply:
    _open_store(runner, root).delete(case)
    return ForgottenReply(known=True)
