"""C#: edges of small programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

SHAPE_FILE, CIRCLE_FILE, HELP_FILE = "lib/IShape.cs", "lib/Circle.cs", "lib/Help.cs"
AREA = f"{CIRCLE_FILE}:Shapes.Circle.Area"
USED = "using Shapes; namespace App;"
LIBRARY = {
    SHAPE_FILE: "namespace Shapes;\npublic interface IShape { double Area(); }\n",
    CIRCLE_FILE: """namespace Shapes
    {
        public class Circle : IShape
        {
            public Circle(double radius) { Radius = radius; }
            public Circle() : this(1) { }
            public double Radius { get; set; }
            public Circle Twin { get; set; }
            public double Area() => Scaled(Radius, 2);
            private double Scaled(double by, int times) => by;
            private double Scaled(double by) => by;
            public static Circle Unit() => new Circle(1);
        }
    }
    """,
    HELP_FILE: """namespace Shapes.Help;
    public static class Extensions { public static double Twice(this IShape shape, int times = 1) => shape.Area(); }
    """,
}


def calls(program: Program, path: str) -> set[tuple[str, str]]:
    """Return (function, what it calls or makes) of a file, without its path."""
    edges = triples(program, "calls", "instantiates")
    return {(source.partition(":")[2], target) for source, _, target in edges if source.startswith(f"{path}:")}


def in_method(body: str, head: str, members: str = "") -> Program:
    """Return the library with a class that has a method of a body."""
    return {**LIBRARY, "app/Main.cs": f"{head}\nclass Main {{\n{members}\nvoid Run(object x) {{\n{body}\n}}\n}}\n"}


@pytest.mark.parametrize(
    ("head", "body", "target"),
    [
        (USED, "new Circle(2);", f"{CIRCLE_FILE}:Shapes.Circle"),
        (USED, "Circle c = new(2);", f"{CIRCLE_FILE}:Shapes.Circle"),
        ("namespace Shapes.Inner;", "new Circle(2);", f"{CIRCLE_FILE}:Shapes.Circle"),
        ("namespace App;", "new Shapes.Circle(2);", f"{CIRCLE_FILE}:Shapes.Circle"),
        ("namespace App;", "global::Shapes.Circle.Unit();", f"{CIRCLE_FILE}:Shapes.Circle.Unit"),
        ("using C = Shapes.Circle; namespace App;", "C.Unit();", f"{CIRCLE_FILE}:Shapes.Circle.Unit"),
        ("using static Shapes.Circle; namespace App;", "Unit();", f"{CIRCLE_FILE}:Shapes.Circle.Unit"),
        (USED, "var c = Circle.Unit(); c.Area();", AREA),
        (USED, "new Circle().Twin.Twin.Area();", AREA),
        (USED, "IShape c = Circle.Unit(); c?.Area();", f"{SHAPE_FILE}:IShape.Area"),
        (USED, "((Circle)x).Area();", AREA),
        (USED, "(x as Circle).Area();", AREA),
        (USED, "if (x is Circle c) c.Area();", AREA),
        (USED, "List<Circle> l = new(); foreach (var c in l) c.Area();", AREA),
        (USED, "List<Circle> l = new(); l.Where(c => c.Area() > 1);", AREA),
        (USED, "Dictionary<string, Circle> d = new(); d[\"a\"].Area();", AREA),
        ("using Shapes; using Shapes.Help; namespace App;", "new Circle().Twice();", f"{HELP_FILE}:Extensions.Twice"),
        ("using Shapes; using Shapes.Help; namespace App;", "new Circle().Twice(2);", f"{HELP_FILE}:Extensions.Twice"),
    ],
)  # fmt: skip
def test_a_name_means_what_namespaces_directives_and_types_say(head: str, body: str, target: str) -> None:
    assert target in {to for source, to in calls(in_method(body, head), "app/Main.cs") if source.endswith("Main.Run")}


@pytest.mark.parametrize(
    ("head", "members", "body"),
    [
        ("namespace App;", "", "new Circle(2);"),
        ("using Other; namespace App;", "", "Circle.Unit();"),
        (USED, "class Circle { }", "Circle.Unit();"),
        (USED, "", "x.Area();"),
        (USED, "", "Circle.Missing();"),
        (USED, "", "Circle c; c.Twice();"),
        ("using Shapes.Help; namespace App;", "", 'x.Twice(); "".Twice();'),
        (USED, "void G<Circle>(Circle c) { c.Area(); }", ""),
    ],
)
def test_what_is_not_told_has_no_edge(head: str, members: str, body: str) -> None:
    found = calls(in_method(body, head, members), "app/Main.cs")
    assert not {to for _, to in found if to.startswith("lib/")}


def test_overloads_and_types_are_told_apart_by_their_number_of_arguments() -> None:
    program = {
        "A.cs": "class Box { public void Go() {} }\nclass Box<T> { public void Go() {} }\n",
        "B.cs": """class B {
            void One() { new Box().Go(); Many(1); }
            void Two(Box<int> b) { b.Go(); Many(1, 2); Many(1, 2, 3, 4); }
            void Many(int a) {}
            void Many(int a, params int[] b) {}
        }
        """,
    }
    graph = build(program)
    nodes = graph.nodes.to_pylist()
    found = {
        (nodes[one["source"]]["name"], nodes[one["target"]]["path"], nodes[one["target"]]["start_line"])
        for one in graph.edges.to_pylist()
        if one["relation"] == "calls"
    }
    assert found == {("One", "A.cs", 1), ("Two", "A.cs", 2), ("One", "B.cs", 4), ("Two", "B.cs", 5)}


def test_parts_of_a_type_are_one() -> None:
    program = {
        "a/P.cs": "namespace N;\npublic partial class P : Base { void One() { Two(); Shared(); field.Go(); } }\n",
        "a/P.More.cs": "namespace N;\npublic partial class P { private Q field; void Two() { One(); base.Shared(); } }\n",
        "a/Base.cs": "namespace N;\npublic class Base { protected void Shared() {} }\n",
        "a/Q.cs": "namespace N { class Q { public void Go() {} } }\nnamespace M { partial class P { void Two() {} } }\n",
    }
    assert calls(program, "a/P.cs") == {
        ("P.One", "a/P.More.cs:P.Two"),
        ("P.One", "a/Base.cs:Base.Shared"),
        ("P.One", "a/Q.cs:N.Q.Go"),
    }
    assert calls(program, "a/P.More.cs") == {("P.Two", "a/P.cs:P.One"), ("P.Two", "a/Base.cs:Base.Shared")}


def test_a_property_named_as_its_type_is_both() -> None:
    program = {
        "Color.cs": "class Color { public static Color Red() => null; public void Paint() {} }\n",
        "Pen.cs": """class Pen {
            public Color Color { get; set; }
            void Draw() { Color.Paint(); Color c = null; c.Paint(); new Color(); }
        }
        """,
    }
    assert calls(program, "Pen.cs") == {("Pen.Draw", "Color.cs:Color.Paint"), ("Pen.Draw", "Color.cs:Color")}


def test_types_are_followed() -> None:
    program = {
        "A.cs": """interface IA { void Go(); }
            abstract class A : IA { public virtual void Go() {} public static void Go(int x) {} }
        """,
        "B.cs": """class B : A { public override void Go() { base.Go(); Local(1); void Local(int x) { this.Go(); } } }
            record R(B Item) : IA { public void Go() => Item.Go(); }
        """,
    }
    assert triples(program, "inherits", "implements", "overrides") == {
        ("A.cs:A", "implements", "A.cs:IA"),
        ("B.cs:B", "inherits", "A.cs:A"),
        ("B.cs:R", "implements", "A.cs:IA"),
        ("A.cs:A.Go", "overrides", "A.cs:IA.Go"),
        ("B.cs:B.Go", "overrides", "A.cs:A.Go"),
        ("B.cs:R.Go", "overrides", "A.cs:IA.Go"),
    }
    assert calls(program, "B.cs") == {
        ("B.Go", "A.cs:A.Go"),
        ("B.Go", "B.cs:B.Go.Local"),
        ("B.Go.Local", "B.cs:B.Go"),
        ("R.Go", "B.cs:B.Go"),
    }


def test_a_project_uses_namespaces_in_all_of_its_files() -> None:
    use = "namespace App; class U { void Go() { Shapes.Circle.Unit(); Circle.Unit(); } }"
    program = {
        **LIBRARY,
        "one/One.csproj": '<Project Sdk="Microsoft.NET.Sdk"><ItemGroup><Using Include="Shapes" /></ItemGroup></Project>',
        "one/src/U.cs": use,
        "two/Two.csproj": '<Project Sdk="Microsoft.NET.Sdk"></Project>',
        "two/src/U.cs": use.replace("Shapes.Circle.Unit();", ""),
        "three/Three.csproj": '<Project Sdk="Microsoft.NET.Sdk"></Project>',
        "three/Usings.cs": "global using Shapes;",
        "three/src/U.cs": use,
    }
    assert ("U.Go", f"{CIRCLE_FILE}:Shapes.Circle.Unit") in calls(program, "one/src/U.cs")
    assert calls(program, "two/src/U.cs") == set()
    assert ("U.Go", f"{CIRCLE_FILE}:Shapes.Circle.Unit") in calls(program, "three/src/U.cs")


def test_values_in_accessors_belong_to_their_property() -> None:
    program = {
        "A.cs": """class A {
            public int X { get { var it = new P(); return it.Go(); } }
            public int Y { get { var it = new Q(); return it.Go(); } }
        }
        class P { public int Go() => 1; }
        class Q { public int Go() => 1; }
        """,
    }
    assert calls(program, "A.cs") >= {("A.X", "A.cs:P.Go"), ("A.Y", "A.cs:Q.Go")}
    assert ("A.Y", "A.cs:P.Go") not in calls(program, "A.cs")


def test_constructors_call_one_another() -> None:
    edges = [
        one for one in link(LIBRARY) if one.relation == "calls" and one.target == f"{CIRCLE_FILE}:Shapes.Circle.Circle"
    ]
    assert [(one.source, one.line) for one in edges] == [(f"{CIRCLE_FILE}:Shapes.Circle.Circle", 6)]


INCREMENTAL: Program = {
    **LIBRARY,
    "app/App.csproj": '<Project><ItemGroup><Using Include="Shapes" /></ItemGroup></Project>',
    "app/Usings.cs": "global using Shapes.Help;",
    "app/Main.cs": """namespace App;
        partial class Main { void Run(Circle c) { c.Area(); c.Twice(); Other(); Tool.Go(); } }
    """,
    "app/Main.More.cs": "namespace App; partial class Main { void Other() { Run(Circle.Unit()); } }",
    "app/Tool.cs": "namespace App; static class Tool { public static void Go() { } }",
    "Tool.cs": "static class Tool { public static void Go() { } }",
}


@pytest.mark.parametrize("path", sorted(INCREMENTAL))
def test_a_graph_built_step_by_step_is_that_built_at_once(path: str) -> None:
    without = {name: text for name, text in INCREMENTAL.items() if name != path}
    changed = {**INCREMENTAL, path: INCREMENTAL[path].replace("Area", "Size").replace("class Tool", "class Tools")}
    steps = [without, INCREMENTAL, changed, INCREMENTAL, without]
    last, previous = build(steps[0]), steps[0]
    for program in steps[1:]:
        last, previous = build(program, last, previous), program
        assert_same_graph(last, build(program))


def test_the_arguments_of_a_generic_type_are_used():
    program = {**LIBRARY, "Main.cs": f"{USED}\nclass Main {{ void Run(List<Circle> all) {{ new Bag<IShape>(); }} }}\n"}
    used = {edge for edge in triples(program, "references") if edge[0] == "Main.cs:Main.Run"}
    assert {target for _, _, target in used} == {f"{CIRCLE_FILE}:Shapes.Circle", f"{SHAPE_FILE}:IShape"}


def test_what_is_called_or_made_is_not_also_mentioned():
    program = {**LIBRARY, "Main.cs": f"{USED}\nclass Main {{ void Run() {{ new Circle(1); Circle.Unit(); }} }}\n"}
    edges = triples(program, "calls", "instantiates", "references")
    assert {edge[1:] for edge in edges if edge[0] == "Main.cs:Main.Run"} == {
        ("instantiates", f"{CIRCLE_FILE}:Shapes.Circle"),
        ("calls", f"{CIRCLE_FILE}:Shapes.Circle.Unit"),
    }
