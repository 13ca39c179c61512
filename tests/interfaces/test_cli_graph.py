"""``coderag graph`` over a fake graph."""

import json
import re
from pathlib import Path

import pytest

from coderag.codegraph.graph import CodeGraph
from coderag.codegraph.symbol_graph import SymbolGraph
from coderag.errors import IndexNotFoundError
from coderag.interfaces.cli.commands.graph.query_commands import QUERY_COMMANDS
from tests.interfaces.fake_app import FakeCodeRAG
from tests.support.shop_graph import shop_graph

NEIGHBOUR_KEYS = [
    "relation", "path", "line", "start_line", "end_line", "qualified_name", "kind", "resolver", "confidence", "depth",
    "via", "evidence", "role",
]  # fmt: skip
MENTION_KEYS = ["mentions", "mention_count", "tier", "reason"]
BY_NAME = [question.name for question in QUERY_COMMANDS]
ALL = [*BY_NAME, "path", "cycles", "hotspots", "outline"]
OVER_TEXT = ["mentions", "unused"]


def json_of(result) -> dict:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


# --- questions about one declaration


def test_callers_are_lines_with_their_evidence(coderag) -> None:
    result = coderag("graph", "callers", "login")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == (
        "src/auth/views.py:31  method LoginView.post  caller, import 0.90\n"
        "src/cli.py:7  function main  caller, import 0.90\n"
    )


def test_farther_callers_stand_below_what_they_call(coderag) -> None:
    assert coderag("graph", "callers", "login", "--depth", "2").stdout == (
        "src/auth/views.py:31  method LoginView.post  caller, import 0.90\n"
        "    src/routes.py:12  function dispatch  caller, receiver 0.80\n"
        "src/cli.py:7  function main  caller, import 0.90\n"
        "    src/start.py:2  file src/start.py  caller, import 0.90\n"
        "src/base.py:4  function run  caller, import 0.60, via View.post\n"
    )
    assert coderag.calls == [("callers", ("login", 2, False))]


def test_callees_say_where_the_call_is_and_where_they_are_declared(coderag) -> None:
    assert coderag("graph", "callees", "login").stdout == (
        "src/auth/session.py:12  function verify  callee, import 0.90, at src/auth/passwords.py:40\n"
        "src/auth/session.py:14  external hashlib  callee, import 0.90\n"
    )


def test_json_has_every_field(coderag, tmp_path) -> None:
    result = json_of(coderag("graph", "callers", "login", "--depth", "2", "--json"))
    assert list(result) == ["question", "name", "depth", "candidates", "root", "results", "left_out", *MENTION_KEYS]
    assert (result["mentions"], result["mention_count"], result["tier"]) == ([], 0, "simple")
    assert result["root"] == tmp_path.as_posix()
    assert [list(one) for one in result["results"]] == [NEIGHBOUR_KEYS] * 5
    assert result["results"][2]["via"] == "LoginView.post"
    assert "depth" not in json_of(coderag("graph", "tests", "login", "--json"))


def test_nothing_found_is_said_with_its_reason_and_is_no_failure(coderag) -> None:
    result = coderag("graph", "callers", "nobody")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        "no call of nobody could be resolved; no line of the 1,204 indexed files mentions it besides its declaration\n"
        "Lua: linked within a file.\n"
    )
    assert coderag("graph", "tests", "nobody").stderr.startswith(
        "no test could be linked to nobody; no line of a test mentions it\n"
    )
    assert coderag("graph", "callees", "nobody").stderr == "nobody is not known to call anything\n"
    found = json_of(coderag("graph", "callers", "nobody", "--json"))
    assert (found["results"], found["mentions"], found["mention_count"]) == ([], [], 0)
    assert not set(MENTION_KEYS) & set(json_of(coderag("graph", "callees", "nobody", "--json")))


