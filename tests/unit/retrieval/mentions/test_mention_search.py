"""Lines that mention a name, over small repositories in memory."""

import pytest

from coderag.retrieval.mentions.mention_search import MentionSearch
from coderag.schema.mentions import MentionQuery, Mentions
from tests.support.corpora import make_context

LUA = {
    "app/greeting.lua": (
        "local M = {}\n\nfunction M.greet(name)\n  return M.prefix .. name\nend\n\nfunction M.wave()\nend\n\nreturn M\n"
    ),
    "app/start.lua": (
        "-- call greet first\nlocal handlers = { hello = greeting.greet }\n\nlocal function run(m)\n  m.greet('x')\n"
        "  log('greet')\nend\n"
    ),
    "spec/greeting_spec.lua": "it('works', function()\n  fixture.greet('y')\nend)\n",
    "README.md": "# App\n\nUse `greet` to greet.\n",
}


def find(files: dict[str, str], name: str, query: MentionQuery | None = None, limit: int = 50) -> Mentions:
    context = make_context(files)
    return MentionSearch(context.graph, context.corpus.snapshot).find(name, query, limit=limit)


def places(mentions: Mentions) -> list[tuple[str, int, str]]:
    return [(line.path, line.line, line.context) for line in mentions.lines]


def test_code_comes_before_comments_and_source_before_tests() -> None:
    mentions = find(LUA, "M.greet")
    assert places(mentions) == [
        ("app/start.lua", 2, "code"),
        ("app/start.lua", 5, "code"),
        ("app/start.lua", 6, "string"),
        ("spec/greeting_spec.lua", 2, "code"),
        ("app/start.lua", 1, "comment"),
        ("README.md", 3, "text"),
    ]
    assert (mentions.total, mentions.unlinked, mentions.tier) == (6, 4, "full")
    assert mentions.reason.startswith("Lua: a use has no edge where the code does not tell the type of a value")


def test_a_language_without_rules_of_its_own_has_the_simple_tier() -> None:
    mentions = find(
        {"a.zig": "pub fn greet() void {}\n", "b.zig": "fn run(m: anytype) void {\n    m.greet();\n}\n"}, "greet"
    )
    assert (places(mentions), mentions.tier) == ([("b.zig", 2, "code")], "simple")
    assert mentions.reason == "Zig: names are linked only within a file and along its imports."


def test_each_line_has_its_enclosing_declaration() -> None:
    line = find(LUA, "M.greet").lines[1]
    assert (line.symbol, line.kind, line.text) == ("run", "function", "  m.greet('x')")


def test_a_cut_list_still_counts_all() -> None:
    mentions = find(LUA, "greet", limit=2)
    assert (len(mentions.lines), mentions.total) == (2, 6)


def test_tests_through_an_untyped_fixture_are_mentions() -> None:
    assert places(find(LUA, "greet", "tests")) == [("spec/greeting_spec.lua", 2, "code")]
    assert find(LUA, "wave", "tests").total == 0


def test_documents_are_prose_and_comments() -> None:
    assert places(find(LUA, "greet", "documents")) == [("app/start.lua", 1, "comment"), ("README.md", 3, "text")]


def test_lines_inside_the_declaration_do_not_count() -> None:
    mentions = find({"a.lua": "function again(n)\n  if n > 0 then again(n - 1) end\nend\n"}, "again")
    assert (mentions.total, mentions.inside) == (0, 1)


def test_methods_that_stand_outside_of_their_type_belong_to_it() -> None:
    files = {
        "queue.h": "class Queue {\n public:\n  ~Queue();\n};\n",
        "queue.cpp": '#include "queue.h"\nQueue::~Queue() {}\n',
        "main.cpp": "void drain(Queue& q);\n",
    }
    assert places(find(files, "Queue")) == [("main.cpp", 1, "code")]


def test_a_type_mentions_nothing_by_its_name_in_other_declarations() -> None:
    files = {
        "a.py": "class A:\n    def load(self):\n        pass\n",
        "b.py": "class B:\n    def load(self):\n        pass\n\n\ndef use():\n    B().load()\n",
    }
    mentions = find(files, "A.load")
    assert (mentions.total, mentions.declarations, mentions.elsewhere) == (0, 1, 1)


