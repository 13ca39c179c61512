"""Routes for the audit record: search, verification and export."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, islice
from typing import Annotated, Final

from fastapi import APIRouter, Query, Response
from starlette.responses import StreamingResponse

from coderag.interfaces.rest.strict_route import StrictRoute
from coderag.interfaces.server.admin.access import read_names
from coderag.interfaces.server.admin.parameters import (
    LimitParameter,
    RepositoryNameParameter,
    SinceParameter,
    Text,
    UntilParameter,
)
from coderag.interfaces.server.admin.services import PrincipalDependency, ServicesDependency
from coderag.server.access.roles import Action
from coderag.server.audit.entries import format_entry
from coderag.server.audit.search import AuditFilter
from coderag.server.paging import DEFAULT_PAGE_ITEMS, ListPage
from coderag.server.storage.models import AuditEntry

router: Final = APIRouter(prefix="/server", route_class=StrictRoute, tags=["audit"])

ROUTE_ACTIONS: Final[Mapping[str, Action]] = {
    "GET /server/audit": Action.AUDIT_READ,
    "POST /server/audit/verify": Action.AUDIT_READ,
    "GET /server/audit/export": Action.AUDIT_READ,
}

_JSON_LINES_TYPE: Final = "application/x-ndjson"
_EXPORT_NAME: Final = "coderag-audit.jsonl"
_BATCH_ENTRIES: Final = 500

ActorParameter = Annotated[Text, Query(description="Only entries of this account, by name or id.")]
ActionParameter = Annotated[Text, Query(description="Only entries of this action, such as `users.manage`.")]
BeforeParameter = Annotated[
    int | None, Query(ge=0, le=2**63 - 1, description="Only entries before this sequence number: `next`.")
]


@dataclass(frozen=True, slots=True)
class AuditEntryReply:
    """An entry of the audit record.

    Attributes:
        actor_id, actor: Id and name of the account, as they were.
        repository: Name of the repository if the caller sees it, else its id; empty if the action was about none.
        outcome: `allowed`, `denied` or `failed`.
        detail: Details as JSON.
    """

    sequence: int
    time: datetime
    actor_id: str
    actor: str
    credential_id: str
    address: str
    action: str
    repository: str
    outcome: str
    detail: str


@dataclass(frozen=True, slots=True)
class AuditReportReply:
    """Result of a verification.

    Attributes:
        is_intact: Whether no entry was changed, removed or added.
        count: Number of entries.
        problem: Description of the first damage; empty if there is none.
    """

    is_intact: bool
    count: int
    problem: str


@router.get("/audit", response_model=ListPage[AuditEntryReply], summary="Search the audit record")
def search_audit(  # noqa: PLR0913  # one parameter a filter
    services: ServicesDependency,
    principal: PrincipalDependency,
    *,
    actor: ActorParameter = "",
    action: ActionParameter = "",
    repository: RepositoryNameParameter = "",
    since: SinceParameter = None,
    until: UntilParameter = None,
    before: BeforeParameter = None,
    limit: LimitParameter = DEFAULT_PAGE_ITEMS,
) -> ListPage[AuditEntryReply]:
    """Return entries of the audit record, newest first. A repository is given by its name, or by its id."""
    names = read_names(services, principal)
    ids = {name: repository_id for repository_id, name in names.items()}
    criteria = AuditFilter(
        actor=actor, action=action, repository_id=ids.get(repository, repository), since=since, until=until
    )
    entries = services.audit.search(criteria, before=before, limit=limit + 1)
    page = [_to_reply(entry, names) for entry in entries[:limit]]
    return ListPage(page, str(page[-1].sequence) if len(entries) > limit else None)


@router.post("/audit/verify", response_model=AuditReportReply, summary="Verify the audit record")
def verify_audit(services: ServicesDependency, _principal: PrincipalDependency) -> AuditReportReply:
    """Check that no entry was changed, removed or added, and that the end of the record is there."""
    report = services.audit.verify()
    return AuditReportReply(report.is_intact, report.entries, report.reason)


@router.get(
    "/audit/export",
    summary="Export the audit record",
    responses={200: {"content": {_JSON_LINES_TYPE: {"schema": {"type": "string"}}}, "description": "JSON lines."}},
    response_class=Response,
)
def export_audit(
    services: ServicesDependency,
    _principal: PrincipalDependency,
    since: SinceParameter = None,
    until: UntilParameter = None,
) -> StreamingResponse:
    """Stream the entries of a period as JSON lines, oldest first."""
    entries = iter(services.audit.export(since, until))
    first = list(islice(entries, 1))  # a database that is away is an error with a status, not a cut stream
    headers = {"content-disposition": f'attachment; filename="{_EXPORT_NAME}"'}
    return StreamingResponse(_encode_lines(chain(first, entries)), media_type=_JSON_LINES_TYPE, headers=headers)


def _encode_lines(entries: Iterator[AuditEntry]) -> Iterator[bytes]:
    while batch := list(islice(entries, _BATCH_ENTRIES)):
        yield "".join(format_entry(entry).rstrip("\n") + "\n" for entry in batch).encode()


def _to_reply(entry: AuditEntry, names: Mapping[str, str]) -> AuditEntryReply:
    return AuditEntryReply(
        sequence=entry.sequence,
        time=entry.time,
        actor_id=entry.actor_id,
        actor=entry.actor,
        credential_id=entry.credential_id,
        address=entry.address,
        action=entry.action,
        repository=names.get(entry.repository_id, entry.repository_id),
        outcome=entry.outcome,
        detail=entry.detail,
    )
