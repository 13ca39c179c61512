"""Gate of the routes: every request has an action that its caller may do, a view of the workspace, and an audit entry."""

import re
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, Protocol

from fastapi import Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from coderag.errors import AuthenticationError, CodeRAGError, PermissionDeniedError, UnknownNameError
from coderag.interfaces.rest.request_runner import VIEW_KEY
from coderag.interfaces.rest.strict_route import StrictRequest
from coderag.server.access.principal import Principal
from coderag.server.access.roles import ACTION_LEVELS, Action, Level
from coderag.server.access.visible_workspace import VisibleRepository, VisibleWorkspace
from coderag.server.storage.columns import ID_CHARS
from coderag.workspace.workspace import Workspace

PRINCIPAL_KEY: Final = "coderag.principal"
"""Key of an ASGI scope with the `Principal` of a request; None without a credential."""

_QUESTION_FIELDS: Final = ("query", "text", "name", "q", "subject")
_DETAIL_FIELDS: Final = (
    "role",
    "level",
    "scopes",
    "url",
    "host",
    "kind",
    "system",
    "email",
    "repository",
    "source",
    "user",
    "team",
)
_MAX_DETAIL_CHARS: Final = 300
_USER_INFO: Final = re.compile(r"//[^/]*@")  # a URL with a password is refused later, but recorded now

Outcome = Literal["allowed", "denied", "failed"]


class AuditRecorder(Protocol):
    """The part of the audit record that the gate uses, of `coderag.server.audit`."""

    def record(
        self,
        principal: Principal | None,
        action: str,
        *,
        repository_id: str = "",
        outcome: Outcome = "allowed",
        detail: Mapping[str, str] = ...,
    ) -> None:
        """Append an entry."""
        ...

    def record_repositories(
        self,
        principal: Principal | None,
        action: str,
        repository_ids: Sequence[str],
        *,
        outcome: Outcome = "allowed",
        detail: Mapping[str, str] | None = None,
    ) -> None:
        """Append an entry for each repository of a request, in one commit."""
        ...

    def hash_question(self, text: str) -> str:
        """Return a question in the form that the policy allows."""
        ...


class ViewLoader:
    """Loader of the workspace as a principal sees it.

    Args:
        workspace: The workspace of the process.
        load_visible: Loads the repositories that a principal may see.
    """

    def __init__(self, workspace: Workspace, load_visible: Callable[[Principal], Sequence[VisibleRepository]]) -> None:
        self._workspace = workspace
        self._load_visible = load_visible

    def load(self, principal: Principal, required: Level) -> VisibleWorkspace:
        """Load the view of a principal.

        Args:
            principal: The principal.
            required: Level that it needs on a repository to open it.

        Raises:
            DatabaseUnavailableError: The database does not answer.
        """
        return VisibleWorkspace(self._workspace, self._load_visible(principal), principal.user_id, required)


@dataclass(frozen=True, slots=True)
class RequestSubject:
    """Repositories, question and values of a request.

    Attributes:
        places: Names of the repositories that it names.
        question: Text that it asks or searches for.
        detail: Values that the audit keeps as they are.
        takes_only_repository: Whether a request that names none is about the only one that its caller sees.
        repository_id: Id of the repository that a route of the administration is about.
    """

    places: Sequence[str]
    question: str
    detail: Mapping[str, str]
    takes_only_repository: bool = False
    repository_id: str = ""


