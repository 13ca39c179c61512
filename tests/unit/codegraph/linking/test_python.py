"""Edges of Python programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

_PEOPLE = """class Person:
    def greet(self): return self
    def name(self): pass
class Robot:
    def greet(self): return self
    def charge(self): pass
"""


def _collect_edges(program: Program, *relations: str) -> set[tuple[str, str, str]]:
    """Return the edges of a program; of a single file by bare names."""
    edges = triples(program, *relations)
    return edges if len(program) > 1 else {(a.removeprefix("a.py:"), b, c.removeprefix("a.py:")) for a, b, c in edges}


def _collect_calls(text: str, **files: str) -> set[tuple[str, str]]:
    """Return the calls and instantiations of a file."""
    program = {"a.py": text, **files}
    return {(source, target) for source, _, target in _collect_edges(program, "calls", "instantiates")}


def test_same_names_resolve_in_their_own_scope() -> None:
    text = """def run(): pass
class A:
    def run(self): pass
    def inside(self): self.run(); run()
class B:
    def run(self): pass
    def inside(self): self.run(); run()
def shadowed(run): run()
def outer():
    def run(): pass
    def inner(): run()
"""
    assert _collect_calls(text) == {
        ("A.inside", "A.run"),
        ("A.inside", "run"),
        ("B.inside", "B.run"),
        ("B.inside", "run"),
        ("outer.inner", "outer.run"),
    }


def _collect_callees(line: str, signature: str = "") -> set[str]:
    """Return the callees of a line in a function, without the types that it instantiates."""
    text = f"{_PEOPLE}def f({signature}):\n    {line}\n"
    return {target for source, target in _collect_calls(text) if source == "f" and target[0] in "PR" and "." in target}


# Scopes


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("def run(): pass\ndef f(): run()\n", {("f", "run")}),
        ("def run(): pass\ndef f(run): run()\n", set()),
        ("def run(): pass\ndef f(*run): run()\n", set()),
        ("def run(): pass\ndef f(**run): run()\n", set()),
        ("def run(): pass\ndef f(run: int = 3): run()\n", set()),
        ("def run(): pass\ndef f():\n    def run(): pass\n    run()\n", {("f", "f.run")}),
        ("def run(): pass\ndef f():\n    for run in x: run()\n", set()),
        ("def run(): pass\ndef f():\n    for a, run in x: run()\n", set()),
        ("def run(): pass\ndef f():\n    with x as run: run()\n", set()),
        ("def run(): pass\ndef f():\n    run = unknown()\n    run()\n", set()),
        ("def run(): pass\ndef other(): pass\ndef f():\n    run = other\n    run()\n", {("f", "other")}),
        ("def run(): pass\ndef f():\n    def g(): run()\n", {("f.g", "run")}),
        ("def f():\n    def run(): pass\n    def g(): run()\n    g()\n", {("f.g", "f.run"), ("f", "f.g")}),
        ("def f():\n    def run(): pass\ndef g(): run()\n", set()),
        ("def run(): pass\nclass C:\n    def run(self): run()\n", {("C.run", "run")}),
        ("class C:\n    def run(self): pass\n    def f(self): run()\n", set()),
        ("class C:\n    def run(): pass\n    made = run()\n", {("C.made", "C.run")}),
        ("def run(): pass\ndef f(): return lambda run: run()\n", set()),
        ("def run(): pass\nx = [run() for y in z]\n", {("x", "run")}),
        ("def run(): pass\ndef f(): return [run() for run in x]\n", set()),
        ("def run(): pass\ndef run(): pass\ndef f(): run()\n", {("f", "run")}),
        ("def f(n): return f(n - 1)\n", {("f", "f")}),
        ("import run\ndef f(): run.run()\n", set()),
        ("def f(): print(len(open))\n", set()),
        ("def f():\n    global run\n    run()\ndef run(): pass\n", {("f", "run")}),
    ],
)
def test_bare_name_resolves_to_the_nearest_scope(text: str, calls: set[tuple[str, str]]) -> None:
    assert _collect_calls(text) == calls


def test_last_preceding_binding_wins() -> None:
    text = f"{_PEOPLE}def f():\n    x = Person()\n    x.greet()\n    x = Robot()\n    x.greet()\n"
    lines = {(edge.line, edge.target) for edge in link({"a.py": text}) if edge.relation == "calls"}
    assert lines == {(9, "a.py:Person.greet"), (11, "a.py:Robot.greet")}


# Imports


@pytest.mark.parametrize(
    ("statement", "call"),
    [
        ("from pkg.core import make", "make()"),
        ("from pkg.core import make as do", "do()"),
        ("import pkg.core", "pkg.core.make()"),
        ("import pkg.core as c", "c.make()"),
        ("from pkg import core", "core.make()"),
        ("from pkg import core as c", "c.make()"),
        ("from pkg import create", "create()"),
        ("import pkg", "pkg.create()"),
        ("import pkg", "pkg.core.make()"),
        ("from pkg.core import *", "make()"),
        ("from pkg import *", "create()"),
        ("from pkg.chain import last", "last()"),
        ("import os, pkg.core", "pkg.core.make()"),
    ],
)
def test_imports_resolve(statement: str, call: str) -> None:
    program = {
        "pkg/__init__.py": "from .core import make as create\n",
        "pkg/core.py": "def make(): pass\n",
        "pkg/chain.py": "from .link import last\n",
        "pkg/link.py": "from . import create as last\n",
        "a.py": f"{statement}\ndef f():\n    {call}\n",
    }
    assert triples(program, "calls") == {("a.py:f", "calls", "pkg/core.py:make")}


@pytest.mark.parametrize(
    ("path", "statement", "call"),
    [
        ("pkg/sub/x.py", "from ..core import make", "make()"),
        ("pkg/sub/x.py", "from .. import core", "core.make()"),
        ("pkg/sub/x.py", "from ..other.deep import make", "make()"),
        ("pkg/x.py", "from .core import make", "make()"),
        ("pkg/x.py", "from . import core", "core.make()"),
        ("pkg/__init__.py", "from . import core", "core.make()"),
        ("pkg/__init__.py", "from .core import make", "make()"),
        ("pkg/sub/__init__.py", "from .. import core", "core.make()"),
    ],
)
def test_relative_imports_start_at_the_own_package(path: str, statement: str, call: str) -> None:
    program = {
        "core.py": "def make(): pass\n",
        "pkg/__init__.py": "",
        "pkg/core.py": "def make(): pass\n",
        "pkg/other/deep.py": "from ..core import make\n",
        "pkg/sub/__init__.py": "",
        path: f"{statement}\ndef f():\n    {call}\n",
    }
    assert triples(program, "calls") == {(f"{path}:f", "calls", "pkg/core.py:make")}


def test_unresolvable_relative_import_has_no_edge() -> None:
    program = {"pkg/a.py": "from .gone import x\nfrom ....far import y\nx()\ny()\n", "gone.py": "def x(): pass\n"}
    assert link(program) == []


def test_a_package_does_not_import_itself() -> None:
    program = {"pkg/__init__.py": "from . import core\n", "pkg/core.py": ""}
    assert triples(program) == {("pkg/__init__.py", "imports", "pkg/core.py")}


def test_imports_link_modules_members_and_external_packages() -> None:
    program = {
        "a.py": "import os.path as p\nimport requests.adapters\nfrom b import f\nfrom yaml import load\n",
        "b.py": "def f(): pass\n",
    }
    assert _collect_edges(program, "imports") == {
        ("a.py", "imports", "os"),
        ("a.py", "imports", "requests"),
        ("a.py", "imports", "yaml"),
        ("a.py", "imports", "b.py"),
        ("a.py", "imports", "b.py:f"),
    }
    assert [node["kind"] for node in build(program).nodes.to_pylist()][-3:] == ["external"] * 3


def test_mutual_imports_are_linked() -> None:
    program = {
        "a.py": "from b import g, x\ndef f(): g()\ny = x\n",
        "b.py": "from a import f, y\ndef g(): f()\nx = y\ndef h(): x(); x.run()\n",
    }
    assert triples(program, "calls") == {("a.py:f", "calls", "b.py:g"), ("b.py:g", "calls", "a.py:f")}


def test_circular_reexports_have_no_edge() -> None:
    program = {
        "a.py": "from b import x\nx()\n",
        "b.py": "from c import x\n",
        "c.py": "from a import x\nfrom b import *\n",
    }
    assert triples(program, "calls") == set()


@pytest.mark.parametrize(
    ("importing", "statement", "imported"),
    [
        ("tests/test_a.py", "import pkg.a", "src/pkg/a.py"),
        ("src/pkg/b.py", "import pkg.a", "src/pkg/a.py"),
        ("one/app/main.py", "from app.models import M", "one/app/models.py"),
        ("two/app/main.py", "from app.models import M", "two/app/models.py"),
        ("scripts/run.py", "import helper", "scripts/helper.py"),
        ("ns/b/y.py", "from ns.a.x import gx", "ns/a/x.py"),
        ("ns/b/y.py", "from ns.a import x", "ns/a/x.py"),
        ("tests/test_a.py", "import dist", "dists/dist/dist.py"),
        ("tests/test_a.py", "import lone", None),
        ("ns/b/y.py", "import logging", None),
        ("ns/b/y.py", "import helper", None),
        ("src/pkg/b.py", "import a", None),
    ],
)
def test_modules_resolve_from_source_roots(importing: str, statement: str, imported: str | None) -> None:
    program = {
        "src/pkg/__init__.py": "",
        "src/pkg/a.py": "",
        "one/app/__init__.py": "",
        "one/app/models.py": "class M: pass\n",
        "two/app/__init__.py": "",
        "two/app/models.py": "class M: pass\n",
        "scripts/helper.py": "",
        "ns/a/x.py": "def gx(): pass\n",
        "ns/b/logging.py": "",
        "examples/lone.py": "",
        "dists/dist/pyproject.toml": "[project]\nname = 'dist'\n",
        "dists/dist/dist.py": "",
        importing: f"{statement}\n",
    }
    targets = {target for source, _, target in triples(program, "imports") if source == importing}
    assert {target for target in targets if target.endswith(".py")} - {"src/pkg/__init__.py"} == {imported} - {None}


def test_source_wins_over_stub() -> None:
    program = {"b.pyi": "def f() -> int: ...\n", "b.py": "def f(): return 1\n", "a.py": "import b\nb.f()\n"}
    assert triples(program, "calls") == {("a.py", "calls", "b.py:f")}


# Types and their members


def test_methods_resolve_through_the_hierarchy() -> None:
    program = {
        "base.py": "class Base:\n    def go(self): pass\n    def stop(self): pass\n",
        "a.py": "from base import Base\n"
        "class A(Base):\n    def stop(self):\n        super().stop()\n        self.go()\n        super().missing()\n"
        "class B(A): pass\ndef f(b: B):\n    b.stop()\n    b.go()\n    Base.stop(b)\n    B.go(b)\n    b.missing()\n",
    }
    assert triples(program, "calls", "inherits", "overrides") == {
        ("a.py:A", "inherits", "base.py:Base"),
        ("a.py:B", "inherits", "a.py:A"),
        ("a.py:A.stop", "overrides", "base.py:Base.stop"),
        ("a.py:A.stop", "calls", "base.py:Base.stop"),
        ("a.py:A.stop", "calls", "base.py:Base.go"),
        ("a.py:f", "calls", "a.py:A.stop"),
        ("a.py:f", "calls", "base.py:Base.go"),
        ("a.py:f", "calls", "base.py:Base.stop"),
    }


def test_external_base_leaves_unknown_members_unresolved() -> None:
    text = "from django import Model\nclass A(Model):\n    def f(self): self.save()\ndef save(): pass\n"
    assert _collect_calls(text) == set()


def test_cyclic_and_unbounded_types_terminate() -> None:
    text = "class A(B):\n    def f(self): self.g()\nclass B(A):\n    def g(self): self.h()\nclass C(C): pass\n"
    assert ("A.f", "B.g") in _collect_calls(text)


@pytest.mark.parametrize(
    "line",
    [
        "Person().greet()",
        "Person().greet().greet()",
        "x = Person(); x.greet()",
        "x = y = Person(); y.greet()",
        "x: Person = unknown(); x.greet()",
        "(x := Person()).greet()",
        "x = (Person()); x.greet()",
        "x = Person() if y else None; x.greet()",
        "x = y or Person(); x.greet()",
        "g = Person.greet; g(1)",
        "x = [Person()]; y = Person(); y.greet()",
        "P = Person; P().greet()",
        "async def g(): (await Person()).greet()",
    ],
)
def test_values_are_inferred(line: str) -> None:
    callees = _collect_callees(line) | {
        target for source, target in _collect_calls(f"{_PEOPLE}def f():\n    {line}\n") if source == "f.g"
    }
    assert "Person.greet" in callees
    assert "Robot.greet" not in callees


@pytest.mark.parametrize(
    ("type_text", "use"),
    [
        ("Person", "x"),
        ("'Person'", "x"),
        ('"Person | None"', "x"),
        ("Optional[Person]", "x"),
        ("Person | None", "x"),
        ("Union[Person, None]", "x"),
        ("Annotated[Person, 1]", "x"),
        ("typing.Optional['Person']", "x"),
        ("list[Person]", "x[0]"),
        ("dict[str, Person]", "x['k']"),
        ("Sequence['Person']", "x[0]"),
        ("type[Person]", "x()"),
        ("Type[Person]", "x()"),
        ("int, y: Person", "y"),
        ("int, *, y: Person = None", "y"),
    ],
)
def test_annotations_give_types(type_text: str, use: str) -> None:
    assert _collect_callees(f"{use}.greet()", f"x: {type_text}") == {"Person.greet"}


@pytest.mark.parametrize("type_text", ["int", "Unknown", "Callable[[], Person]", "list[Person]", "'", "None"])
def test_unrelated_annotations_give_no_type(type_text: str) -> None:
    edges = link({"a.py": f"{_PEOPLE}def f(x: {type_text}): x.name()\n"})
    assert not [edge for edge in edges if edge.relation == "calls" and edge.confidence > 0.6]


@pytest.mark.parametrize(
    "line",
    [
        "for p in x: p.greet()",
        "[p.greet() for p in x]",
        "{p.greet() for p in x}",
        "any(p.greet() for p in x)",
        "for p in x:\n        q = p\n        q.greet()",
    ],
)
def test_collection_elements_are_typed(line: str) -> None:
    assert _collect_callees(line, "x: list[Person]") == {"Person.greet"}


def test_context_managers_iterators_and_exceptions_are_typed() -> None:
    text = (
        f"{_PEOPLE}class Pool:\n    def __enter__(self) -> Person: ...\n    def __getitem__(self, k) -> Person: ...\n"
        "class Robots:\n    def __iter__(self) -> Iterator[Robot]: ...\nclass Oops(Exception):\n"
        "    def tell(self): pass\n"
        "def f(pool: Pool, robots: Robots):\n    with pool as p: p.greet()\n    for r in robots: r.charge()\n"
        "    pool[1].name()\n"
        "    try: pass\n    except Oops as error: error.tell()\n    with open(x) as h: h.greet()\n"
    )
    calls = {
        edge.target: edge.line for edge in link({"a.py": text}) if edge.relation == "calls" and edge.confidence > 0.6
    }
    assert calls == {"a.py:Person.greet": 15, "a.py:Robot.charge": 16, "a.py:Person.name": 17, "a.py:Oops.tell": 19}


@pytest.mark.parametrize(
    "body",
    [
        "def __init__(self, p: Person): self.p = p",
        "def __init__(self, p: 'Person | None' = None): self.p = p or Person()",
        "def __init__(self): self.p = Person()",
        "def __init__(self): self.p: Person = make()",
        "def setup(self, q): self.p = Person() if q else None",
        "p: Person",
        "p = Person()",
        "p: Person = field(default=None)",
        "@property\n    def p(self) -> Person: ...",
        "@cached_property\n    def p(self): return Person()",
        "@functools.cached_property\n    def p(self): return self._p\n    _p = Person()",
        "def __init__(self, p: Person):\n        q = p\n        self.p = q",
    ],
)
def test_fields_and_properties_are_typed(body: str) -> None:
    text = (
        f"{_PEOPLE}class A:\n    {body}\n    def f(self): self.p.greet()\nclass B(A):\n    def g(self): self.p.name()\n"
    )
    calls = _collect_calls(text)
    assert ("A.f", "Person.greet") in calls
    assert ("B.g", "Person.name") in calls
    assert not [target for _, target in calls if target.startswith("Robot")]


def test_class_methods_and_constructors_give_instances() -> None:
    text = (
        "class A:\n    def __init__(self): pass\n    @classmethod\n    def make(cls): return cls()\n"
        "    @staticmethod\n"
        "    def of() -> 'A': ...\n    def go(self): A.make().go(); A.of().go(); self.make().go()\n"
    )
    assert _collect_edges({"a.py": text}, "calls", "instantiates") == {
        ("A.make", "instantiates", "A"),
        ("A.go", "calls", "A.make"),
        ("A.go", "calls", "A.of"),
        ("A.go", "calls", "A.go"),
    }


@pytest.mark.parametrize("returned", ["return Person()", "x = Person()\n    return x", "return None or Person()"])
def test_return_values_are_inferred(returned: str) -> None:
    assert ("f", "Person.greet") in _collect_calls(f"{_PEOPLE}def make():\n    {returned}\ndef f(): make().greet()\n")


def test_mutually_recursive_returns_are_unresolved() -> None:
    assert _collect_calls("def a(): return b()\ndef b(): return a()\ndef f(): a().x()\n") == {
        ("a", "b"),
        ("b", "a"),
        ("f", "a"),
    }


def test_calling_an_instance_resolves_to_dunder_call() -> None:
    text = "class A:\n    def __call__(self): pass\ndef f(a: A):\n    a()\n    A()()\nx = A()\ndef g(): x()\n"
    assert _collect_edges({"a.py": text}, "calls") == {
        ("f", "calls", "A.__call__"),
        ("g", "calls", "A.__call__"),
    }


def test_aliased_variables_are_inferred() -> None:
    text = f"{_PEOPLE}one = Person()\ntwo = one\nthree = two\ndef f(): three.greet()\n"
    assert ("f", "Person.greet") in _collect_calls(text)


# Other uses


def test_decorators_are_calls() -> None:
    text = (
        "def plain(f): return f\ndef made(x): return plain\nclass Registry:\n    def add(self, f): pass\n"
        "registry = Registry()\n@plain\ndef a(): pass\n@made(1)\nclass B: pass\n@registry.add\ndef c(): pass\n"
    )
    assert _collect_edges({"a.py": text}, "calls") - {("a.py", "calls", "made")} == {
        ("a", "calls", "plain"),
        ("B", "calls", "made"),
        ("c", "calls", "Registry.add"),
    }


def test_value_and_type_names_are_references() -> None:
    text = (
        "class T: pass\ndef run(): pass\nLIMIT = 1\ndef f(x: T, y=LIMIT) -> 'list[T]':\n    go(run, key=run)\n"
        "    return run\n"
        "TABLE = {'run': run}\nALL = [run, T]\ndef g():\n    try: pass\n    except T: pass\n"
    )
    assert _collect_edges({"a.py": text}, "references") == {
        ("f", "references", "T"),
        ("f", "references", "run"),
        ("f", "references", "LIMIT"),
        ("TABLE", "references", "run"),
        ("ALL", "references", "run"),
        ("ALL", "references", "T"),
        ("g", "references", "T"),
    }


@pytest.mark.parametrize(
    "line",
    [
        "x.greet()",
        "unknown().greet()",
        "x['a'].greet()",
        "(lambda: x)().greet()",
        "getattr(x, 'greet')()",
        "x.y.z.name()",
    ],
)
def test_unknown_receiver_gives_only_candidates(line: str) -> None:
    edges = [edge for edge in link({"a.py": f"{_PEOPLE}def f(x):\n    {line}\n"}) if edge.relation == "calls"]
    assert all(edge.confidence < 0.6 and edge.resolver in ("candidate", "unique") for edge in edges)


def test_multiple_candidates_stay_below_resolved_confidence() -> None:
    edges = [edge for edge in link({"a.py": f"{_PEOPLE}def f(x): x.greet()\n"}) if edge.source == "a.py:f"]
    assert {(edge.target, edge.resolver) for edge in edges} == {
        ("a.py:Person.greet", "candidate"),
        ("a.py:Robot.greet", "candidate"),
    }
    assert all(edge.confidence < 0.5 for edge in edges)


def test_mixin_calls_resolve_to_members_of_its_users() -> None:
    program = {
        "mixin.py": "class Sends:\n    def send_all(self):\n        self.send(1)\n        self.get(1)\n        self.lost()\n",
        "mail.py": "from mixin import Sends\nfrom post import Post\n\nclass Mail(Sends, Post): pass\n",
        "post.py": "class Post:\n    def send(self, x): pass\n    def get(self, x): pass\n",
        "else.py": "class Sends: pass\nclass Other(Sends):\n    def send(self, x): pass\n    def lost(self): pass\n",
    }
    calls = {
        (edge.line, edge.target, edge.resolver) for edge in link(program) if edge.source == "mixin.py:Sends.send_all"
    }
    assert calls == {(3, "post.py:Post.send", "unique"), (4, "post.py:Post.get", "unique")}
    program["sms.py"] = "from mail import Mail\n\nclass Sms(Mail):\n    def send(self, x): pass\n"
    calls = {
        (edge.target, edge.resolver) for edge in link(program) if edge.line == 3 and edge.source.startswith("mixin")
    }
    assert calls == {("post.py:Post.send", "candidate"), ("sms.py:Sms.send", "candidate")}


def test_mixin_calls_skip_classes_and_values_of_subtypes() -> None:
    program = {
        "mixin.py": "class Makes:\n    def make(self):\n        self.client_class(1)\n        self.Inner()\n",
        "use.py": "from mixin import Makes\n\nclass Use(Makes):\n    client_class = Makes\n    class Inner: pass\n",
    }
    assert [edge for edge in link(program) if edge.source == "mixin.py:Makes.make"] == []


def test_too_many_subtypes_give_no_candidates() -> None:
    below = "".join(f"class C{number}(A):\n    def g(self): pass\n" for number in range(70))
    for text in (below, below[: below.index("class C6(")]):
        assert [
            edge for edge in link({"a.py": f"class A:\n    def f(self): self.g()\n{text}"}) if edge.relation == "calls"
        ] == []


def test_own_member_wins_over_subtype_members() -> None:
    program = {
        "a.py": "class A:\n    def f(self): self.g()\n    def g(self): pass\nclass B(A):\n    def g(self): pass\n"
    }
    assert {(edge.target, edge.resolver) for edge in link(program) if edge.relation == "calls"} == {
        ("a.py:A.g", "self")
    }


def test_bare_names_are_not_linked_across_files() -> None:
    program = {"a.py": "def f(x):\n    helper()\n    x.charge()\n", "b.py": f"{_PEOPLE}def helper(): pass\n"}
    assert link(program) == []


def test_common_methods_are_not_candidates() -> None:
    assert (
        _collect_calls(
            "class A:\n    def append(self, x): pass\n    def close(self): pass\ndef f(x): x.append(1); x.close()\n"
        )
        == set()
    )


# Tests, documents, syntax errors


def test_tests_edges_follow_calls_and_names() -> None:
    program = {
        "login.py": "def login(): pass\ndef check(): pass\nclass Session: pass\n",
        "tests/helpers.py": "def make(): pass\n",
        "tests/test_login.py": "from login import check, login, Session\nfrom tests.helpers import make\n"
        "def test_login_fails():\n    login()\n    check()\n    make()\nclass TestSession:\n"
        "    def test_it(self): Session()\n",
    }
    tests = {edge[:4] for edge in link(program) if edge.relation == "tests"}
    assert tests == {
        ("tests/test_login.py", "tests", "login.py", "name"),
        ("tests/test_login.py:test_login_fails", "tests", "login.py:login", "name"),
        ("tests/test_login.py:test_login_fails", "tests", "login.py:check", "call"),
        ("tests/test_login.py:TestSession.test_it", "tests", "login.py:Session", "call"),
    }


def test_documents_link_unambiguous_names() -> None:
    program = {
        "pkg/a.py": "class Session:\n    def login(self): pass\ndef helper(): pass\n",
        "pkg/b.py": "def helper(): pass\n",
        "docs/x.md": "Call `Session.login()`, or `pkg.b.helper` but not `helper`;\n`unknown` and login stay.\n\n"
        "`Session`\n",
    }
    assert {(edge.target, edge.line) for edge in link(program)} == {
        ("pkg/a.py:Session.login", 1),
        ("pkg/b.py:helper", 1),
        ("pkg/a.py:Session", 4),
    }


def test_syntax_error_keeps_parsed_edges() -> None:
    calls = _collect_calls("def f(:\n  g()\n\ndef g():\n    h()\n\ndef h(): pass\nclass X(\n")
    assert ("g", "h") in calls
    assert calls <= {("g", "h"), ("f", "g")}


def test_edges_name_their_resolver() -> None:
    program = {
        "b.py": f"{_PEOPLE}def make() -> Person: ...\n",
        "a.py": "from b import make, Person\ndef local(): pass\nclass A(Person):\n    def f(self, p: Person):\n"
        "        local()\n        make()\n        self.g()\n        self.greet()\n        p.name()\n"
        "        make().greet()\n"
        "    def g(self): pass\n",
    }
    how = {
        (edge.line, edge.resolver) for edge in link(program) if edge.source == "a.py:A.f" and edge.relation == "calls"
    }
    assert how == {
        (5, "scope"),
        (6, "import"),
        (7, "self"),
        (8, "inherited"),
        (9, "annotation"),
        (10, "import"),
        (10, "return"),
    }
    assert all(0 < edge.confidence <= 1 for edge in link(program))


_CHANGES = [
    {"pkg/core.py": "def made(): pass\n"},
    {"pkg/core.py": None},
    {"pkg/__init__.py": None},
    {"pkg/__init__.py": "from .other import make\n"},
    {"pkg/core/__init__.py": "def make(): pass\n", "pkg/core.py": None},
    {"src/pkg/core.py": "def make(): pass\n", "src/pkg/__init__.py": ""},
    {"__init__.py": ""},
    {"pyproject.toml": "[project]\nname = 'x'\n"},
    {"a.py": "# moved\n\nfrom pkg.core import make\ndef f(): make()\n"},
    {"docs/x.md": "`pkg.core.make` and `make`\n"},
    {"other.py": "def make(): pass\n"},
]


@pytest.mark.parametrize("change", _CHANGES, ids=" ".join)
def test_incremental_build_equals_full_build(change: dict[str, str | None]) -> None:
    before = {
        "a.py": "from pkg import make\nimport pkg.core as core\nfrom pkg import *\ndef f():\n    make()\n"
        "    core.make()\n",
        "pkg/__init__.py": "from .core import make\n",
        "pkg/core.py": "def make(): pass\n",
        "pkg/other.py": "def make(): pass\n",
        "docs/x.md": "`make`\n",
    }
    merged: dict[str, str | None] = {**before, **change}
    after = {path: text for path, text in merged.items() if text is not None}
    assert_same_graph(build(after, build(before), before), build(after))
    assert_same_graph(build(before, build(after), after), build(before))
