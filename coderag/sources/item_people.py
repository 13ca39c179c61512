"""Pseudonyms of people in mirrored items: equal names have equal pseudonyms, which reveal nothing without the key."""

import hmac
import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from coderag.schema.items import Item

_DIGITS: Final = 8  # as in the history of the code, so that a person has one pseudonym
_MIN_NAME_CHARS: Final = 3  # shorter names are words of the text, too often
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_PSEUDONYM: Final = re.compile(rf"person-[0-9a-f]{{{_DIGITS}}}")


class ItemPeopleMask:
    """Replaces names of people by pseudonyms.

    Args:
        key: Secret key; with it, a name can be guessed and checked.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def mask_name(self, name: str) -> str:
        """Return the pseudonym of a name; an empty name and a pseudonym stay."""
        if not name.strip() or _PSEUDONYM.fullmatch(name):
            return name
        digest = hmac.digest(self._key, name.strip().casefold().encode("utf-8", "backslashreplace"), "sha256")
        return f"person-{digest.hex()[:_DIGITS]}"

    def mask_item(self, item: Item) -> Item:
        """Mask the people of an item, their names in its texts, and every address of e-mail. Access stays as it is."""
        people = {role: tuple(map(self.mask_name, names)) for role, names in item.people.items()}
        names = {name for role_names in item.people.values() for name in role_names}
        names |= {comment.author for comment in item.comments} | {change.author for change in item.status_changes}
        pattern = _compile_names(names)

        def mask(text: str) -> str:
            if pattern is not None:
                text = pattern.sub(lambda match: self.mask_name(match[0]), text)
            return _EMAIL.sub(lambda match: self.mask_name(match[0]), text)

        return replace(
            item,
            people=people,
            title=mask(item.title),
            text=mask(item.text),
            labels=tuple(map(mask, item.labels)),
            fields={name: mask(value) for name, value in item.fields.items()},
            comments=tuple(
                replace(comment, author=self.mask_name(comment.author), text=mask(comment.text))
                for comment in item.comments
            ),
            status_changes=tuple(
                replace(change, author=self.mask_name(change.author)) for change in item.status_changes
            ),
        )


def _compile_names(names: Iterable[str]) -> re.Pattern[str] | None:
    """Compile a pattern of names, longest first; None without any."""
    usable = sorted({name.strip() for name in names if len(name.strip()) >= _MIN_NAME_CHARS}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, usable))})(?!\w)", re.IGNORECASE) if usable else None
