"""What the replies of the MCP tools show of a repository, and agents that call them."""

from collections.abc import Mapping

import pytest

from coderag.errors import InvalidQueryError
from coderag.interfaces.mcp.arguments import MAX_RANKED_RESULTS, SearchArguments
from coderag.text.token_counts import count_tokens
from coderag.workspace.registry import Registry
from evals.efficiency.asking import McpContextAgent, SearchAgent, SearchAndReadAgent
from evals.efficiency.calling import McpTools, ToolOutput, locate_reply_lines
from evals.efficiency.spending import Line
from evals.repository import Repository

MONEY = [
    "def round_up(value):",
    '    """Round up to cents."""',
    "    cents = value * 100",
    "",
    "    whole = int(cents + 0.5)",
    "    return whole / 100",
]


class Folder:
    """Files that are only in memory."""

    def __init__(self, texts: Mapping[str, list[str]]) -> None:
        self._texts = texts
        self.languages = dict.fromkeys(texts, "python")

    def read_lines(self, path: str) -> list[str]:
        return self._texts[path]


SHOP = Folder({"money.py": MONEY, "cart.py": ["class Cart:", "    items = []"]})


def place(
    code: str, *, path: str = "money.py", start: int = 1, end: int = len(MONEY), **data: str
) -> dict[str, object]:
    return {"path": path, "start_line": start, "end_line": end, "code": code, **data}


def text_of(*codes: str) -> str:
    parts = [f"### money.py:1-6 `round_up` (function)\n```python\n{code}\n```\n" for code in codes]
    return "\n".join(["evidence: found", "", "## Results", *parts, "a note"])


def numbers(text: str, *results: dict[str, object], **data: object) -> list[int]:
    return [line.place[1] for line in locate_reply_lines(text, {"results": results, **data}, SHOP) if line.place]


# --- which lines a reply shows


def test_all_of_the_text_is_paid_for_and_only_code_is_a_line_of_a_file():
    code = "\n".join(MONEY)
    lines = list(locate_reply_lines(text_of(code), {"results": [place(code)]}, SHOP))
    assert [line.place for line in lines] == [
        *[None] * 5,
        *(("money.py", number) for number in range(1, 7)),
        *[None] * 3,
    ]
    assert sum(line.tokens for line in lines) >= count_tokens(text_of(code))


def test_of_an_elided_body_the_lines_around_the_gap_are_shown():
    code = "\n".join([MONEY[0], "    … 3 lines", *MONEY[4:]])
    assert numbers(text_of(code), place(code)) == [1, 5, 6]


def test_a_line_that_was_redacted_is_not_shown():
    code = "\n".join([*MONEY[:2], "    cents = [secret removed: Password]", *MONEY[3:]])
    assert numbers(text_of(code), place(code)) == [1, 2, 4, 5, 6]


def test_lines_of_a_snippet_are_those_at_its_place_and_no_others():
    assert numbers(text_of("    return whole / 100"), place("    return whole / 100", start=6)) == [6]
    assert numbers(text_of("    return whole / 100"), place("    return whole / 100", end=5)) == []


def test_related_code_is_shown_too_and_a_summary_in_a_heading_is_no_code():
    summary = place("Round up to cents.", detail="line")
    related = place("class Cart:", path="cart.py", end=2)
    told = locate_reply_lines(text_of("class Cart:"), {"results": [summary], "related": [related]}, SHOP)
    assert [line.place for line in told if line.place] == [("cart.py", 1)]


def test_code_that_the_text_lacks_is_a_fault():
    with pytest.raises(ValueError, match="substring not found"):
        numbers(text_of("class Cart:"), place("\n".join(MONEY)))


# --- agents