def test_edges_explain_lines_and_all_further_lines_of_their_user() -> None:
    files = {
        "tasks.py": "def send(user):\n    return user\n",
        "views.py": (
            "from tasks import send\n\n\ndef show(user):\n    send(user)\n    later(send)\n\n\n"
            "def other(queue):\n    queue.send(1)\n"
        ),
    }
    mentions = find(files, "send")
    assert [(line.line, line.linked) for line in mentions.lines if line.context == "code"] == [
        (5, True),
        (6, True),
        (10, False),
    ]
    assert mentions.unlinked == 1


@pytest.mark.parametrize(
    ("files", "name", "expected"),
    [
        pytest.param(
            {
                "db.sql": "CREATE TABLE Orders (id int);\nCREATE VIEW big AS SELECT * FROM orders;\n",
                "app.pl": 'my $rows = fetch("select id from orders");\n',
            },
            "Orders",
            {("db.sql", 2), ("app.pl", 1)},
            id="a table in any case, and in strings of other languages",
        ),
        pytest.param(
            {
                "main.tf": 'resource "aws_sns_topic" "alerts" {\n  name = "alerts"\n}\n',
                "out.tf": 'output "topic" {\n  value = aws_sns_topic.alerts.arn\n}\n',
            },
            "aws_sns_topic.alerts",
            {("out.tf", 2)},
            id="a resource by its type and name",
        ),
        pytest.param(
            {
                "ui/WideCard.vue": "<template><b/></template>\n",
                "ui/Page.vue": "<template>\n  <wide-card/>\n  <WideCard/>\n</template>\n",
            },
            "ui/WideCard.vue",
            {("ui/Page.vue", 2), ("ui/Page.vue", 3)},
            id="a component by the name of its file, in both spellings",
        ),
        pytest.param(
            {"a.css": ".card-big { color: red }\n", "a.html": '<b class="card-big">x</b>\n<i class="card">\n'},
            ".card-big",
            {("a.html", 1)},
            id="a class of a style sheet",
        ),
        pytest.param(
            {"lib.sh": "clean_up() {\n  rm -f x\n}\n", "run.sh": ". ./lib.sh\ntrap clean_up EXIT\n"},
            "clean_up",
            {("run.sh", 2)},
            id="a function of the shell",
        ),
        pytest.param(
            {
                "Shape.hs": "module Shape where\narea :: Int -> Int\narea x = x\n",
                "Main.hs": "module Main where\nimport Shape\nmain = print (map area [1])\n",
            },
            "area",
            {("Main.hs", 3)},
            id="a function of Haskell",
        ),
        pytest.param(
            {"app.yaml": "pool_size: 3\n", "db.rb": 'connect(config["pool_size"])\n'},
            "pool_size",
            {("db.rb", 1)},
            id="a key of a configuration file",
        ),
    ],
)
def test_every_language_has_mentions(files: dict[str, str], name: str, expected: set[tuple[str, int]]) -> None:
    assert {(line.path, line.line) for line in find(files, name).lines} >= expected


def test_a_word_that_nothing_declares_is_found_as_it_is_written() -> None:
    mentions = find({"run.sh": "tool --dry-run\ntool --dry-runs\n"}, "--dry-run")
    assert [(line.path, line.line) for line in mentions.lines] == [("run.sh", 1)]


def test_a_long_line_is_shown_around_the_name() -> None:
    mentions = find(
        {"a.lua": "function target() end\n", "b.lua": f"x = '{'alpha ' * 300}' .. target() .. '{'beta ' * 300}'\n"},
        "target",
    )
    assert "target()" in mentions.lines[0].text
    assert len(mentions.lines[0].text) < 500


def test_types_that_name_a_base_come_first_where_inheritance_is_not_linked() -> None:
    files = {
        "base.pl": "package Base;\nsub new { }\n1;\n",
        "base.rs": "pub struct Thing;\n",
        "user.rs": "use crate::base::Thing;\npub struct Holder {\n    thing: Thing,\n}\nfn run() {\n    let _ = Thing;\n}\n",
    }
    lines = find(files, "Thing", "subclasses").lines
    assert [(line.path, line.line) for line in lines] == [("user.rs", 3)]


def test_overrides_are_declarations_of_the_name() -> None:
    files = {
        "a.lua": "local A = {}\nfunction A.draw()\nend\nreturn A\n",
        "b.lua": "local B = {}\nfunction B.draw()\nend\nreturn B\n",
        "c.lua": "function show(x)\n  x.draw()\nend\n",
    }
    assert [(line.path, line.line) for line in find(files, "A.draw", "overrides").lines] == [("b.lua", 2)]
