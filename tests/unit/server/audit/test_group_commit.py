"""Group commit: who writes, who waits, and who gets which error."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from coderag.errors import DatabaseUnavailableError
from coderag.server.audit.group_commit import GroupCommit


class Writer:
    """A writer of batches that waits until it may go on."""

    def __init__(self):
        self.batches, self.may_write, self.error = [], threading.Event(), None
        self.is_busy = threading.Event()

    def __call__(self, items):
        self.batches.append(list(items))
        self.is_busy.set()
        assert self.may_write.wait(30)
        if self.error is not None:
            raise self.error


def submit_together(group, writer, items):
    """Submit a first item, and the others while it is being written."""
    with ThreadPoolExecutor(len(items)) as pool:
        futures = [pool.submit(group.submit, items[0])]
        assert writer.is_busy.wait(30)
        futures += [pool.submit(group.submit, item) for item in items[1:]]
        while len(group._queue) < len(items) - 1:
            pass
        writer.may_write.set()
        return [future.exception(30) for future in futures]


def test_items_that_wait_are_written_together():
    writer = Writer()
    group = GroupCommit(writer)
    assert submit_together(group, writer, list(range(20))) == [None] * 20
    assert [len(batch) for batch in writer.batches] == [1, 19]
    group.submit("alone")
    assert writer.batches[-1] == ["alone"]


def test_large_queue_is_written_in_several_batches(monkeypatch):
    monkeypatch.setattr("coderag.server.audit.group_commit._MAX_BATCH", 8)
    writer = Writer()
    assert submit_together(GroupCommit(writer), writer, list(range(20))) == [None] * 20
    assert [len(batch) for batch in writer.batches] == [1, 8, 8, 3]


def test_each_thread_of_a_failed_batch_gets_an_error_of_its_own_and_the_next_batch_is_written():
    writer = Writer()
    writer.error = DatabaseUnavailableError("the database does not answer", hint="Try again.")
    group = GroupCommit(writer)
    errors = submit_together(group, writer, list(range(6)))
    assert {(type(error), str(error), error.hint) for error in errors} == {
        (DatabaseUnavailableError, "the database does not answer", "Try again.")
    }
    assert len(set(map(id, errors))) == 6
    writer.error = None
    group.submit("later")


def test_error_that_cannot_be_copied_is_raised_as_it_is():
    class OddError(Exception):
        def __init__(self, first, second):
            super().__init__(first)

    writer = Writer()
    writer.may_write.set()
    writer.error = OddError(1, 2)
    with pytest.raises(OddError):
        GroupCommit(writer).submit("x")


def test_interrupted_writer_fails_its_batch_and_blocks_nobody():
    def interrupt(items):
        raise KeyboardInterrupt

    group = GroupCommit(interrupt)
    with pytest.raises(KeyboardInterrupt):
        group.submit("x")
    group._write = list
    group.submit("y")


@pytest.mark.parametrize("is_next", [True, False])
def test_interrupted_waiter_blocks_nobody(is_next, monkeypatch):
    writer = Writer()
    group = GroupCommit(writer)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(group.submit, "first")
        assert writer.is_busy.wait(30)

        class Interrupted:
            def acquire(self):
                if is_next:
                    writer.may_write.set()
                    first.result(30)
                raise KeyboardInterrupt

            def release(self):
                pass

        real = threading.Lock
        monkeypatch.setattr("coderag.server.audit.group_commit._Ticket.__init__", _prepare(Interrupted))
        with pytest.raises(KeyboardInterrupt):
            group.submit("second")
        monkeypatch.undo()
        assert threading.Lock is real
        writer.may_write.set()
        assert first.exception(30) is None
        group.submit("third")
    assert [batch for batch in writer.batches if "second" not in batch] == [["first"], ["third"]]


def _prepare(lock):
    def initialise(ticket, item):
        ticket.item, ticket.is_done, ticket.is_next, ticket.error, ticket.wake_up = item, False, False, None, lock()

    return initialise