def test_lines_that_mention_a_name_stand_in_for_missing_edges(coderag) -> None:
    result = coderag("graph", "references", "perhaps")
    assert result.stdout == "src/old.py:4  function enter  mention: run(perhaps)\n"
    assert result.stderr.startswith("no reference to perhaps could be resolved; ")
    found = json_of(coderag("graph", "references", "perhaps", "--json"))
    assert [(line["path"], line["line"], line["context"]) for line in found["mentions"]] == [("src/old.py", 4, "code")]


def test_mentions_are_listed_by_a_command_of_their_own(coderag) -> None:
    result = coderag("graph", "mentions", "anything")
    assert result.stdout == "src/old.py:4  function enter  mention: run(perhaps)\n"
    assert json_of(coderag("graph", "mentions", "anything", "--json"))["total"] == 1


def test_unused_declarations_are_listed_with_reasons_and_a_caution(coderag) -> None:
    result = coderag("graph", "unused", "src")
    assert coderag.calls == [("unused", ("src", 50))]
    assert result.stdout == "src/old.py:3  function enter  likely: no other line mentions it\n"
    assert "2 an entry point" in result.stderr
    assert "cannot prove" in result.stderr
    assert json_of(coderag("graph", "unused", "--json"))["results"][0]["certainty"] == "likely"


def test_uncertain_ones_are_listed_only_when_asked_for_but_counted(coderag) -> None:
    result = coderag("graph", "callers", "perhaps")
    assert result.stdout == "src/old.py:4  function enter  mention: run(perhaps)\n"
    assert result.stderr.startswith(
        "no call of perhaps could be resolved; uncertain: 1 (--candidates lists them); 1 line mentions it\n"
    )
    result = coderag("graph", "callers", "perhaps", "--candidates")
    assert result.stdout == (
        "src/old.py:3  function enter  caller, name 0.30\nsrc/old.py:4  function enter  mention: run(perhaps)\n"
    )


def test_a_limit_says_what_it_leaves_out(coderag) -> None:
    result = coderag("graph", "callers", "many", "--limit", "3")
    assert len(result.stdout.splitlines()) == 3
    assert result.stderr == "left out: 97 (raise --limit)\n"
    assert json_of(coderag("graph", "callers", "many", "-n", "3", "--json"))["left_out"] == 97
    assert len(coderag("graph", "callers", "many").stdout.splitlines()) == 100


def test_an_ambiguous_name_lists_the_names_that_are_not(coderag) -> None:
    result = coderag("graph", "callers", "twice")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        "  src/a.py::login  (function, src/a.py:10)\n"
        "  src/b.py:98  (function, src/b.py:98)\n"
        "error: 'twice' may mean 2 declarations\n"
        "hint: Say which.\n"
    )


def test_an_ambiguous_name_in_json_is_one_object_on_stderr(coderag) -> None:
    result = coderag("graph", "callers", "twice", "--json")
    assert json.loads(result.stderr)["error"]["type"] == "AmbiguousNameError"


def test_an_unknown_name_offers_similar_ones(coderag) -> None:
    result = coderag("graph", "path", "missing", "x")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: nothing is named 'missing'\nhint: Similar names: mission, missile.\n"


def test_what_was_reached_through_another_declaration_says_so(coderag) -> None:
    text = coderag("graph", "callers", "Child.login").stdout  # whose callers call `login`, which it overrides
    assert text.splitlines()[0] == "src/auth/views.py:31  method LoginView.post  caller, import 0.90, via login"
    assert "by way of" not in coderag("graph", "callers", "src/auth/session.py::login").stdout


@pytest.mark.parametrize("flag", ["", "--mermaid", "--dot"])
def test_names_of_the_repository_cannot_command_the_terminal_or_the_diagram(coderag, flag) -> None:
    text = coderag("graph", "callers", "hostile", *filter(None, [flag])).stdout
    assert "\x1b" not in text
    assert not any(line.startswith(("n1", "%%")) for line in text.splitlines())
    assert "x1b" in text


# --- diagrams


def test_mermaid(coderag) -> None:
    assert coderag("graph", "callers", "login", "--mermaid").stdout == (
        "flowchart LR\n"
        '    n0["login"]\n'
        "    style n0 stroke-width:3px\n"
        '    n1["method LoginView.post<br/>src/auth/views.py:28"]\n'
        '    n2["function main<br/>src/cli.py:5"]\n'
        '    n1 -->|"calls"| n0\n'
        '    n2 -->|"calls"| n0\n'
    )


