"""Table of results that forgets those that were not used for some time."""

from typing import TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class AgingTable(dict[KeyT, ValueT]):
    """Results by key. It holds those of this period; `find_earlier` brings back one of the period before.

    Forgetting everything at once would compute again what many files share: a fifth of the time of linking.
    """

    def __init__(self) -> None:
        super().__init__()
        self._earlier: dict[KeyT, ValueT] = {}

    def find_earlier(self, key: KeyT) -> ValueT | None:
        """Return a result that this period has not used yet; None if there is none."""
        value = self._earlier.pop(key, None)
        if value is not None:
            self[key] = value
        return value

    def begin_period(self) -> None:
        """Forget what the current period has not used."""
        self._earlier = dict(self)
        self.clear()
