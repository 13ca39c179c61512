"""Java: edges of small programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

SHAPES = """
package shapes;
public interface Shape { double area(); default String label() { return "shape"; } }
"""
CIRCLE = """
package shapes;
public class Circle implements Shape {
    private final double radius;
    public Circle(double radius) { this.radius = radius; }
    public Circle() { this(1); }
    public double area() { return scaled(radius, 2); }
    private double scaled(double by, int times) { return by; }
    private double scaled(double by) { return by; }
    public static Circle unit() { return new Circle(1); }
}
"""
LIBRARY = {"src/shapes/Shape.java": SHAPES, "src/shapes/Circle.java": CIRCLE}
CIRCLE_FILE, SHAPE_FILE = "src/shapes/Circle.java", "src/shapes/Shape.java"
SHAPES_IMPORT = "package app; import shapes.*;"
COLLECTIONS_IMPORT = "package app; import java.util.*; import shapes.*;"
AREA = f"{CIRCLE_FILE}:Circle.area"


def collect_calls(program: Program, path: str) -> set[tuple[str, str]]:
    """Return (caller, target) of the calls and instantiations in a file, without its path."""
    edges = triples(program, "calls", "instantiates")
    return {(source.partition(":")[2], target) for source, _, target in edges if source.startswith(f"{path}:")}


def build_method_program(body: str, head: str = "package app;", members: str = "") -> Program:
    """Return the library with a class that has a method with a body."""
    return {
        **LIBRARY,
        "src/app/Main.java": f"{head}\nclass Main {{\n{members}\nvoid run(Object in) {{\n{body}\n}}\n}}\n",
    }


@pytest.mark.parametrize(
    ("head", "body", "target"),
    [
        ("package app; import shapes.Circle;", "new Circle(2);", f"{CIRCLE_FILE}:Circle"),
        (SHAPES_IMPORT, "new Circle(2);", f"{CIRCLE_FILE}:Circle"),
        ("package shapes;", "new Circle(2);", f"{CIRCLE_FILE}:Circle"),
        ("package app;", "new shapes.Circle(2);", f"{CIRCLE_FILE}:Circle"),
        ("package app;", "shapes.Circle.unit();", f"{CIRCLE_FILE}:Circle.unit"),
        ("package app; import static shapes.Circle.unit;", "unit();", f"{CIRCLE_FILE}:Circle.unit"),
        ("package app; import static shapes.Circle.*;", "unit();", f"{CIRCLE_FILE}:Circle.unit"),
        (SHAPES_IMPORT, "Circle.unit().area();", AREA),
        (SHAPES_IMPORT, "var c = Circle.unit(); c.area();", AREA),
        (SHAPES_IMPORT, "Shape c = Circle.unit(); c.area();", f"{SHAPE_FILE}:Shape.area"),
        (SHAPES_IMPORT, "new Circle().label();", f"{SHAPE_FILE}:Shape.label"),
        (SHAPES_IMPORT, "((Circle) in).area();", AREA),
        (SHAPES_IMPORT, "if (in instanceof Circle c) c.area();", AREA),
        (SHAPES_IMPORT, "Circle[] all = {}; all[0].area();", AREA),
        (COLLECTIONS_IMPORT, "List<Circle> l = null; l.get(0).area();", AREA),
        (COLLECTIONS_IMPORT, "Map<String, Circle> m = null; m.get(\"a\").area();", AREA),
        (COLLECTIONS_IMPORT, "List<Circle> l = null; l.forEach(c -> c.area());", AREA),
        (COLLECTIONS_IMPORT, "List<? extends Circle> l = null; for (var c : l) c.area();", AREA),
    ],
)  # fmt: skip
def test_names_resolve_through_packages_imports_and_types(head: str, body: str, target: str) -> None:
    targets = {
        to
        for source, to in collect_calls(build_method_program(body, head), "src/app/Main.java")
        if source == "Main.run"
    }
    assert target in targets


@pytest.mark.parametrize(
    ("head", "members", "body"),
    [
        ("package app;", "", "new Circle(2);"),
        ("package app; import other.Circle;", "", "new Circle(2);"),
        ("package app; import other.*;", "", "Circle.unit();"),
        (SHAPES_IMPORT, "class Circle { }", "Circle.unit();"),
        ("package app;", "", "in.area();"),
        (SHAPES_IMPORT, "", "Circle.missing();"),
        (SHAPES_IMPORT, "", "new Circle().scaled(1, 2, 3);"),
        (SHAPES_IMPORT, "<Circle> void g(Circle c) { c.area(); }", ""),
    ],
)
def test_unresolvable_calls_have_no_edge(head: str, members: str, body: str) -> None:
    calls = collect_calls(build_method_program(body, head, members), "src/app/Main.java")
    assert not {to for _, to in calls if to.startswith(("src/shapes/Circle.java:Circle.", "src/shapes/Shape.java"))}
    if "shapes" not in head:
        assert not calls


def test_overloads_resolve_by_arity() -> None:
    edges = [edge for edge in link(LIBRARY) if edge.relation == "calls" and edge.target.endswith("Circle.scaled")]
    assert [edge.line for edge in edges] == [7]
    text = CIRCLE.replace("scaled(radius, 2)", "scaled(radius)")
    graph = build({**LIBRARY, CIRCLE_FILE: text})
    nodes, call_edges = (
        graph.nodes.to_pylist(),
        [edge for edge in graph.edges.to_pylist() if edge["relation"] == "calls"],
    )
    assert [
        nodes[edge["target"]]["start_line"] for edge in call_edges if nodes[edge["target"]]["name"] == "scaled"
    ] == [9]


def test_constructor_chaining_is_linked() -> None:
    program = {"A.java": "class A { A(int x) {} }\nclass B extends A { B() { super(1); } B(int y) { this(); } }\n"}
    assert {(edge[0], edge[2], edge.line) for edge in link(program) if edge.relation == "calls"} == {
        ("A.java:B.B", "A.java:A.A", 2),
        ("A.java:B.B", "A.java:B.B", 2),
    }


def test_field_and_method_of_one_name_are_distinct() -> None:
    program = {
        "A.java": "class A { B size; int size() { return size.size(); } }\n",
        "B.java": "class B { int size() { return 1; } }\n",
    }
    assert collect_calls(program, "A.java") == {("A.size", "B.java:B.size")}


def test_inner_classes_see_enclosing_and_inherited_members() -> None:
    program = {
        "Base.java": "class Base { static class Part { void go() {} } void shared() {} }\n",
        "A.java": """class A extends Base {
            void own() {}
            void shared() {}
            class In { void f() { own(); A.this.shared(); Part p = null; p.go(); } }
            static class Deep extends Base { void f() { shared(); } }
        }
        """,
    }
    assert collect_calls(program, "A.java") == {
        ("A.In.f", "A.java:A.own"),
        ("A.In.f", "A.java:A.shared"),
        ("A.In.f", "Base.java:Base.Part.go"),
        ("A.Deep.f", "Base.java:Base.shared"),
    }


def test_anonymous_class_overrides_its_type() -> None:
    program = {
        "Task.java": "interface Task { void run(); default void done() {} }\n",
        "A.java": """class A {
            void outer() {}
            void start() {
                Task t = new Task() { public void run() { done(); help(); outer(); } void help() {} };
                help();
            }
        }
        """,
    }
    assert collect_calls(program, "A.java") == {
        ("A.start", "Task.java:Task"),
        ("A.start.Task$1.run", "Task.java:Task.done"),
        ("A.start.Task$1.run", "A.java:A.start.Task$1.help"),
        ("A.start.Task$1.run", "A.java:A.outer"),
    }
    assert triples(program, "overrides", "implements") == {
        ("A.java:A.start.Task$1", "implements", "Task.java:Task"),
        ("A.java:A.start.Task$1.run", "overrides", "Task.java:Task.run"),
    }


def test_anonymous_classes_in_fields_and_in_one_another_have_their_bases() -> None:
    program = {
        "Shape.java": "abstract class Shape<T> { abstract void draw(T pen); static class Part { void paint() {} } }\n",
        "A.java": """class A extends Shape<String> {
            final Shape<String> one = new Shape<String>() {
                void draw(String pen) { new Part() { void paint() { draw(pen); } }.paint(); }
            };
            void draw(String pen) { use(new Shape<>() { void draw(Object pen) {} }); }
        }
        """,
    }
    assert triples(program, "inherits", "overrides") == {
        ("A.java:A", "inherits", "Shape.java:Shape"),
        ("A.java:A.one.Shape$1", "inherits", "Shape.java:Shape"),
        ("A.java:A.one.Shape$1.draw.Part$1", "inherits", "Shape.java:Shape.Part"),
        ("A.java:A.draw.Shape$2", "inherits", "Shape.java:Shape"),
        ("A.java:A.draw", "overrides", "Shape.java:Shape.draw"),
        ("A.java:A.one.Shape$1.draw", "overrides", "Shape.java:Shape.draw"),
        ("A.java:A.one.Shape$1.draw.Part$1.paint", "overrides", "Shape.java:Shape.Part.paint"),
        ("A.java:A.draw.Shape$2.draw", "overrides", "Shape.java:Shape.draw"),
    }


def test_enum_constants_with_bodies_override_the_methods_of_the_enum_and_its_interfaces() -> None:
    program = {
        "Task.java": "interface Task { void run(); }\n",
        "Mode.java": """enum Mode implements Task {
            FAST("f") { public void run() { pause(); } int cost() { return 1; } },
            SLOW { public void run() {} int cost() { return 2; } },
            NONE;
            abstract int cost();
            void pause() {}
        }
        """,
    }
    edges = triples(program, "inherits", "implements", "overrides", "calls")
    assert edges == {
        ("Mode.java:Mode", "implements", "Task.java:Task"),
        ("Mode.java:Mode.FAST", "inherits", "Mode.java:Mode"),
        ("Mode.java:Mode.SLOW", "inherits", "Mode.java:Mode"),
        ("Mode.java:Mode.FAST.run", "overrides", "Task.java:Task.run"),
        ("Mode.java:Mode.FAST.cost", "overrides", "Mode.java:Mode.cost"),
        ("Mode.java:Mode.SLOW.run", "overrides", "Task.java:Task.run"),
        ("Mode.java:Mode.SLOW.cost", "overrides", "Mode.java:Mode.cost"),
        ("Mode.java:Mode.FAST.run", "calls", "Mode.java:Mode.pause"),
    }


def test_records_and_enums_have_implicit_members() -> None:
    program = {
        "P.java": "record P(Q q, java.util.List<Q> all) { void f() { q().go(); q.go(); all().get(0).go(); } }\n",
        "Q.java": """enum Q { ONE, TWO; void stop() {} void go() {
            for (var each : values()) each.stop();
            ONE.stop();
            Q.valueOf("x").stop(); } }
        """,
    }
    assert collect_calls(program, "P.java") == {("P.f", "Q.java:Q.go")}
    lines = [edge.line for edge in link(program) if edge[:3] == ("Q.java:Q.go", "calls", "Q.java:Q.stop")]
    assert sorted(lines) == [2, 3, 4]


def test_member_types_are_inferred() -> None:
    program = {
        "a/I.java": "package a; public interface I<T extends I<T>> { T self(); void go(); }\n",
        "a/C.java": "package a; public abstract class C implements I<C> { public C self() { return this; } }\n",
        "b/D.java": "package b; import a.C; class D extends C { public void go() { self().go(); super.self(); } }\n",
        "b/E.java": "package b; import a.I; class E<T extends I<T>> { T it; void f() { it.self().go(); } }\n",
    }
    assert triples(program, "implements", "inherits", "overrides") == {
        ("a/C.java:C", "implements", "a/I.java:I"),
        ("b/D.java:D", "inherits", "a/C.java:C"),
        ("a/C.java:C.self", "overrides", "a/I.java:I.self"),
        ("b/D.java:D.go", "overrides", "a/I.java:I.go"),
    }
    assert collect_calls(program, "b/D.java") == {("D.go", "a/C.java:C.self"), ("D.go", "a/I.java:I.go")}
    assert collect_calls(program, "b/E.java") == {("E.f", "a/I.java:I.self"), ("E.f", "a/I.java:I.go")}


def test_same_named_types_resolve_to_the_own_module() -> None:
    text = "package p; public class T {{ public static void {} () {{}} }}"
    use = "package p; class U { void f() { T.go(); } }"
    program = {
        "one/src/p/T.java": text.format("go"), "one/src/p/U.java": use,
        "two/src/p/T.java": text.format("go"), "two/src/p/U.java": use,
    }  # fmt: skip
    assert collect_calls(program, "one/src/p/U.java") == {("U.f", "one/src/p/T.java:T.go")}
    assert collect_calls(program, "two/src/p/U.java") == {("U.f", "two/src/p/T.java:T.go")}


def test_references_imports_and_tests_are_linked() -> None:
    program = {
        **LIBRARY,
        "src/app/Use.java": """package app;
            import java.util.function.Supplier;
            import shapes.Circle;
            class Use { @Deprecated Supplier<Circle> made = Circle::unit; Class<?> type() { return Circle.class; } }
        """,
        "src/test/app/CircleTest.java": """package app;
            import shapes.Circle;
            class CircleTest { void testArea() { new Circle().area(); } }
        """,
    }
    edges = triples(program)
    assert ("src/app/Use.java", "imports", f"{CIRCLE_FILE}:Circle") in edges
    assert ("src/app/Use.java", "imports", "java.util.function") in edges
    assert ("src/app/Use.java:Use.made", "references", f"{CIRCLE_FILE}:Circle.unit") in edges
    assert ("src/app/Use.java:Use.type", "references", f"{CIRCLE_FILE}:Circle") in edges
    assert ("src/test/app/CircleTest.java:CircleTest.testArea", "tests", AREA) in edges


def test_external_base_lowers_confidence_of_enclosing_names() -> None:
    program = {
        "A.java": """import x.Outside;
            class A { void own() {} class B extends Outside { void f() { own(); other(); Helper.go(); } } }
        """,
        "Helper.java": "class Helper { static void go() {} }\n",
    }
    assert collect_calls(program, "A.java") == {("A.B.f", "A.java:A.own"), ("A.B.f", "Helper.java:Helper.go")}


def test_syntax_error_keeps_parsed_edges() -> None:
    program = {
        **LIBRARY,
        "src/app/Bad.java": "package app; import shapes.*; class Bad { void f() { Circle.unit(); int = ; } }",
    }
    assert ("Bad.f", f"{CIRCLE_FILE}:Circle.unit") in collect_calls(program, "src/app/Bad.java")


def test_cyclic_types_and_imports_terminate() -> None:
    program = {
        "a/A.java": "package a; import b.B; public class A extends B { A next; void f() { next.next.f(); g(); } }",
        "b/B.java": "package b; import a.A; public class B extends A { B() { f(); } void g() {} }",
    }
    assert ("A.f", "b/B.java:B.g") in collect_calls(program, "a/A.java")


INCREMENTAL: Program = {
    **LIBRARY,
    "src/app/Main.java": """package app;
        import shapes.*;
        class Main extends Tool { void run(Circle c) { c.area(); Shape s = c; s.label(); help(); } }
    """,
    "src/app/Tool.java": "package app; class Tool { void help() { shapes.Circle.unit().area(); } }",
    "lib/app/Tool.java": "package app; class Tool { void help() {} }",
}


@pytest.mark.parametrize("path", sorted(INCREMENTAL))
def test_incremental_build_equals_full_build(path: str) -> None:
    without = {name: text for name, text in INCREMENTAL.items() if name != path}
    changed = {**INCREMENTAL, path: INCREMENTAL[path].replace("area", "size").replace("class Tool", "class Tools")}
    steps = [without, INCREMENTAL, changed, INCREMENTAL, without]
    last, previous = build(steps[0]), steps[0]
    for program in steps[1:]:
        last, previous = build(program, last, previous), program
        assert_same_graph(last, build(program))


def test_override_evidence_is_the_line_of_the_method_name():
    program = {
        SHAPE_FILE: SHAPES,
        "src/shapes/Square.java": "package shapes;\nclass Square implements Shape {\n"
        "    @Override\n    @Deprecated\n    public double area() { return 1; }\n}\n",
    }
    (edge,) = [edge for edge in link(program) if edge.relation == "overrides"]
    assert edge.line == 5


def test_annotation_moves_the_override_evidence_line():
    before = {
        SHAPE_FILE: SHAPES,
        "src/shapes/Square.java": "class Square implements shapes.Shape {\ndouble area() {}\n}\n",
    }
    after = before | {
        "src/shapes/Square.java": "class Square implements shapes.Shape {\n@Override\ndouble area() {}\n}\n"
    }
    assert_same_graph(build(after, build(before), before), build(after))
