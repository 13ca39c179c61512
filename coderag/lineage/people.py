"""Names and addresses of people in commits, and their masking."""

import hashlib
import hmac
import re
from dataclasses import dataclass
from typing import Final

_ADDRESS: Final = re.compile(r"[\w.+%-]+@[\w-]+(?:\.[\w-]+)*")
_PERSON_TRAILER: Final = re.compile(
    r"^(?P<key>(?:[A-Za-z]+-)*(?:by|to|cc|author)|cc|from):[ \t]*(?P<name>[^<\n]*?)[ \t]*(?:<(?P<email>[^>\n]*)>)?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_DIGITS: Final = 8


@dataclass(frozen=True, slots=True)
class PeopleMask:
    """Replaces people by pseudonyms that are equal for equal addresses.

    Attributes:
        key: Secret of the pseudonyms; None keeps names and addresses.
    """

    key: bytes | None = None

    def mask_person(self, name: str, email: str) -> tuple[str, str]:
        """Return the name and address to show."""
        if self.key is None:
            return name, email
        digest = hmac.new(self.key, (email.lower() or name).encode("utf-8", "surrogatepass"), hashlib.sha256)
        return f"person-{digest.hexdigest()[:_DIGITS]}", ""

    def mask_message(self, message: str) -> str:
        """Return a message with the people of its trailers and all addresses replaced."""
        if self.key is None:
            return message

        def replace(match: re.Match[str]) -> str:
            person = self.mask_person(match["name"], match["email"] or "")[0]
            return f"{match['key']}: {person}" if match["email"] or match["key"].lower() != "from" else match[0]

        masked = _PERSON_TRAILER.sub(replace, message)
        return _ADDRESS.sub(lambda match: self.mask_person("", match[0])[0], masked)


KEEP_PEOPLE: Final = PeopleMask()