def test_dot(coderag) -> None:
    assert coderag("graph", "path", "main", "verify", "--dot").stdout == (
        "digraph {\n"
        "    rankdir=LR;\n"
        "    node [shape=box];\n"
        '    n0 [label="main", penwidth=3];\n'
        '    n1 [label="method login\\nsrc/a.py:28"];\n'
        '    n2 [label="method verify\\nsrc/b.py:28"];\n'
        '    n0 -> n1 [label="calls"];\n'
        '    n1 -> n2 [label="calls"];\n'
        "}\n"
    )


def test_a_diagram_has_at_most_60_nodes_unless_more_are_asked_for(coderag) -> None:
    result = coderag("graph", "callers", "many", "--mermaid")
    assert result.stdout.count('["method f') == 60
    assert "... and 40 more" in result.stdout
    assert result.stderr == "left out: 40 (raise --limit)\n"
    assert coderag("graph", "callers", "many", "--mermaid", "-n", "100").stdout.count('["method f') == 100


@pytest.mark.parametrize("flags", [("--json", "--dot"), ("--mermaid", "--dot"), ("--json", "--mermaid")])
def test_a_result_has_one_form(coderag, flags) -> None:
    result = coderag("graph", "callers", "login", *flags)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "exclude one another" in result.stderr
    assert coderag.opened is None


# --- questions about the whole graph


def test_a_path_is_its_steps(coderag) -> None:
    result = coderag("graph", "path", "main", "verify")
    assert result.stdout == (
        "src/cli.py:7  method login  callee, import 0.90, at src/a.py:28\n"
        "src/a.py:12  method verify  callee, import 0.90, at src/b.py:28\n"
    )
    assert coderag("graph", "path", "nobody", "x").stderr == "no path is known from nobody to x\n"
    assert coderag("graph", "path", "main", "main").exit_code == 2
    assert list(json_of(coderag("graph", "path", "main", "x", "--json")))[:3] == ["question", "from", "to"]


def test_cycles_show_one_way_around(coderag) -> None:
    result = coderag("graph", "cycles")
    assert result.stdout == (
        "cycle of 2 files\n"
        "    src/a.py:3  file src/b.py  imports, import 0.90\n"
        "    src/b.py:1  file src/a.py  imports, import 0.90\n"
    )
    found = json_of(coderag("graph", "cycles", "--json"))["results"]
    assert found[0]["members"] == ["src/a.py", "src/b.py"]
    assert list(found[0]["steps"][0]) == NEIGHBOUR_KEYS
    assert coderag("graph", "cycles", "--level", "symbols").stderr == "no cycles of symbols are known\n"


def test_hotspots(coderag) -> None:
    result = coderag("graph", "hotspots", "-n", "5", "--kind", "function")
    assert result.stdout == "src/a.py:10  function login  centrality 1.000, 12 users, uses 3\n"
    assert coderag.calls == [("hotspots", (5, "function"))]
    assert coderag("graph", "hotspots", "--kind", "enum").stderr == "nothing of the kind enum is indexed\n"
    assert json_of(coderag("graph", "hotspots", "--json"))["results"][0]["users"] == 12


def test_an_outline_is_nested(coderag) -> None:
    result = coderag("graph", "outline", "./src/a.py")
    assert coderag.calls == [("outline", "src/a.py")]
    assert result.stdout == (
        "src/a.py:3  class Session\n"
        "    src/a.py:5  method login\n"
        "    src/a.py:11  method close\n"
        "src/a.py:23  function open\n"
    )
    assert coderag("graph", "outline", "src/empty.py").stderr == "src/empty.py has no declarations\n"
    found = json_of(coderag("graph", "outline", "a", "--json"))
    assert (found["path"], found["results"][0]["children"][1]["name"]) == ("src/a.py", "close")
    assert coderag("graph", "outline", "a").stdout.startswith("src/a.py:3  class Session\n")


