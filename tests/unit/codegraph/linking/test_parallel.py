"""Files linked in several processes have the edges that they have in one."""

import gc
from collections import deque

import pytest

from coderag.codegraph.build import GraphBuilder
from coderag.codegraph.linking import parallel
from coderag.codegraph.linking.linker import Linker
from coderag.codegraph.linking.program import Program
from coderag.codegraph.linking.resolver import Resolver
from coderag.codegraph.rebuild import _read_row
from coderag.process_messages import pack_message
from coderag.stores.facts_bytes import unpack_interface
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
HALF_AN_ANSWER = """
import os, sys
from coderag.process_messages import pack_message, read_message
rows, part = (read_message(sys.stdin.buffer) for _ in range(2))
sys.stdout.buffer.write(pack_message({file: ([], set(), set()) for file in part})[:-2])
sys.stdout.buffer.flush()
os._exit(0)
"""


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(parallel, "_WORTH_A_PROCESS", 100)
    monkeypatch.setattr(parallel, "_PART", 1)


@pytest.fixture
def program() -> Program:
    records, facts = facts_of(PROGRAM)
    packed = [(one, facts[one.path]) for one in sorted(records, key=lambda record: record.path)]
    return Program([_read_row(one, facts, unpack_interface(facts.interface)) for one, facts in packed])


def as_sent(program: Program) -> bytes:
    return pack_message([tuple(row) for row in program.rows])


def test_several_processes_make_the_same_graph(small_parts):
    records, facts = facts_of(PROGRAM)
    alone = GraphBuilder().build(None, records, facts)
    assert len(alone.edges) > 8
    assert_same_graph(GraphBuilder(processes=3).build(None, records, facts), alone)


def test_another_process_links_all_that_nobody_else_takes(program):
    files = list(range(len(program.rows)))
    parts = deque([file] for file in files)
    linked = parallel._link_elsewhere(as_sent(program), parts)
    assert not parts
    assert linked == parallel.link_files(program, files, processes=1)


@pytest.mark.parametrize("command", ["import os; os._exit(3)", HALF_AN_ANSWER])
def test_what_a_process_that_fails_had_to_do_is_linked_here(program, small_parts, monkeypatch, command):
    files = list(range(len(program.rows)))
    alone = parallel.link_files(program, files, processes=1)
    monkeypatch.setattr(parallel, "_COMMAND", command)
    assert parallel._link_elsewhere(as_sent(program), deque([files])) == {}
    assert parallel.link_files(program, files, processes=3) == alone


def test_what_is_interrupted_asks_nothing_more_of_the_other_processes(program, small_parts, monkeypatch):
    asked = []
    monkeypatch.setattr(parallel, "_link_elsewhere", lambda rows, parts: asked.append(parts) or {})

    def interrupted(linker: Linker, file: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Linker, "link", interrupted)
    with pytest.raises(KeyboardInterrupt):
        parallel.link_files(program, range(len(program.rows)), processes=2)
    assert [len(parts) for parts in asked] == [0]


def test_a_few_files_are_linked_without_a_process(monkeypatch):
    records, facts = facts_of(PROGRAM)
    monkeypatch.setattr(parallel.subprocess, "Popen", None)
    assert len(GraphBuilder(processes=8).build(None, records, facts).edges) > 8


def test_linking_leaves_nothing_that_only_the_collector_would_find():
    records, facts = facts_of(PROGRAM)
    gc.collect()
    gc.disable()
    try:
        GraphBuilder().build(None, records, facts)
        left = [one for one in gc.get_objects() if isinstance(one, (Program, Resolver))]
    finally:
        gc.enable()
    assert left == []
