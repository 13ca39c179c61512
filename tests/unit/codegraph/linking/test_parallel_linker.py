"""Files linked in several processes have the edges that they have in one."""

import gc
import os
from collections import deque

import pytest

from coderag.codegraph.code_graph_builder import CodeGraphBuilder
from coderag.codegraph.incremental_build import _read_row
from coderag.codegraph.linking import parallel_linker
from coderag.codegraph.linking.linker import Linker
from coderag.codegraph.linking.program import Program
from coderag.codegraph.linking.resolver import Resolver
from coderag.errors import IngestionError
from coderag.ingestion.workers.worker_pool import WorkerPool
from coderag.stores.facts_codec import unpack_interface
from coderag.system.process_messages import Helpers, pack_message, read_message
from tests.support.programs import assert_same_graph, facts_of

PROGRAM = {
    "shop/__init__.py": "from shop.cart import Cart\n",
    "shop/cart.py": "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(1)\n",
    "shop/money.py": "def round_up(value):\n    return value\n",
    "app.py": "from shop import Cart\n\n\ndef main():\n    return Cart().total()\n",
    "shop.go": "package shop\n\ntype Payer interface { Pay() }\n\ntype Cash struct{}\n\nfunc (c Cash) Pay() {}\n",
    "web.ts": "import { api } from './api';\nexport function load() { return api(); }\n",
    "api.ts": "export function api() { return 1; }\n",
}


def exit_at_once(requests, answers):
    os._exit(3)


def exit_mid_reply(requests, answers):
    _, part = (read_message(requests) for _ in range(2))
    answers.write(pack_message({file: ([], set(), set()) for file in part})[:-2])
    answers.flush()
    os._exit(0)


@pytest.fixture(scope="module")
def pool():
    pool = WorkerPool(2)
    yield pool
    pool.close()


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr(parallel_linker, "_MIN_BYTES_PER_PROCESS", 100)
    monkeypatch.setattr(parallel_linker, "_MAX_BATCH_BYTES", 1)


@pytest.fixture
def program() -> Program:
    records, facts = facts_of(PROGRAM)
    packed = [(one, facts[one.path]) for one in sorted(records, key=lambda record: record.path)]
    return Program([_read_row(one, facts, unpack_interface(facts.interface)) for one, facts in packed])


def pack_rows(program: Program) -> bytes:
    return pack_message([tuple(row) for row in program.rows])


def test_parallel_build_equals_serial_build(small_batches, pool):
    records, facts = facts_of(PROGRAM)
    alone = CodeGraphBuilder().build(None, records, facts)
    assert len(alone.edges) > 8
    assert_same_graph(CodeGraphBuilder(None, Helpers(2, pool.lend)).build(None, records, facts), alone)


def test_worker_links_all_remaining_batches(program, pool):
    files = list(range(len(program.rows)))
    parts = deque([file] for file in files)
    linked = parallel_linker._link_remotely(pack_rows(program), parts, pool.lend)
    assert not parts
    assert linked == parallel_linker.link_files(program, files)


@pytest.mark.parametrize("fault", [exit_at_once, exit_mid_reply])
def test_batches_of_a_failed_worker_are_linked_locally(program, small_batches, monkeypatch, pool, fault):
    files = list(range(len(program.rows)))
    alone = parallel_linker.link_files(program, files)
    monkeypatch.setattr(parallel_linker, "_ASSIST_ENTRY_POINT", f"{__name__}:{fault.__name__}")
    assert parallel_linker._link_remotely(pack_rows(program), deque([files]), pool.lend) == {}
    assert parallel_linker.link_files(program, files, Helpers(2, pool.lend)) == alone


def test_all_files_are_linked_locally_without_workers(program, small_batches):
    def lend(function):
        raise IngestionError("no worker process can be started")

    files = list(range(len(program.rows)))
    assert parallel_linker.link_files(program, files, Helpers(2, lend)) == parallel_linker.link_files(program, files)


def test_interrupt_stops_sending_batches(program, small_batches, monkeypatch):
    asked = []
    monkeypatch.setattr(parallel_linker, "_link_remotely", lambda rows, parts, lend: asked.append(parts) or {})

    def interrupted(linker: Linker, file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Linker, "link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        parallel_linker.link_files(program, range(len(program.rows)), Helpers(1, lambda function: None))
    assert [len(parts) for parts in asked] == [0]


def test_few_files_are_linked_without_workers():
    def lend(function):
        raise AssertionError(function)

    records, facts = facts_of(PROGRAM)
    assert len(CodeGraphBuilder(None, Helpers(8, lend)).build(None, records, facts).edges) > 8


def test_linking_leaves_no_reference_cycles():
    records, facts = facts_of(PROGRAM)
    gc.collect()
    gc.disable()
    try:
        CodeGraphBuilder().build(None, records, facts)
        left = [one for one in gc.get_objects() if isinstance(one, (Program, Resolver))]
    finally:
        gc.enable()
    assert left == []


def test_recursion_error_in_one_file_does_not_affect_the_rest(program, monkeypatch, caplog):
    link = Linker.link

    def endless(linker, file):
        if not file:
            raise RecursionError
        return link(linker, file)

    monkeypatch.setattr(Linker, "link", endless)
    linked = parallel_linker.link_files(program, range(len(program.rows)))
    assert not linked[0].links
    assert any(one.links for one in linked.values())
    assert program.rows[0].path in caplog.text
