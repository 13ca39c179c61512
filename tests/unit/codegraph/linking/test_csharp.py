"""C#: edges of small programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

SHAPE_FILE, CIRCLE_FILE, HELP_FILE = "lib/IShape.cs", "lib/Circle.cs", "lib/Help.cs"
AREA = f"{CIRCLE_FILE}:Shapes.Circle.Area"
USING_DIRECTIVES = "using Shapes; namespace App;"
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


def collect_calls(program: Program, path: str) -> set[tuple[str, str]]:
    """Return (caller, target) of the calls and instantiations in a file, without its path."""
    edges = triples(program, "calls", "instantiates")
    return {(source.partition(":")[2], target) for source, _, target in edges if source.startswith(f"{path}:")}


def build_method_program(body: str, head: str, members: str = "") -> Program:
    """Return the library with a class that has a method with a body."""
    return {**LIBRARY, "app/Main.cs": f"{head}\nclass Main {{\n{members}\nvoid Run(object x) {{\n{body}\n}}\n}}\n"}


@pytest.mark.parametrize(
    ("head", "body", "target"),
    [
        (USING_DIRECTIVES, "new Circle(2);", f"{CIRCLE_FILE}:Shapes.Circle"),
        (USING_DIRECTIVES, "Circle c = new(2);", f"{CIRCLE_FILE}:Shapes.Circle"),
        ("namespace Shapes.Inner;", "new Circle(2);", f"{CIRCLE_FILE}:Shapes.Circle"),
        ("namespace App;", "new Shapes.Circle(2);", f"{CIRCLE_FILE}:Shapes.Circle"),
        ("namespace App;", "global::Shapes.Circle.Unit();", f"{CIRCLE_FILE}:Shapes.Circle.Unit"),
        ("using C = Shapes.Circle; namespace App;", "C.Unit();", f"{CIRCLE_FILE}:Shapes.Circle.Unit"),
        ("using static Shapes.Circle; namespace App;", "Unit();", f"{CIRCLE_FILE}:Shapes.Circle.Unit"),
        (USING_DIRECTIVES, "var c = Circle.Unit(); c.Area();", AREA),
        (USING_DIRECTIVES, "new Circle().Twin.Twin.Area();", AREA),
        (USING_DIRECTIVES, "IShape c = Circle.Unit(); c?.Area();", f"{SHAPE_FILE}:IShape.Area"),
        (USING_DIRECTIVES, "((Circle)x).Area();", AREA),
        (USING_DIRECTIVES, "(x as Circle).Area();", AREA),
        (USING_DIRECTIVES, "if (x is Circle c) c.Area();", AREA),
        (USING_DIRECTIVES, "List<Circle> l = new(); foreach (var c in l) c.Area();", AREA),
        (USING_DIRECTIVES, "List<Circle> l = new(); l.Where(c => c.Area() > 1);", AREA),
        (USING_DIRECTIVES, "Dictionary<string, Circle> d = new(); d[\"a\"].Area();", AREA),
        ("using Shapes; using Shapes.Help; namespace App;", "new Circle().Twice();", f"{HELP_FILE}:Extensions.Twice"),
        ("using Shapes; using Shapes.Help; namespace App;", "new Circle().Twice(2);", f"{HELP_FILE}:Extensions.Twice"),
    ],
)  # fmt: skip
def test_names_resolve_through_namespaces_usings_and_types(head: str, body: str, target: str) -> None:
    assert target in {
        to
        for source, to in collect_calls(build_method_program(body, head), "app/Main.cs")
        if source.endswith("Main.Run")
    }


@pytest.mark.parametrize(
    ("head", "members", "body"),
    [
        ("namespace App;", "", "new Circle(2);"),
        ("using Other; namespace App;", "", "Circle.Unit();"),
        (USING_DIRECTIVES, "class Circle { }", "Circle.Unit();"),
        (USING_DIRECTIVES, "", "x.Area();"),
        (USING_DIRECTIVES, "", "Circle.Missing();"),
        (USING_DIRECTIVES, "", "Circle c; c.Twice();"),
        ("using Shapes.Help; namespace App;", "", 'x.Twice(); "".Twice();'),
        (USING_DIRECTIVES, "void G<Circle>(Circle c) { c.Area(); }", ""),
    ],
)
def test_unresolvable_calls_have_no_edge(head: str, members: str, body: str) -> None:
    calls = collect_calls(build_method_program(body, head, members), "app/Main.cs")
    assert not {to for _, to in calls if to.startswith("lib/")}


def test_overloads_and_generic_types_resolve_by_arity() -> None:
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
    calls = {
        (nodes[edge["source"]]["name"], nodes[edge["target"]]["path"], nodes[edge["target"]]["start_line"])
        for edge in graph.edges.to_pylist()
        if edge["relation"] == "calls"
    }
    assert calls == {("One", "A.cs", 1), ("Two", "A.cs", 2), ("One", "B.cs", 4), ("Two", "B.cs", 5)}


def test_partial_types_share_members() -> None:
    program = {
        "a/P.cs": "namespace N;\npublic partial class P : Base { void One() { Two(); Shared(); field.Go(); } }\n",
        "a/P.More.cs": "namespace N;\npublic partial class P { private Q field; void Two() { One(); base.Shared(); } }\n",
        "a/Base.cs": "namespace N;\npublic class Base { protected void Shared() {} }\n",
        "a/Q.cs": "namespace N { class Q { public void Go() {} } }\nnamespace M { partial class P { void Two() {} } }\n",
    }
    assert collect_calls(program, "a/P.cs") == {
        ("P.One", "a/P.More.cs:P.Two"),
        ("P.One", "a/Base.cs:Base.Shared"),
        ("P.One", "a/Q.cs:N.Q.Go"),
    }
    assert collect_calls(program, "a/P.More.cs") == {("P.Two", "a/P.cs:P.One"), ("P.Two", "a/Base.cs:Base.Shared")}


def test_property_named_like_its_type_resolves_to_either() -> None:
    program = {
        "Color.cs": "class Color { public static Color Red() => null; public void Paint() {} }\n",
        "Pen.cs": """class Pen {
            public Color Color { get; set; }
            void Draw() { Color.Paint(); Color c = null; c.Paint(); new Color(); }
        }
        """,
    }
    assert collect_calls(program, "Pen.cs") == {("Pen.Draw", "Color.cs:Color.Paint"), ("Pen.Draw", "Color.cs:Color")}


def test_member_types_are_inferred() -> None:
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
    assert collect_calls(program, "B.cs") == {
        ("B.Go", "A.cs:A.Go"),
        ("B.Go", "B.cs:B.Go.Local"),
        ("B.Go.Local", "B.cs:B.Go"),
        ("R.Go", "B.cs:B.Go"),
    }


def test_global_usings_apply_to_all_project_files() -> None:
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
    assert ("U.Go", f"{CIRCLE_FILE}:Shapes.Circle.Unit") in collect_calls(program, "one/src/U.cs")
    assert collect_calls(program, "two/src/U.cs") == set()
    assert ("U.Go", f"{CIRCLE_FILE}:Shapes.Circle.Unit") in collect_calls(program, "three/src/U.cs")


def test_calls_in_accessors_belong_to_the_property() -> None:
    program = {
        "A.cs": """class A {
            public int X { get { var it = new P(); return it.Go(); } }
            public int Y { get { var it = new Q(); return it.Go(); } }
        }
        class P { public int Go() => 1; }
        class Q { public int Go() => 1; }
        """,
    }
    assert collect_calls(program, "A.cs") >= {("A.X", "A.cs:P.Go"), ("A.Y", "A.cs:Q.Go")}
    assert ("A.Y", "A.cs:P.Go") not in collect_calls(program, "A.cs")


def test_constructor_chaining_is_linked() -> None:
    edges = [
        edge
        for edge in link(LIBRARY)
        if edge.relation == "calls" and edge.target == f"{CIRCLE_FILE}:Shapes.Circle.Circle"
    ]
    assert [(edge.source, edge.line) for edge in edges] == [(f"{CIRCLE_FILE}:Shapes.Circle.Circle", 6)]


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
def test_incremental_build_equals_full_build(path: str) -> None:
    without = {name: text for name, text in INCREMENTAL.items() if name != path}
    changed = {**INCREMENTAL, path: INCREMENTAL[path].replace("Area", "Size").replace("class Tool", "class Tools")}
    steps = [without, INCREMENTAL, changed, INCREMENTAL, without]
    last, previous = build(steps[0]), steps[0]
    for program in steps[1:]:
        last, previous = build(program, last, previous), program
        assert_same_graph(last, build(program))


def test_type_arguments_are_references():
    program = {
        **LIBRARY,
        "Main.cs": f"{USING_DIRECTIVES}\nclass Main {{ void Run(List<Circle> all) {{ new Bag<IShape>(); }} }}\n",
    }
    used = {edge for edge in triples(program, "references") if edge[0] == "Main.cs:Main.Run"}
    assert {target for _, _, target in used} == {f"{CIRCLE_FILE}:Shapes.Circle", f"{SHAPE_FILE}:IShape"}


def test_calls_and_instantiations_are_not_also_references():
    program = {
        **LIBRARY,
        "Main.cs": f"{USING_DIRECTIVES}\nclass Main {{ void Run() {{ new Circle(1); Circle.Unit(); }} }}\n",
    }
    edges = triples(program, "calls", "instantiates", "references")
    assert {edge[1:] for edge in edges if edge[0] == "Main.cs:Main.Run"} == {
        ("instantiates", f"{CIRCLE_FILE}:Shapes.Circle"),
        ("calls", f"{CIRCLE_FILE}:Shapes.Circle.Unit"),
    }


def test_methods_of_extension_blocks_are_called_on_their_receivers():
    program = {
        **LIBRARY,
        "lib/More.cs": """namespace Shapes.More;
        public static class Blocks
        {
            extension(Circle circle)
            {
                public double Half(int times) => circle.Area() / Divisor(circle);
            }
            extension(Other circle)
            {
                public double Name() => circle.Area();
            }
            static int Divisor(Circle circle) => 2;
        }
        class Other { public double Area() => 1; }
        """,
        "Main.cs": "using Shapes; using Shapes.More;\nclass Main { void Run(Circle c) { c.Half(3); c.Half(); c.Name(); } }\n",
    }
    assert collect_calls(program, "Main.cs") == {("Main.Run", "lib/More.cs:Blocks.Half")}
    assert collect_calls(program, "lib/More.cs") == {
        ("Blocks.Half", AREA),
        ("Blocks.Half", "lib/More.cs:Blocks.Divisor"),
        ("Blocks.Name", "lib/More.cs:Other.Area"),
    }