def test_a_folder_has_no_outline(coderag, tmp_path) -> None:
    (tmp_path / ".git").mkdir(exist_ok=True)
    (tmp_path / "src" / "inject").mkdir(parents=True)
    result = coderag("graph", "outline", "src/inject", "--repo", str(tmp_path))
    assert "src/inject is a folder" in result.stderr
    assert "Name a file in it" in result.stderr
    assert coderag.opened is None  # nothing was asked


# --- export and import


def test_an_export_in_a_pipe_is_exactly_its_bytes(coderag) -> None:
    result = coderag("graph", "export", "--to", "json")
    assert result.stdout_bytes == b'{"nodes":["a\x7f\r\n\xc3\xa4"]}\n'
    assert result.stderr == ""


def test_an_export_to_a_file_replaces_it(coderag, tmp_path) -> None:
    file = tmp_path / "graph.json"
    file.write_text("old")
    result = coderag("graph", "export", "--to", "json", "--output", str(file))
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"wrote {file}: 21 bytes\n"
    assert file.read_bytes() == b'{"nodes":["a\x7f\r\n\xc3\xa4"]}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["graph.json"]


def test_an_export_that_cannot_be_written_is_one_line(coderag, tmp_path) -> None:
    result = coderag("graph", "export", "--to", "graphml", "-o", str(tmp_path / "no" / "graph.xml"))
    assert result.exit_code == 74
    assert result.stderr.startswith("error: Cannot write ")


@pytest.mark.parametrize("server", ["neo4j", "memgraph"])
def test_an_export_to_a_database_sends_the_graph_or_writes_statements_for_it(coderag, tmp_path, server) -> None:
    assert coderag("graph", "export", "--to", server).stdout == f"sent 1,234 nodes and 5 edges to {server}\n"
    assert coderag.calls == [("send_graph", server)]
    coderag("graph", "export", "--to", server, "-o", str(tmp_path / "statements.cypher"))
    assert coderag.calls == [("export_graph", server)]


def test_an_import_prints_a_report(coderag) -> None:
    result = coderag("graph", "import", "index.scip")
    assert coderag.calls == [("import_scip", Path("index.scip"))]
    assert result.stdout == (
        "imported index.scip\n"
        "  made by      scip-python 0.6\n"
        "  files        1 covered, 1 outdated, 1 not indexed\n"
        "  edges        1,207 calls\n"
        "  outdated     src/a.py\n"
        "  not indexed  lib/b.py\n"
    )
    found = json_of(coderag("graph", "import", "index.scip", "--json"))
    assert list(found) == ["tool", "documents", "covered", "edges", "outdated", "unknown", "root"]


# --- all of them


QUESTIONS_TO_A_SHOP = {
    "callers Item.cost": "shop/cart.py:5  method Cart.total  caller, scope 0.90\n",
    "callees Item.cost": "shop/item.py:7  function price  callee, scope 0.90, at shop/item.py:11\n",
    "imports shop/gift.py -n 1": "shop/gift.py:1  class Item  imports, import 1.00, at shop/item.py:5\n",
    "importers decimal": "shop/gift.py:3  file shop/gift.py  imported by, import 1.00\n",
    "bases Gift": "shop/gift.py:1  class Item  base, scope 0.90, at shop/item.py:5\n",
    "subclasses Item": "shop/gift.py:1  class Gift  derived, scope 0.90\n",
    "implementations Priced": "shop/item.py:5  class Item  implementation, scope 0.90\n",
    "overrides Item.cost": "shop/gift.py:2  method Gift.cost  override, scope 0.90\n",
    "overridden Gift.cost": "shop/gift.py:2  method Item.cost  overridden, scope 0.90, at shop/item.py:6\n",
    "tests Cart.total": "tests/test_cart.py:2  function test_total  test for, scope 0.90\n",
    "references Item": "shop/cart.py:2  method Cart.add  user, scope 0.90\n",
    "documents Cart": "guide.md:4  file guide.md  documentation, scope 0.90\n",
    "impact price": "shop/item.py:7  method Item.cost  caller, scope 0.90\n",
    "path Item.cost price": "shop/item.py:7  function price  callee, scope 0.90, at shop/item.py:11\n",
    "cycles": "cycle of 2 files\n",
    "hotspots -n 1": "shop/item.py:11  function price  centrality 1.000, 1 user, uses 0\n",
    "outline shop/gift.py": "shop/gift.py:1  class Gift\n    shop/gift.py:2  method cost\n",
}


