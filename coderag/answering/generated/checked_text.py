"""Text of an answer from checked units, without bullets, headings or lead-ins of dropped ones."""

from dataclasses import replace

from coderag.answering.generated.claim_splitter import ReplyUnit

_MAX_LEVEL = 7  # deeper than any heading
_LEFT_OUT_NOTE = "*(left out: not verified)*"


class CheckedText:
    """Builder of an answer's text.

    Headings, table heads and lead-ins (``the steps are:``) are held until a unit that they introduce is shown.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._held_units: list[ReplyUnit] = []
        self._emptied_units: list[ReplyUnit] = []  # held units whose content was dropped
        self._dropped_unit: ReplyUnit | None = None  # replaced by the rest of its paragraph

    @property
    def text(self) -> str:
        """Shown text."""
        return "".join(self._parts)

    def hold(self, unit: ReplyUnit) -> None:
        """Hold a unit until the next one is shown."""
        unit = self._promote(unit)
        self._dropped_unit = None
        if unit.kind == "heading":
            self._forget_emptied(_get_heading_level(unit))
        self._held_units.append(unit)

    def drop(self, unit: ReplyUnit) -> None:
        """Drop a unit."""
        self._dropped_unit = self._promote(unit)
        self._emptied_units = list(self._held_units)

    def show(self, unit: ReplyUnit) -> str:
        """Show a unit; return the added text."""
        parent = self._dropped_unit
        unit = self._promote(unit)
        if unit.starts_block and not _is_list_entry(unit):
            self._forget_emptied(_MAX_LEVEL)
        elif unit.kind != "row":
            self._held_units = [
                held_unit
                for held_unit in self._held_units
                if held_unit.kind != "table" or held_unit not in self._emptied_units
            ]
        revealed = list(self._held_units)
        if parent and parent.marker.strip() and _count_indent(unit) > _count_indent(parent):
            revealed.append(replace(parent, text=_LEFT_OUT_NOTE))
            unit = replace(unit, lead="\n" if _is_list_entry(unit) else "\n\n")
        self._held_units, self._emptied_units, self._dropped_unit = [], [], None
        return self.append("".join(held_unit.markdown for held_unit in [*revealed, unit]))

    def close(self) -> str:
        """End the text; return held units that introduce no dropped ones."""
        self._forget_emptied(0)
        remaining, self._held_units = self._held_units, []
        return self.append("".join(held_unit.markdown for held_unit in remaining))

    def append(self, text: str) -> str:
        """Append text; return it without leading newlines at the start of the answer."""
        added = text if self._parts else text.lstrip("\n")
        if added:
            self._parts.append(added)
        return added

    def _promote(self, unit: ReplyUnit) -> ReplyUnit:
        """Give a unit the bullet and spacing of the dropped one whose place it takes."""
        dropped = self._dropped_unit
        if dropped is None:
            return unit
        if not unit.starts_block:
            return replace(unit, lead=dropped.lead, marker=dropped.marker, starts_block=dropped.starts_block)
        return replace(unit, lead=max(dropped.lead, unit.lead, key=lambda lead: lead.count("\n")))

    def _forget_emptied(self, level: int) -> None:
        """Forget held units whose content was dropped: sentences, and headings of a level or deeper."""
        self._held_units = [
            held_unit
            for held_unit in self._held_units
            if held_unit not in self._emptied_units or 0 < _get_heading_level(held_unit) < level
        ]
        self._emptied_units = []


def _is_list_entry(unit: ReplyUnit) -> bool:
    return bool(unit.marker.strip()) or unit.kind != "prose"


def _get_heading_level(unit: ReplyUnit) -> int:
    """Return a heading's level, from 1; 0 for other units."""
    return unit.marker.count("#") if unit.kind == "heading" else 0


def _count_indent(unit: ReplyUnit) -> int:
    return len(unit.marker) - len(unit.marker.lstrip(" \t"))
