"""Linking in several processes gives the same edges as linking in one."""

import gc
import os
from collections import deque
from typing import Any

import numpy as np
import pytest

from coderag.codegraph.code_graph_builder import CodeGraphBuilder
from coderag.codegraph.incremental_build import _read_row
from coderag.codegraph.linking import parallel_linker
from coderag.codegraph.linking import program as program_module
from coderag.codegraph.linking import resolver as resolver_module
from coderag.codegraph.linking.linked_files import LinkedFiles
from coderag.codegraph.linking.linker import LinkedFile, Linker
from coderag.codegraph.linking.program import Dependencies, Program
from coderag.codegraph.linking.resolver import Resolver
from coderag.errors import IngestionError
from coderag.ingestion.workers.worker_pool import WorkerPool
from coderag.stores.facts_codec import unpack_interface
from coderag.system.process_messages import HelperProcesses, pack_message, read_message
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
    reply = LinkedFiles()
    for file in part:
        reply.add(file, LinkedFile([], Dependencies()))
    answers.write(pack_message(reply)[:-2])
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
    packed = [(record, facts[record.path]) for record in sorted(records, key=lambda record: record.path)]
    return Program([_read_row(record, facts, unpack_interface(facts.interface)) for record, facts in packed])


def read(linked: LinkedFiles) -> list[list[Any]]:
    """Return all edges and dependencies in words, whatever the order in which the files were linked."""
    columns = linked.build_link_columns()
    columns |= {name: np.array(linked.list_words(name))[columns[name]] for name in ("relation", "name", "resolver")}
    edges = [list(edge) for edge in zip(*(values.tolist() for values in columns.values()), strict=True)]
    return [sorted(linked.files), edges, linked.build_consulted().to_pylist(), linked.build_keys().to_pylist()]


def pack_rows(program: Program) -> bytes:
    return pack_message([tuple(row) for row in program.rows])


def test_parallel_build_equals_serial_build(small_batches, pool):
    records, facts = facts_of(PROGRAM)
    alone = CodeGraphBuilder().build(None, records, facts)
    assert len(alone.edges) > 8
    assert_same_graph(CodeGraphBuilder(None, HelperProcesses(2, pool.lend)).build(None, records, facts), alone)


def test_worker_links_all_remaining_batches(program, pool):
    files = list(range(len(program.rows)))
    parts = deque([file] for file in files)
    linked = parallel_linker._link_remotely(pack_rows(program), parts, pool.lend)
    assert not parts
    assert read(linked) == read(parallel_linker.link_files(program, files))


@pytest.mark.parametrize("fault", [exit_at_once, exit_mid_reply])
def test_batches_of_a_failed_worker_are_linked_locally(program, small_batches, monkeypatch, pool, fault):
    files = list(range(len(program.rows)))
    alone = parallel_linker.link_files(program, files)
    monkeypatch.setattr(parallel_linker, "_ASSIST_ENTRY_POINT", f"{__name__}:{fault.__name__}")
    assert len(parallel_linker._link_remotely(pack_rows(program), deque([files]), pool.lend)) == 0
    assert read(parallel_linker.link_files(program, files, HelperProcesses(2, pool.lend))) == read(alone)


def test_all_files_are_linked_locally_without_workers(program, small_batches):
    def lend_worker(function):
        raise IngestionError("no worker process can be started")

    files = list(range(len(program.rows)))
    linked = parallel_linker.link_files(program, files, HelperProcesses(2, lend_worker))
    assert read(linked) == read(parallel_linker.link_files(program, files))


def test_interrupt_stops_sending_batches(program, small_batches, monkeypatch):
    sent = []
    monkeypatch.setattr(
        parallel_linker, "_link_remotely", lambda rows, parts, lend: sent.append(parts) or LinkedFiles()
    )

    def raise_interrupt(linker: Linker, file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Linker, "link", raise_interrupt)
    with pytest.raises(KeyboardInterrupt):
        parallel_linker.link_files(program, range(len(program.rows)), HelperProcesses(1, lambda function: None))
    assert [len(parts) for parts in sent] == [0]


def test_forgetting_memoised_results_changes_no_edge(program, monkeypatch):
    files = range(len(program.rows))
    remembered = read(parallel_linker.link_files(program, files))
    monkeypatch.setattr(program_module, "_MAX_MEMOIZED", 0)
    monkeypatch.setattr(program_module, "_MAX_UNPACKED_BYTES", 0)
    monkeypatch.setattr(resolver_module, "_MAX_MEMOIZED", 0)
    assert read(parallel_linker.link_files(Program(program.rows), files)) == remembered


def test_few_files_are_linked_without_workers():
    def lend_worker(function):
        raise AssertionError(function)

    records, facts = facts_of(PROGRAM)
    assert len(CodeGraphBuilder(None, HelperProcesses(8, lend_worker)).build(None, records, facts).edges) > 8


def test_linking_leaves_no_reference_cycles():
    records, facts = facts_of(PROGRAM)
    gc.collect()
    gc.disable()
    try:
        CodeGraphBuilder().build(None, records, facts)
        leaked = [instance for instance in gc.get_objects() if isinstance(instance, (Program, Resolver))]
    finally:
        gc.enable()
    assert leaked == []


def test_recursion_error_in_one_file_does_not_affect_the_rest(program, monkeypatch, caplog):
    link = Linker.link

    def raise_in_first_file(linker, file):
        if not file:
            raise RecursionError
        return link(linker, file)

    monkeypatch.setattr(Linker, "link", raise_in_first_file)
    linked = parallel_linker.link_files(program, range(len(program.rows)))
    sources = linked.build_link_columns()["from"]
    assert 0 in linked.files
    assert 0 not in sources
    assert len(sources)
    assert program.rows[0].path in caplog.text
