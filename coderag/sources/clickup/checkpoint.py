"""Checkpoint of ClickUp: the time of the last change that was read, for each part of the scope."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from coderag.sources.json_values import get_text

_MAX_RECENT_TASKS = 5_000


@dataclass(slots=True)
class ScopePosition:
    """Position within one part of the scope, in which tasks are read by the time of their change.

    Attributes:
        after_ms: Time after which tasks are read, in milliseconds since 1970.
        page: Page of those tasks; above 0 only if more tasks than a page changed in the same millisecond.
        recent: Time of change by id of tasks that were read and that a window overlapping this time finds again.
        is_complete: Whether all tasks were read once.
    """

    after_ms: int = 0
    page: int = 0
    recent: dict[str, int] = field(default_factory=dict)
    is_complete: bool = False

    def rewind(self, overlap: timedelta) -> "ScopePosition":
        """Return the position where the next run begins: behind the overlap, if this one was complete."""
        if not self.is_complete:
            return self
        return ScopePosition(max(0, self.after_ms - _to_ms(overlap)), 0, dict(self.recent))

    def forget_old(self, overlap: timedelta) -> None:
        """Forget tasks that no window finds again."""
        start = self.after_ms - _to_ms(overlap)
        newest = sorted(((time, key) for key, time in self.recent.items() if time >= start), reverse=True)
        self.recent = {key: time for time, key in newest[:_MAX_RECENT_TASKS]}


def dump_positions(positions: Mapping[str, ScopePosition]) -> dict[str, Any]:
    """Convert the positions of all parts to JSON."""
    return {
        "scopes": {
            key: {
                "after_ms": position.after_ms,
                "page": position.page,
                "recent": dict(position.recent),
                "is_complete": position.is_complete,
            }
            for key, position in positions.items()
        }
    }


def load_positions(checkpoint: Mapping[str, Any] | None, keys: Sequence[str]) -> dict[str, ScopePosition]:
    """Convert positions from JSON; a part without one begins at its beginning."""
    scopes = (checkpoint or {}).get("scopes")
    stored = scopes if isinstance(scopes, dict) else {}
    return {key: _load_position(stored.get(key)) for key in keys}


def _load_position(content: object) -> ScopePosition:
    if not isinstance(content, dict):
        return ScopePosition()
    recent = content.get("recent")
    return ScopePosition(
        int(get_text(content, "after_ms") or 0),
        int(get_text(content, "page") or 0),
        {str(key): int(time) for key, time in recent.items()} if isinstance(recent, dict) else {},
        content.get("is_complete") is True,
    )


def _to_ms(duration: timedelta) -> int:
    return int(duration.total_seconds() * 1_000)