class ScriptedTools(McpTools):
    """Tools with results of one line each; a context has as many tokens as were asked for, and a tenth more."""

    def __init__(self, n_results: int = 25) -> None:
        self._n_results = n_results
        self.repository = Folder({"long.py": ["x = 1"] * 1_000})
        self.calls: list[Mapping[str, str | int]] = []

    def call(self, name: str, **arguments: str | int) -> ToolOutput:
        self.calls.append(arguments)
        if name == "coderag_context":
            size = int(arguments["max_tokens"])
            return ToolOutput([Line(size, ("long.py", 1)), Line(size // 10, ("long.py", 2))], [])
        first = int(arguments["offset"])
        shown = range(first, min(first + 10, self._n_results))
        results = [{"path": "long.py", "start_line": 10 * at + 1, "end_line": 10 * at + 3} for at in shown]
        return ToolOutput([Line(5, ("long.py", 10 * at + 1)) for at in shown], results)


def test_pages_are_asked_for_until_one_is_empty():
    tools = ScriptedTools()
    assert len(list(SearchAgent(tools).stream_lines("x"))) == 25
    assert [call["offset"] for call in tools.calls] == [0, 10, 20, 25]


def test_pages_are_asked_for_as_far_as_the_tool_takes_them():
    tools = ScriptedTools(n_results=MAX_RANKED_RESULTS + 20)
    assert len(list(SearchAgent(tools).stream_lines("x"))) == MAX_RANKED_RESULTS
    assert SearchArguments(query="x", offset=tools.calls[-1]["offset"])


def test_no_page_is_asked_for_that_nobody_pays():
    tools = ScriptedTools()
    lines = SearchAgent(tools).stream_lines("x")
    assert [next(lines) for _ in range(10)]
    assert len(tools.calls) == 1


def test_of_a_place_only_what_its_snippet_lacks_is_read():
    lines = SearchAndReadAgent(ScriptedTools()).stream_lines("x")
    found = [next(lines).place for _ in range(14)]
    assert found[:10] == [("long.py", 10 * at + 1) for at in range(10)]
    assert found[10:] == [("long.py", 2), ("long.py", 3), ("long.py", 12), ("long.py", 13)]


def test_what_a_context_has_beyond_the_budget_is_not_seen():
    wanted = {("long.py", 1), ("long.py", 2)}
    assert McpContextAgent(ScriptedTools()).measure_recall("x", wanted, (500, 1_000)) == [0.5, 0.5]


def test_a_context_is_no_larger_than_the_tool_takes():
    tools = ScriptedTools()
    assert McpContextAgent(tools).measure_recall("x", {("long.py", 2)}, (16_000, 32_000, 64_000)) == [0.0, 1.0, 1.0]
    assert sorted(call["max_tokens"] for call in tools.calls) == [16_000, 24_000]


# --- the server


@pytest.fixture(scope="module")
def tools(tmp_path_factory) -> McpTools:
    root = tmp_path_factory.mktemp("efficiency") / "shop"
    root.mkdir()
    (root / "money.py").write_text("\n".join(MONEY) + "\n")
    (root / "cart.py").write_text("class Cart:\n    items = []\n")
    return McpTools(Repository.open(root, ingestion={"workers": 0}))


@pytest.mark.parametrize("name", ["coderag_search", "coderag_context"])
def test_a_tool_shows_the_lines_of_what_is_asked(tools, name):
    told = tools.call(name, query="how is a value rounded up to cents")
    written = {("money.py", number) for number, line in enumerate(MONEY, 1) if line}
    assert written <= {line.place for line in told.lines}
    assert told.results[0]["path"] == "money.py"


def test_the_matching_lines_of_a_result_are_shown_and_no_others(tools):
    told = tools.call("coderag_search", query="round_up whole", snippet_lines=2)
    assert {line.place for line in told.lines if line.place and line.place[0] == "money.py"} == {
        ("money.py", 1),
        ("money.py", 5),
    }


def test_a_call_that_the_tool_refuses_is_told(tools):
    with pytest.raises(InvalidQueryError, match=r"(?s)coderag_search failed: .*top_k"):
        tools.call("coderag_search", query="round_up", top_k=0)


def test_what_is_measured_is_not_among_the_known_repositories_of_the_user(tools):
    McpTools(tools.repository).call("coderag_search", query="round_up")  # a new one notes what it opens
    assert Registry().read_entries() == []
