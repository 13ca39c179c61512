import re
from dataclasses import replace

import pytest

from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import Declared, Index
from coderag.answering.evidence.call_flow import Flow, FlowStep, _to_steps, draw_mermaid, format_mermaid
from coderag.stores.snippets import build_related_snippets, build_result_snippets
from tests.support.corpora import make_context
from tests.support.extracted import FILES, extracted, state_of

EDGE = re.compile(r'^    n(\d+) (-->|-\.->)\|"(\d+): line (\d+)"\| n(\d+)$', re.MULTILINE)
NODE = re.compile(r'^    n(\d+)\["([^"\]\[`{}<>|]*)<br/>([^"\]\[`{}<>|]*)"\]$')


@pytest.fixture(scope="module")
def shop():
    return make_context(FILES)


def drawn(context, query):
    state = state_of(context, query)
    corpus = context.corpus
    pieces = [*build_result_snippets(corpus, state["results"]), *build_related_snippets(corpus, state["related"])]
    return draw_mermaid(context, state, pieces)


def test_flow_between_two_names_lists_each_call(shop):
    text = extracted(shop, "how does check_out reach check_card").text
    assert text.startswith("`check_out` (`shop/checkout.py:4`) leads to `check_card` (`shop/cart.py:31`) in 3 calls.")
    assert "1. `check_out` calls `Cart.pay` in `shop/checkout.py:9`: `return cart.pay(card)`" in text
    assert "3. `charge` calls `check_card` in `shop/cart.py:27`: `check_card(card)`" in text


def test_every_diagram_edge_is_a_cited_step(shop):
    draft = extracted(shop, "what happens when items are sold")
    edges = EDGE.findall(draft.text)
    steps = re.findall(r"^(\d+)\. `.*? in `[^`]+:(\d+)`", draft.text, re.MULTILINE)
    assert [(number, line) for _, _, number, line, _ in edges] == steps
    assert len(steps) > 2
    for claim in draft.claims:
        if match := re.match(r"\d+\. `[\w.]+` (?:calls|makes a) `([\w.]+)`", claim.text):
            assert match[1].rpartition(".")[2] in claim.cited_lines[0].text


def test_generated_answers_use_the_same_diagram(shop):
    query = "how does check_out reach check_card"
    assert f"```mermaid\n{drawn(shop, query)}\n```" in extracted(shop, query).text


def test_reversed_flow_is_labelled(shop):
    draft = extracted(shop, "how does round_up reach check_out")
    assert draft.text.startswith("The calls lead the other way: `check_out`")
    assert draft.missing == ["No known call leads from `round_up` to `check_out`."]


def test_common_caller_joins_two_ends(shop):
    draft = extracted(shop, "how does check_card reach round_up")
    assert "Neither of the two leads to the other by known calls. `Cart.pay`" in draft.text
    assert draft.missing


def test_unconnected_ends_are_reported(shop):
    draft = extracted(shop, "how does unused_rate get to charge")
    assert "No known calls lead from `unused_rate` to `charge`." in draft.text
    assert draft.missing


def test_ends_can_be_described_in_words(shop):
    assert "`check_out` (`shop/checkout.py:4`) leads to `check_card`" in _flow(
        shop, "flow from check out to check card"
    )


def test_flow_is_deterministic(shop):
    query = "what happens when items are sold"
    assert drawn(shop, query) == drawn(make_context(FILES), query)


def test_unresolved_call_is_not_an_edge(shop):
    text = _flow(shop, "what happens when items are sold")
    assert "stray" not in text.partition("```mermaid")[2]


def test_possible_override_is_dashed():
    source = (
        "class Base:\n    def run(self):\n        pass\n\n\nclass Child(Base):\n    def run(self):\n        finish()\n\n\n"
        "def finish():\n    pass\n\n\ndef start(base: Base):\n    base.run()\n"
    )
    text = _flow(make_context({"a.py": source}), "how does start() reach finish()")
    assert "1. `start` may run `Child.run` in `a.py:16`: `base.run()`" in text
    assert [(arrow, line) for _, arrow, _, line, _ in EDGE.findall(text)] == [("-.->", "16"), ("-->", "8")]


def test_code_without_calls_is_explained_instead():
    text = _flow(make_context({"a.py": "def request():\n    return 1\n"}), "what happens when a request comes")
    assert "mermaid" not in text
    assert "`request`" in text


def test_diagram_size_is_bounded():
    helpers = "".join(
        f"def step_{number}():\n    step_{number + 1}()\n    other_{number}()\n\n\n" for number in range(40)
    )
    remaining = "".join(f"def other_{number}():\n    pass\n\n\n" for number in range(40))
    source = f"{helpers}def step_40():\n    pass\n\n\n{remaining}"
    chart = drawn(make_context({"a.py": source}), "what happens when step_0 runs")
    assert 2 < chart.count("<br/>") <= 15


NAMES = [
    "operator<<", "a|b", 'say "hi"', "it's`", "x; y --> z", "end", "graph TD", "$$x$$", "\\n", "#35;", "{a}[b](c)", "<b>",
    "%% comment", "名前", "line\nbreak", "]",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_names_cannot_leave_their_boxes(name):
    declaration, other = (Declared(number, f"src/{name}.py", 1, 2, name, "function", "source") for number in (1, 2))
    chart = format_mermaid(Flow([declaration, other], [FlowStep(0, 1, CitedLines("a.py", 7, 7, "x"), is_certain=True)]))
    first, *nodes, edge = chart.split("\n")
    assert first == "flowchart TD"
    assert len(nodes) == 2
    assert all(NODE.match(re.sub(r"#\d+;", "", node)) for node in nodes)
    assert edge == '    n0 -->|"1: line 7"| n1'


def _flow(context, query):
    return extracted(context, query).text


def test_path_with_a_non_call_step_is_not_a_flow(shop):
    index = Index(shop)
    way = index.graph.path("check_out", "check_card")
    assert len(_to_steps(index, way)) == len(way) > 1
    named = [replace(way[0], relation="references"), *way[1:]]
    assert _to_steps(index, named) == []
