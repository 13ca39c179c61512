"""Files linked in several processes have the edges that they have in one."""

import pytest

from coderag.codegraph.build import GraphBuilder
from coderag.codegraph.linking import parallel
from tests.support.programs import assert_same_graph, facts_of

PROGRAM = {
    "shop/__init__.py": "from shop.cart import Cart\n",
    "shop/cart.py": "from shop.money import round_up\n\n\nclass Cart:\n    def total(self):\n        return round_up(1)\n",
    "shop/money.py": "def round_up(value):\n    return value\n",
    "app.py": "from shop import Cart\n\n\ndef main():\n    return Cart().total()\n",
    "web.ts": "import { api } from './api';\nexport function load() { return api(); }\n",
    "api.ts": "export function api() { return 1; }\n",
}


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(parallel, "_WORTH_A_PROCESS", 100)


def test_several_processes_make_the_same_graph(small_parts):
    records, facts = facts_of(PROGRAM)
    alone = GraphBuilder().build(None, records, facts)
    assert len(alone.edges) > 8
    assert_same_graph(GraphBuilder(processes=3).build(None, records, facts), alone)


def test_the_part_of_a_process_that_fails_is_linked_here(small_parts, monkeypatch):
    records, facts = facts_of(PROGRAM)
    alone = GraphBuilder().build(None, records, facts)
    monkeypatch.setattr(parallel, "_COMMAND", "import os; os._exit(3)")
    assert_same_graph(GraphBuilder(processes=3).build(None, records, facts), alone)


def test_a_few_files_are_linked_without_a_process(monkeypatch):
    records, facts = facts_of(PROGRAM)
    monkeypatch.setattr(parallel.subprocess, "run", None)
    assert len(GraphBuilder(processes=8).build(None, records, facts).edges) > 8
