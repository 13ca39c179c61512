"""Structure of a Confluence: readers, ancestors and labels of each content.

Changing a restriction, a label or the place of a page changes neither its version nor its ``lastmodified``, so no window of
changes shows it. A listing without bodies, compared with digests from before, does.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from coderag.sources.atlassian.times import parse_time
from coderag.sources.confluence.access import AccessResolver, find_container

CHECK_INTERVAL: Final = timedelta(hours=24)
"""Age from which the structure is compared again."""

_DIGEST_CHARS: Final = 10


@dataclass(frozen=True, slots=True)
class Structure:
    """Digests of the structure, by bucket of ids: small enough for every checkpoint.

    Attributes:
        checked: Time of the listing.
        digests: Digest by bucket; a bucket has the contents whose hashed id begins with its two digits.
    """

    checked: datetime
    digests: Mapping[str, str]

    @classmethod
    def parse(cls, value: object) -> "Structure | None":
        """Parse the JSON of a checkpoint; None if there is none."""
        if not isinstance(value, Mapping) or not isinstance(value.get("digests"), Mapping):
            return None
        checked = parse_time(value.get("checked"))
        return cls(checked, dict(value["digests"])) if checked else None

    def to_json(self) -> dict[str, Any]:
        """Return the structure as JSON."""
        return {"checked": self.checked.isoformat(), "digests": dict(self.digests)}

    @property
    def is_due(self) -> bool:
        """Return whether it is old enough to be compared again."""
        return not timedelta() <= datetime.now(UTC) - self.checked < CHECK_INTERVAL


class StructureListing:
    """Collects the structure from the rows of a listing."""

    def __init__(self, access: AccessResolver) -> None:
        self._access = access
        self._signatures: dict[str, str] = {}

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows with ancestors, container, labels, space and restrictions."""
        self._access.note(rows)
        for row in rows:
            self._signatures[str(row.get("id"))] = self._sign(row)

    def build(self) -> Structure:
        """Return the structure of the rows added."""
        entries = defaultdict(list)
        for content_id, signature in self._signatures.items():
            entries[_find_bucket(content_id)].append(f"{content_id} {signature}")
        digests = {bucket: _hash_text("\n".join(sorted(lines))) for bucket, lines in sorted(entries.items())}
        return Structure(datetime.now(UTC), digests)

    def find_suspects(self, before: Structure, after: Structure) -> list[str]:
        """Return the ids of the contents in buckets that differ."""
        return [
            content_id
            for content_id in self._signatures
            if before.digests.get(bucket := _find_bucket(content_id)) != after.digests[bucket]
        ]

    def _sign(self, row: Mapping[str, Any]) -> str:
        page_id = find_container(row) if row.get("type") == "attachment" else str(row.get("id"))
        access = self._access.resolve(page_id)
        labels = ((row.get("metadata") or {}).get("labels") or {}).get("results") or ()
        parts: list[Iterable[str]] = [
            [str(access.is_public), (row.get("space") or {}).get("key") or "", str(row.get("status")), page_id],
            sorted(access.users),
            sorted(access.groups),
            [str(ancestor.get("id")) for ancestor in row.get("ancestors") or ()],
            sorted(str(label.get("name")) for label in labels),
        ]
        return _hash_text("\n".join("\t".join(part) for part in parts))


def _find_bucket(content_id: str) -> str:
    return _hash_text(content_id)[:2]


def _hash_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
