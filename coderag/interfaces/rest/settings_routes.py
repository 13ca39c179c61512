"""Route for the settings in force."""

from functools import partial

from fastapi import APIRouter, Response

from coderag.engine.settings_overview import describe_settings
from coderag.interfaces.rest.parameters import RootParameter
from coderag.interfaces.rest.request_runner import RequestRunner, RunnerDependency
from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.schema.effective_settings import EffectiveSettings

router = APIRouter(route_class=StrictRoute, tags=["repositories"])


@router.get("/settings", response_model=EffectiveSettings, summary="Get the settings in force")
async def settings(root: RootParameter, runner: RunnerDependency) -> Response:
    """Return every setting of a repository with its value and source, and what is ignored for lack of trust.

    Keys and passwords are never returned, only whether they are set.
    """
    return await runner.reply(partial(_describe, runner, root), is_long=True)


def _describe(runner: RequestRunner, root: str) -> EffectiveSettings:
    with runner.hold_repository(root) as repository:
        return repository.engine.reader.hide_folders(describe_settings(repository.root, repository.engine.settings))
