"""Entries of the audit record: their fields, their place in the chain, and their form in exports."""

import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, NamedTuple

from coderag.server.access.principal import Principal
from coderag.server.storage.columns import ID_CHARS
from coderag.server.storage.models import AuditEntry

AuditOutcome = Literal["allowed", "denied", "failed"]
"""Outcome of what an entry records."""

PRUNE_ACTION: Final = "audit.prune"
"""Action of an entry that stands for a deleted beginning of the record."""

RESET_ACTION: Final = "audit.reset"
"""Action of an entry that stands for a counter that was set anew."""

RESERVED_ACTIONS: Final = frozenset({PRUNE_ACTION, RESET_ACTION})

COLUMNS: Final = (
    AuditEntry.sequence,
    AuditEntry.time,
    AuditEntry.actor_id,
    AuditEntry.actor,
    AuditEntry.credential_id,
    AuditEntry.address,
    AuditEntry.action,
    AuditEntry.repository_id,
    AuditEntry.outcome,
    AuditEntry.detail,
    AuditEntry.mac,
)
"""Columns in the order in which the chain covers them; the last is the MAC itself."""

_MAX_NAME_CHARS: Final = 200
_MAX_WORD_CHARS: Final = 32
_MAX_DETAILS: Final = 50
_MAX_DETAIL_CHARS: Final = 4_000


class ChainEnd(NamedTuple):
    """An entry by its place in the chain.

    Attributes:
        sequence: Its number, from 1.
        mac: Its MAC.
    """

    sequence: int
    mac: str


EMPTY_CHAIN: Final = ChainEnd(0, "0" * 64)
"""What the first entry follows."""


@dataclass(frozen=True, slots=True)
class AuditDraft:
    """An entry without its place in the chain.

    Attributes:
        time: Time of the event.
        actor_id: Id of the account; empty without one.
        actor: Name of the account.
        credential_id: Id of its key, token or session.
        address: Network address of the client.
        action: What was done.
        repository_id: Id of the repository; empty if it is about none.
        outcome: Its outcome.
        detail: Further values as a JSON object.
    """

    time: datetime
    actor_id: str
    actor: str
    credential_id: str
    address: str
    action: str
    repository_id: str
    outcome: str
    detail: str


def make_draft(
    time: datetime,
    principal: Principal | None,
    action: str,
    *,
    repository_id: str = "",
    outcome: AuditOutcome = "allowed",
    detail: Mapping[str, str] | None = None,
) -> AuditDraft:
    """Make a draft whose texts both databases can store: without NUL and lone surrogates, and cut to their columns."""
    return AuditDraft(
        time=time,
        actor_id=_clean(principal.user_id if principal else "", ID_CHARS),
        actor=_clean(principal.name if principal else "", _MAX_NAME_CHARS),
        credential_id=_clean(principal.credential_id if principal else "", ID_CHARS),
        address=_clean(principal.address if principal else "", _MAX_NAME_CHARS),
        action=_clean(action, _MAX_NAME_CHARS),
        repository_id=_clean(repository_id, ID_CHARS),
        outcome=_clean(outcome, _MAX_WORD_CHARS),
        detail=_encode_detail(detail or {}),
    )


def append_draft(key: bytes, end: ChainEnd, draft: AuditDraft) -> dict[str, Any]:
    """Return the values of the row that a draft becomes behind the end of a chain."""
    values = {
        "sequence": end.sequence + 1,
        "time": draft.time,
        "actor_id": draft.actor_id,
        "actor": draft.actor,
        "credential_id": draft.credential_id,
        "address": draft.address,
        "action": draft.action,
        "repository_id": draft.repository_id,
        "outcome": draft.outcome,
        "detail": draft.detail,
    }
    return {**values, "mac": compute_mac(key, end.mac, tuple(values.values()))}


def compute_mac(key: bytes, previous: str, fields: Sequence[Any]) -> str:
    """Compute the MAC of an entry.

    Args:
        key: Key of the chain.
        previous: MAC of the entry before it.
        fields: Its values in the order of `COLUMNS`, without the MAC.

    Raises:
        TypeError: A value has a type that no entry has; somebody put it there.
    """
    sequence, time, *texts = fields
    if not isinstance(time, datetime):
        raise TypeError("the time of an entry is no time")
    payload = json.dumps([previous, sequence, time.isoformat(timespec="microseconds"), *texts], separators=(",", ":"))
    return hmac.digest(key, payload.encode(), hashlib.sha256).hex()


def format_entry(entry: AuditEntry) -> str:
    """Format an entry as a line of JSON."""
    values = {
        "sequence": entry.sequence,
        "time": entry.time.isoformat(timespec="microseconds"),
        "actor_id": entry.actor_id,
        "actor": entry.actor,
        "credential_id": entry.credential_id,
        "address": entry.address,
        "action": entry.action,
        "repository_id": entry.repository_id,
        "outcome": entry.outcome,
        "detail": parse_detail(entry.detail),
        "mac": entry.mac,
    }
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def parse_detail(text: str) -> dict[str, Any]:
    """Parse the detail of an entry; one that was changed into something else is empty."""
    try:
        detail = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return {}
    return detail if isinstance(detail, dict) else {}


def _encode_detail(detail: Mapping[str, str]) -> str:
    items = sorted(detail.items())[:_MAX_DETAILS]
    cleaned = {_clean(name, _MAX_NAME_CHARS): _clean(str(value), _MAX_DETAIL_CHARS) for name, value in items}
    return json.dumps(cleaned, ensure_ascii=False, separators=(",", ":"))


def _clean(text: str, max_chars: int) -> str:
    text = text if len(text) <= max_chars else text[: max_chars - 1] + "…"
    return text.encode("utf-8", "replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
