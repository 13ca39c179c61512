"""Group commit: what several threads write at the same time is written together."""

import threading
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

_MAX_BATCH: Final = 500

_Item = TypeVar("_Item")


class _Ticket(Generic[_Item]):
    """An item that waits to be written, with a lock that its thread waits for."""

    __slots__ = ("error", "is_done", "is_next", "item", "wake_up")

    def __init__(self, item: _Item) -> None:
        self.item = item
        self.is_done = False
        self.is_next = False
        self.error: Exception | None = None
        self.wake_up = threading.Lock()
        self.wake_up.acquire()


class GroupCommit(Generic[_Item]):
    """Writer of items in batches: while one thread writes a batch, the next one gathers.

    A thread that finds nobody writing writes at once. When it has finished, the thread of the oldest waiting item writes
    all that wait. A single writer is as fast as without batches, and many share the cost of a commit.

    Args:
        write: Writes a batch durably, or raises and has written nothing.
    """

    def __init__(self, write: Callable[[Sequence[_Item]], None]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._queue: list[_Ticket[_Item]] = []
        self._is_writing = False

    def submit(self, item: _Item) -> None:
        """Write an item, and return when it is durable. Raises what `write` raised for its batch."""
        ticket = _Ticket(item)
        with self._lock:
            self._queue.append(ticket)
            must_wait, self._is_writing = self._is_writing, True
        if must_wait:
            self._wait(ticket)
        if not ticket.is_done:
            self._write_batch()
        if ticket.error is not None:
            raise _copy_error(ticket.error) from ticket.error

    def _wait(self, ticket: _Ticket[_Item]) -> None:
        """Wait until an item is written, or its thread has to write."""
        try:
            ticket.wake_up.acquire()
        except BaseException:  # a signal: nobody else may wait for this thread
            with self._lock:
                if ticket in self._queue:
                    self._queue.remove(ticket)
                if ticket.is_next:
                    self._promote()
            raise

    def _write_batch(self) -> None:
        with self._lock:
            batch, self._queue = self._queue[:_MAX_BATCH], self._queue[_MAX_BATCH:]
        error: Exception | None = RuntimeError("the writer was interrupted")  # stands if a signal ends the write
        try:
            self._write([ticket.item for ticket in batch])
            error = None
        except Exception as caught:  # noqa: BLE001  # each thread of the batch raises it
            error = caught
        finally:
            with self._lock:
                self._promote()
            for ticket in batch:
                ticket.error = error
                ticket.is_done = True
                ticket.wake_up.release()

    def _promote(self) -> None:
        """Let the thread of the oldest waiting item write next."""
        if self._queue:
            self._queue[0].is_next = True
            self._queue[0].wake_up.release()
        else:
            self._is_writing = False


def _copy_error(error: Exception) -> Exception:
    """Copy an error, as threads that raise the same object would mix their tracebacks."""
    try:
        duplicate = type(error)(*error.args)
    except TypeError:
        return error
    duplicate.__dict__.update(error.__dict__)
    return duplicate