@pytest.mark.parametrize(("question", "answer"), QUESTIONS_TO_A_SHOP.items())
def test_a_real_graph_answers_every_question(coderag, monkeypatch, question, answer) -> None:
    graph = CodeGraph(SymbolGraph(shop_graph()))
    monkeypatch.setattr(FakeCodeRAG, "graph", graph)
    result = coderag("graph", *question.split())
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(answer)


def test_the_page_names_every_command_and_option(coderag) -> None:
    page = (Path(__file__).parents[2] / "docs/graph.md").read_text(encoding="utf-8")
    assert [command for command in [*ALL, *OVER_TEXT, "import"] if not re.search(rf"(`|graph ){command}\b", page)] == []
    options = set(re.findall(r"--[a-z]+", coderag("graph", "callers", "--help").stdout))
    common = {"--repo", "--help", "--debug", "--no"}  # of every command of `coderag`
    assert sorted(option for option in options - common if f"`{option}" not in page) == []


def test_every_question_is_asked_of_a_real_graph() -> None:
    assert {question.split()[0] for question in QUESTIONS_TO_A_SHOP} == set(ALL)


@pytest.mark.parametrize("command", [*ALL, *OVER_TEXT, "export", "import"])
def test_every_command_has_help_with_its_common_options(coderag, command) -> None:
    text = coderag("graph", command, "--help").stdout
    assert all(option in text for option in ("--repo", "-C", "--debug", "--help"))
    assert "--json" in text or command == "export"
    assert ("--mermaid" in text) == (command not in {"hotspots", "export", "import", *OVER_TEXT})
    assert ("--depth" in text) == (command in {question.name for question in QUERY_COMMANDS if question.depth})


def test_without_a_question_the_help_lists_them(coderag) -> None:
    result = coderag("graph")
    assert (result.exit_code, result.stdout) == (2, "")
    assert all(f"\n  {command} " in result.stderr for command in ALL)


def test_a_first_question_indexes_the_repository(coderag) -> None:
    result = coderag("graph", "callers", "login", behaviour="unindexed")
    assert result.exit_code == 0
    assert [name for name, _ in coderag.calls] == ["callers", "index", "callers"]
    assert "src/cli.py:7" in result.stdout
    assert "no index yet" in result.stderr


def test_indexing_can_be_refused(coderag) -> None:
    result = coderag("graph", "cycles", "--no-index", behaviour="unindexed")
    assert (result.exit_code, result.stdout) == (11, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("graph", "callers"), "Missing argument 'NAME'."),
        (("graph", "path", "a"), "Missing argument 'TO'."),
        (("graph", "export"), "Missing option '--to'"),
        (("graph", "export", "--to", "csv"), "Invalid value for '--to'"),
        (("graph", "callers", "x", "--depth", "0"), "Invalid value for '--depth'"),
        (("graph", "cycles", "--level", "folders"), "Invalid value for '--level'"),
        (("graph", "nonsense"), "No such command 'nonsense'."),
    ],
)
def test_wrong_usage_is_one_line_and_a_hint(coderag, arguments, message) -> None:
    result = coderag(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    first, second = result.stderr.splitlines()
    assert first.startswith(f"error: {message}")
    assert second.startswith("hint: See 'coderag graph")


def test_an_error_of_the_index_is_one_line_and_its_exit_code(coderag) -> None:
    result = coderag("graph", "hotspots", "--no-index", behaviour=IndexNotFoundError("no index", hint="Make it."))
    assert (result.exit_code, result.stderr) == (11, "error: no index\nhint: Make it.\n")
