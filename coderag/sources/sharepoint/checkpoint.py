"""Checkpoint of a SharePoint site: the link of each drive's change feed, and the versions of its site pages."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from coderag.sources.json_values import get_objects, get_text, get_value, parse_time


@dataclass(slots=True)
class DriveState:
    """A document library and the link to its next page of changes.

    Attributes:
        link: Address with the token; empty before the first page.
        is_listing: Whether the library is being listed from its beginning, so that nothing of it is known to be gone.
        is_within: Whether the link is within a round of changes, which ends with the state at its beginning.
    """

    id: str
    name: str
    link: str = ""
    is_listing: bool = True
    is_within: bool = False


@dataclass(slots=True)
class SiteState:
    """Position of a synchronisation.

    Attributes:
        listed: Time when the libraries were listed last.
        page_versions: Version of each site page, by id.
    """

    site_id: str = ""
    drives: list[DriveState] = field(default_factory=list)
    listed: datetime | None = None
    page_versions: dict[str, str] = field(default_factory=dict)

    def to_checkpoint(self) -> dict[str, Any]:
        """Convert to JSON."""
        return {
            "site_id": self.site_id,
            "drives": [
                {
                    "id": drive.id,
                    "name": drive.name,
                    "link": drive.link,
                    "is_listing": drive.is_listing,
                    "is_within": drive.is_within,
                }
                for drive in self.drives
            ],
            "listed": self.listed.isoformat() if self.listed else "",
            "page_versions": dict(self.page_versions),
        }

    @classmethod
    def from_checkpoint(cls, checkpoint: Mapping[str, Any] | None) -> "SiteState":
        """Convert from JSON; anything unreadable reads as not begun."""
        content = dict(checkpoint or {})
        versions = content.get("page_versions")
        return cls(
            site_id=get_text(content, "site_id"),
            drives=[
                DriveState(
                    get_text(drive, "id"),
                    get_text(drive, "name"),
                    get_text(drive, "link"),
                    get_value(drive, "is_listing") is not False,
                    get_value(drive, "is_within") is True,
                )
                for drive in get_objects(content, "drives")
            ],
            listed=parse_time(get_text(content, "listed")),
            page_versions={str(key): str(value) for key, value in versions.items()}
            if isinstance(versions, dict)
            else {},
        )
