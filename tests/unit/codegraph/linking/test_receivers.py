"""Uses of a function or type through a member that no declaration tells."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

_JOBS = """from queue_library import job
from library.models import Table

@job
def send(to): return to

def plain(): return 1

class User(Table):
    @classmethod
    def find(cls): pass

class Clock:
    def tick(self): return 1
    @property
    def hands(self): return []
    @hands.setter
    def hands(self, value): pass
    def stop(self):
        self.tick.cache_clear()
        return self.hands.index(1)
"""


@pytest.mark.parametrize(
    ("body", "edge"),
    [
        ("jobs.send.delay(1)", ("references", "send")),
        ("send.apply_async(args=[1])", ("references", "send")),
        ("send.s(1) | other()", ("references", "send")),
        ("chain(send.si(1))", ("references", "send")),
        ("print(plain.__wrapped__)", ("references", "plain")),
        ("plain.__call__()", ("calls", "plain")),
        ("jobs.plain.__call__()", ("calls", "plain")),
        ("User.objects.filter(1)", ("references", "User")),
        ("jobs.User.objects.all()", ("references", "User")),
    ],
)
def test_a_python_function_or_class_is_used_through_its_members(body: str, edge: tuple[str, str]) -> None:
    program = {
        "jobs.py": _JOBS,
        "main.py": f"import jobs\nfrom jobs import User, plain, send\ndef main():\n    {body}\n",
    }
    edges = {target for target in triples(program) if target[0] == "main.py:main"}
    assert edges == {("main.py:main", edge[0], f"jobs.py:{edge[1]}")}


def test_methods_and_properties_are_used_through_their_members_but_not_by_their_own_setters() -> None:
    edges = triples({"jobs.py": _JOBS}, "references")
    assert {edge[2] for edge in edges if edge[0] == "jobs.py:Clock.stop"} == {
        "jobs.py:Clock.tick",
        "jobs.py:Clock.hands",
    }
    assert not {edge for edge in edges if edge[0] == "jobs.py:Clock.hands"}


@pytest.mark.parametrize(
    "body",
    [
        "send = other()\n    send.delay(1)",  # a variable hides the import
        "data.send.delay(1)",
        "User.find()",  # the member itself is known
        "send(1).delay()",  # what the function returns
    ],
)
def test_another_value_of_the_name_is_no_use_of_the_function(body: str) -> None:
    program = {"jobs.py": _JOBS, "main.py": f"from jobs import User, send\ndef main(data):\n    {body}\n"}
    assert not {edge for edge in triples(program, "references") if edge[0] == "main.py:main"}


_SHAPES = """export function draw(x) { return x; }
export class Shape { paint() { return 1; } static of() {} }
"""


@pytest.mark.parametrize(
    ("body", "edge"),
    [
        ("const f = draw.bind(null, 2);", ("references", "draw")),
        ("register(draw.length);", ("references", "draw")),
        ("draw.call(this, 1);", ("calls", "draw")),
        ("shapes.draw.apply(null, []);", ("calls", "draw")),
        ("(0, shapes.draw)(1);", ("calls", "draw")),
        ('shapes["draw"](1);', ("calls", "draw")),
        ("Shape.prototype.paint.call(x);", ("calls", "Shape.paint")),
        ("Shape.of.call(null);", ("calls", "Shape.of")),
        ("queue(Shape.prototype.paint.bind(x));", ("references", "Shape.paint")),
    ],
)
def test_a_javascript_function_is_used_through_its_members(body: str, edge: tuple[str, str]) -> None:
    head = 'import * as shapes from "./shapes";\nimport { draw, Shape } from "./shapes";\n'
    program = {"shapes.js": _SHAPES, "main.js": f"{head}export function main(x) {{ {body} }}\n"}
    edges = {edge for edge in triples(program) if edge[0] == "main.js:main"}
    assert ("main.js:main", edge[0], f"shapes.js:{edge[1]}") in edges
    assert {target for _, _, target in edges} <= {f"shapes.js:{edge[1]}", "shapes.js:Shape"}


def test_an_element_of_a_collection_is_not_a_member() -> None:
    program = {"a.ts": "class Tool { run() {} }\nconst tools: Tool[] = [];\nexport const go = () => tools[0].run();\n"}
    assert ("a.ts:go", "calls", "a.ts:Tool.run") in triples(program, "calls")


def test_a_type_is_used_through_its_members_where_functions_have_none() -> None:
    program = {
        "main.rs": (
            "#[derive(Default)]\npub struct Route { service: Service }\n"
            "impl Route {\n    fn service(&self) {}\n    fn run(&self) { self.service.start(); }\n}\n"
            "fn main() { let route = Route::default(); }\n"
        )
    }
    edges = triples(program, "calls", "references")
    assert ("main.rs:main", "references", "main.rs:Route") in edges
    assert not {edge for edge in edges if edge[2] == "main.rs:Route.service"}


def test_a_use_through_a_member_of_a_decorated_function_keeps_its_candidates() -> None:
    program = {
        "jobs.py": "class Job:\n    def delay_until(self): pass\n",
        "main.py": "from jobs import Job\n@Job\ndef send(): pass\ndef main():\n    send.delay_until()\n",
    }
    edges = [(edge.relation, edge.target) for edge in link(program) if edge.source == "main.py:main"]
    assert sorted(edges) == [("calls", "jobs.py:Job.delay_until"), ("references", "main.py:send")]


_PROGRAM: Program = {
    "jobs.py": _JOBS,
    "main.py": "import jobs\ndef main():\n    jobs.late.delay(1)\n    jobs.User.objects.all()\n",
}


@pytest.mark.parametrize("name", ["late", "User"])
def test_update_links_a_receiver_declared_later(name: str) -> None:
    before = _PROGRAM | {"jobs.py": "def early(): pass\n"}
    after = before | {"jobs.py": f"def early(): pass\ndef {name}(): pass\n"}
    assert_same_graph(build(after, build(before), before), build(after))
    assert ("main.py:main", "references", f"jobs.py:{name}") in triples(after)