class AccessGate:
    """Gate of the routes of an app.

    The entry of the audit is written before anything is done, so that nothing happens without one.

    Args:
        views: Loader of views.
        audit: The audit record.
        actions: Action of each route, by its method and path.
    """

    def __init__(self, views: ViewLoader, audit: AuditRecorder, actions: Mapping[str, Action]) -> None:
        self._views = views
        self._audit = audit
        self._actions = actions

    async def __call__(
        self, request: StrictRequest, route: str, handle: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Handle a request if its caller may send it. Raises as `RequestGate`."""
        action = self._actions.get(route, Action.LOCAL)
        if action is Action.LOCAL:
            raise HTTPException(404, "not found")
        if action is Action.PUBLIC:
            return await handle(request)
        principal: Principal | None = request.scope.get(PRINCIPAL_KEY)
        if principal is None:
            raise AuthenticationError("sign-in is needed", hint="Send 'Authorization: Bearer KEY', or sign in.")
        subject = await read_subject(request)
        await self.authorize(principal, action, route, subject, request.scope)
        return await handle(request)

    async def authorize(
        self, principal: Principal, action: Action, name: str, subject: RequestSubject, scope: MutableMapping[str, Any]
    ) -> None:
        """Check and record an action, and put the view of its principal into a scope.

        Args:
            principal: The caller.
            action: What it does.
            name: Name of the route or tool, for the audit.
            subject: What it is about.
            scope: ASGI scope of the request.

        Raises:
            PermissionDeniedError: Role, scopes or grant do not allow it.
            UnknownNameError: It names a repository that the principal does not see.
            ServerError: The entry cannot be written.
        """
        await run_in_threadpool(partial(self._authorize, principal, action, name, subject, scope))

    def _authorize(
        self, principal: Principal, action: Action, name: str, subject: RequestSubject, scope: MutableMapping[str, Any]
    ) -> None:
        view = self._views.load(principal, ACTION_LEVELS.get(action, Level.READ))
        try:
            ids = _check(principal, action, view, subject)
        except CodeRAGError as error:
            detail = {"route": name, "error": type(error).__name__, **_describe_places(subject), **subject.detail}
            self._audit.record(principal, str(action), outcome="denied", detail=detail)
            raise
        detail = {"route": name, **subject.detail}
        if subject.question and action in ACTION_LEVELS:
            detail["question"] = self._audit.hash_question(subject.question)
        elif subject.question:  # the name of an account, a team or a repository
            detail["name"] = subject.question[:_MAX_DETAIL_CHARS]
        self._audit.record_repositories(principal, str(action), ids or [subject.repository_id], detail=detail)
        scope[VIEW_KEY] = view


def _check(principal: Principal, action: Action, view: VisibleWorkspace, subject: RequestSubject) -> list[str]:
    """Return the ids of the repositories that a request is about, if the action is allowed on them."""
    if not principal.may(action):
        message = f"the role {principal.role} or the scopes of the key do not allow {action}"
        raise PermissionDeniedError(message, hint="Ask an administrator, or use another key.")
    level, ids = ACTION_LEVELS.get(action), []
    places = subject.places or (view.roots if subject.takes_only_repository and len(view.roots) == 1 else ())
    for place in places if level is not None else ():
        try:
            repository = view.resolve(place)
        except UnknownNameError:
            if len(subject.places) == 1:
                raise
            continue  # its verdict says so; the others are searched
        if level is not None and repository.level < level:
            message = f"your grant on {repository.name} does not allow {action}"
            raise PermissionDeniedError(message, hint="Ask an administrator for a higher grant.")
        ids.append(repository.id)
    return ids


def _describe_places(subject: RequestSubject) -> dict[str, str]:
    return {"place": ", ".join(subject.places)[:_MAX_DETAIL_CHARS]} if subject.places else {}


async def read_subject(request: StrictRequest) -> RequestSubject:
    """Read what a request is about from the parameters that its route takes.

    Others would let a caller write another repository into the audit record than the route reads.

    Raises:
        HTTPException: The body is not valid JSON, or too large.
    """
    values: dict[str, Any] = {
        name: value for name, value in request.query_params.items() if name in request.query_names
    }
    if request.takes_body and await request.body():
        body = await request.json()
        values |= body if isinstance(body, dict) else {}
    return build_subject(values, request.path_params)


def build_subject(values: Mapping[str, Any], path_values: Mapping[str, Any]) -> RequestSubject:
    """Build the subject of a request from its parameters.

    Args:
        values: Parameters of the address and the body.
        path_values: Parameters of the path.
    """
    places = [values["root"]] if isinstance(values.get("root"), str) else []
    if isinstance(listed := values.get("repositories"), list):
        places += [place for place in listed if isinstance(place, str)]
    questions = [value for field in _QUESTION_FIELDS if isinstance(value := values.get(field), str) and value]
    detail = {name: _format(value) for name, value in path_values.items()}
    detail |= {field: _format(values[field]) for field in _DETAIL_FIELDS if values.get(field)}
    repository_id = str(path_values.get("repository_id", ""))[:ID_CHARS]
    return RequestSubject(places, " ".join(questions), detail, repository_id=repository_id)


def _format(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return _USER_INFO.sub("//", text)[:_MAX_DETAIL_CHARS]
