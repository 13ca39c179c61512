"""Put the checked parts of a reply together again, so that what was dropped leaves no bullet, heading or lead-in behind."""

from dataclasses import replace

from coderag.answering.generated.claims import Unit

_DEEPEST = 7  # below all levels of headings
_LEFT_OUT = "*(left out: not verified)*"


class CheckedText:
    """Collects the text of an answer.

    Headings, the heads of tables and sentences that lead to something (``the steps are:``) are kept back until what they are
    for is shown.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._held: list[Unit] = []
        self._emptied: list[Unit] = []  # those of the held behind which something was dropped
        self._dropped: Unit | None = None  # whose place the rest of its paragraph takes

    @property
    def text(self) -> str:
        """All that was shown."""
        return "".join(self._parts)

    def hold(self, unit: Unit) -> None:
        """Keep a part back until the next one is shown."""
        unit = self._moved_up(unit)
        self._dropped = None
        if unit.kind == "heading":
            self._forget_emptied(_level(unit))
        self._held.append(unit)

    def drop(self, unit: Unit) -> None:
        """Leave a part out."""
        self._dropped = self._moved_up(unit)
        self._emptied = list(self._held)

    def show(self, unit: Unit) -> str:
        """Take a part into the text; return what that adds to it."""
        parent = self._dropped
        unit = self._moved_up(unit)
        if unit.opens and not _is_entry(unit):
            self._forget_emptied(_DEEPEST)
        elif unit.kind != "row":
            self._held = [one for one in self._held if one.kind != "table" or one not in self._emptied]
        shown = list(self._held)
        if parent and parent.marker.strip() and _indent(unit) > _indent(parent):
            shown.append(replace(parent, text=_LEFT_OUT))
            unit = replace(unit, lead="\n" if _is_entry(unit) else "\n\n")
        self._held, self._emptied, self._dropped = [], [], None
        return self.append("".join(one.written for one in [*shown, unit]))

    def close(self) -> str:
        """End the text; return what was kept back and leads to nothing that was dropped."""
        self._forget_emptied(0)
        held, self._held = self._held, []
        return self.append("".join(one.written for one in held))

    def append(self, text: str) -> str:
        """Add text as it is; return it without the white space that would begin the answer."""
        added = text if self._parts else text.lstrip("\n")
        if added:
            self._parts.append(added)
        return added

    def _moved_up(self, unit: Unit) -> Unit:
        """Return a part with the bullet and the distance of the dropped one before it, where it takes its place."""
        before = self._dropped
        if before is None:
            return unit
        if not unit.opens:
            return replace(unit, lead=before.lead, marker=before.marker, opens=before.opens)
        return replace(unit, lead=max(before.lead, unit.lead, key=lambda lead: lead.count("\n")))

    def _forget_emptied(self, level: int) -> None:
        """Forget what is kept back for parts that were all dropped: sentences, and headings of a level or a deeper one."""
        self._held = [one for one in self._held if one not in self._emptied or 0 < _level(one) < level]
        self._emptied = []


def _is_entry(unit: Unit) -> bool:
    return bool(unit.marker.strip()) or unit.kind != "prose"


def _level(unit: Unit) -> int:
    """Return a heading's level, from 1; 0 for other parts."""
    return unit.marker.count("#") if unit.kind == "heading" else 0


def _indent(unit: Unit) -> int:
    return len(unit.marker) - len(unit.marker.lstrip(" \t"))
