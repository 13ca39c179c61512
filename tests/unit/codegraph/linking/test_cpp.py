"""C++: edges of small programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

SHAPES_HEADER = """
#include <memory>
#include <vector>
namespace shapes {
enum class Colour { kRed, kBlue };
enum { kPlain };
class Shape {
 public:
  virtual ~Shape();
  virtual double area() const = 0;
  double twice() const { return 2 * area(); }
  static Shape* parse(const char* text);
  class Visitor { public: void see(); };
  void accept(Visitor* visitor);
};
template <typename T> class Cell { public: T* get(); template <typename U> U as(); class Handle { public: void turn(); }; };
typedef Cell<Shape> Cells;
class Circle final : public Shape {
 public:
  explicit Circle(double radius);
  double area() const override;
  void grow(int by);
  void grow(double by, int times);
  using Self = Circle;
  Self* self();
 private:
  double scaled(double by) const;
  std::vector<std::unique_ptr<Circle>> parts_;
  Cells::Handle handle_;
};
using CirclePtr = std::shared_ptr<Circle>;
CirclePtr make(double radius);
void draw(const Shape& shape);
void each(void (*f)(int));
}
"""
SHAPES_SOURCE = """
#include "shapes.h"
namespace shapes {
namespace { void note(int) {} }
Shape::~Shape() {}
Shape* Shape::parse(const char* text) { return new Circle(1); }
void Shape::accept(Visitor* visitor) { visitor->see(); }
Circle::Circle(double radius) { grow(1); }
double Circle::area() const { return this->scaled(2) + kPlain; }
void Circle::grow(int by) { for (auto& part : parts_) part->grow(by); handle_.turn(); note(by); }
void Circle::grow(double by, int times) { parts_[0]->self()->area(); }
Circle* Circle::self() { return this; }
double Circle::scaled(double by) const { return by; }
CirclePtr make(double radius) { return std::make_shared<Circle>(radius); }
void draw(const Shape& shape) { shape.twice(); each(&note); each(note); }
void each(void (*f)(int)) { f(1); }
}
"""
LIBRARY = {"lib/shapes.h": SHAPES_HEADER, "lib/shapes.cc": SHAPES_SOURCE}
H, CC = "lib/shapes.h:shapes", "lib/shapes.cc:shapes"


def build_main(body: str, head: str = "using namespace shapes;", parameters: str = "") -> Program:
    """Return the library with a function that has a body."""
    return {**LIBRARY, "app/main.cc": f'#include "lib/shapes.h"\n{head}\nvoid run({parameters}) {{\n{body}\n}}\n'}


def collect_targets(program: Program, *relations: str, source: str = "app/main.cc:run") -> set[str]:
    """Return the targets of the edges from a declaration."""
    return {target for start, _, target in triples(program, *relations) if start == source}


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("Circle c(1); c.area();", f"{CC}.Circle.area"),
        ("Circle c{1}; c.area();", f"{CC}.Circle.area"),
        ("Circle* c = new Circle(1); c->area();", f"{CC}.Circle.area"),
        ("auto c = std::make_unique<Circle>(1); c->area();", f"{CC}.Circle.area"),
        ("auto c = make(1); c->area();", f"{CC}.Circle.area"),
        ("auto* c = dynamic_cast<Circle*>(s); c->area();", f"{CC}.Circle.area"),
        ("if (auto* c = static_cast<Circle*>(s)) c->area();", f"{CC}.Circle.area"),
        ("((Circle*)s)->area();", f"{CC}.Circle.area"),
        ("std::vector<Circle> all; all[0].area();", f"{CC}.Circle.area"),
        ("std::vector<Circle*> all; all.back()->area();", f"{CC}.Circle.area"),
        ("std::vector<CirclePtr> all; for (const auto& c : all) c->area();", f"{CC}.Circle.area"),
        ("std::map<int, Circle> all; all.find(1)->second.area();", f"{CC}.Circle.area"),
        ("Circle rows[3]; rows[1].area();", f"{CC}.Circle.area"),
        ("auto f = [](Circle& c) { c.area(); };", f"{CC}.Circle.area"),
        ("Shape& shape = *s; shape.area();", f"{H}.Shape.area"),
        ("Circle c(1); c.twice();", f"{H}.Shape.twice"),
        ("Shape::parse(0)->twice();", f"{H}.Shape.twice"),
        ("Cell<Shape>::Handle h; h.turn();", f"{H}.Cell.Handle.turn"),
        ("Cell<Shape> cell; cell.get();", f"{H}.Cell.get"),
        ("Cell<Shape> cell; cell.as<int>();", f"{H}.Cell.as"),
        ("Cell<Shape> cell; cell.template as<int>();", f"{H}.Cell.as"),
        ("shapes::make(1);", f"{CC}.make"),
        ("::shapes::draw(*s);", f"{CC}.draw"),
    ],
)
def test_calls_resolve_through_types_and_namespaces(body: str, target: str) -> None:
    assert target in collect_targets(build_main(body, parameters="Shape* s"), "calls")


@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("using namespace shapes;", "make(1);"),
        ("using shapes::make;", "make(1);"),
        ("", "using namespace shapes; make(1);"),
        ("", "shapes::make(1);"),
        ("namespace shapes { void other(); }", "shapes::make(1);"),
    ],
)
def test_names_of_a_namespace_are_visible_where_it_is_used(head: str, body: str) -> None:
    assert f"{CC}.make" in collect_targets(build_main(body, head), "calls")


def test_name_of_another_namespace_is_unresolved() -> None:
    assert collect_targets(build_main("make(1);", ""), "calls") == set()


def test_header_uses_a_namespace_for_those_that_include_it() -> None:
    program = {**LIBRARY, "app/all.h": '#include "lib/shapes.h"\nusing namespace shapes;\n'}
    program["app/main.cc"] = '#include "all.h"\nvoid run() { make(1); }\n'
    assert f"{CC}.make" in collect_targets(program, "calls")


def test_methods_see_members_and_nested_types_of_their_class() -> None:
    calls = {(source, target) for source, _, target in triples(LIBRARY, "calls")}
    assert calls >= {
        (f"{CC}.Circle.area", f"{CC}.Circle.scaled"),
        (f"{CC}.Circle.Circle", f"{CC}.Circle.grow"),
        (f"{CC}.Circle.grow", f"{CC}.Circle.grow"),
        (f"{CC}.Circle.grow", f"{H}.Cell.Handle.turn"),
        (f"{CC}.Circle.grow", f"{CC}.note"),
        (f"{CC}.Circle.grow", f"{CC}.Circle.self"),
        (f"{CC}.Circle.grow", f"{CC}.Circle.area"),
        (f"{CC}.Shape.accept", f"{H}.Shape.Visitor.see"),
        (f"{H}.Shape.twice", f"{H}.Shape.area"),
    }


def test_inheritance_overrides_and_instances() -> None:
    edges = triples(LIBRARY, "inherits", "overrides", "instantiates")
    assert edges == {
        (f"{H}.Circle", "inherits", f"{H}.Shape"),
        (f"{CC}.Circle.area", "overrides", f"{H}.Shape.area"),
        (f"{CC}.Shape.parse", "instantiates", f"{H}.Circle"),
        (f"{CC}.make", "instantiates", f"{H}.Circle"),
    }


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("add(&Circle::grow);", f"{CC}.Circle.grow"),
        ("add(Colour::kRed);", f"{H}.Colour.kRed"),
        ("add(kPlain);", f"{H}.kPlain"),
        ("std::vector<Shape*> all;", f"{H}.Shape"),
        ("add(sizeof(Circle));", f"{H}.Circle"),
        ("auto f = make; add(f);", f"{CC}.make"),
        ("std::thread t(make, 1);", f"{CC}.make"),
    ],
)
def test_values_and_types_are_references(body: str, target: str) -> None:
    assert target in collect_targets(build_main(body), "references")


def test_functions_that_are_passed_on_are_references() -> None:
    assert (f"{CC}.draw", "references", f"{CC}.note") in triples(LIBRARY)


def test_call_on_an_unknown_value_is_a_candidate() -> None:
    edges = [edge for edge in link(build_main("unknown()->grow(1);")) if edge.source == "app/main.cc:run"]
    assert {(edge.relation, edge.target) for edge in edges} == {("calls", f"{CC}.Circle.grow")}
    assert all(edge.confidence < 0.5 for edge in edges)


def test_method_of_a_standard_type_is_no_candidate() -> None:
    program = {"a.cc": "struct S { int length(); };\nint f(std::string text, int n) { return text.length(); }\n"}
    assert collect_targets(program, source="a.cc:f") == set()
    assert [edge for edge in link(program) if edge.source == "a.cc:f"] == []


def test_nested_type_of_an_alias_of_a_standard_type_is_unknown() -> None:
    program = {
        "a.cc": "struct iterator { void go(); };\nusing Rows = std::vector<int>;\nvoid f(Rows::iterator it) { it.go(); }\n"
    }
    assert collect_targets(program, "calls", source="a.cc:f") == set()


def test_template_parameter_is_no_type_of_its_name() -> None:
    program = {
        "a.h": "struct Key {};\ntemplate <typename Key> struct List { Key* head; };\nstruct Pair { Key* first; };\n",
    }
    assert triples(program, "references") == {("a.h:Pair", "references", "a.h:Key")}


def test_names_that_a_repository_adds_to_the_standard_namespace_are_no_targets() -> None:
    program = {
        "a.h": "struct A {};\nnamespace std { inline void swap(A& a, A& b) {} }\n",
        "b.cc": '#include "a.h"\nusing namespace std;\nvoid f(int a, int b) { swap(a, b); std::swap(a, b); }\n',
    }
    assert collect_targets(program, "calls", source="b.cc:f") == set()


def test_fixture_members_are_visible_in_its_tests() -> None:
    program = {
        **LIBRARY,
        "lib/shapes_check.cc": '#include "shapes.h"\nusing namespace shapes;\n'
        "class DrawFixture : public testing::Test { protected: void prepare() {} Circle circle_; };\n"
        "TEST_F(DrawFixture, Grows) { prepare(); circle_.grow(1); draw(circle_); }\n"
        "TEST_F(DrawFixture, draw) {}\nTEST(Draw, Draws) { draw(Circle(1)); }\n",
    }
    grows, draws = "lib/shapes_check.cc:DrawFixture.Grows", "lib/shapes_check.cc:Draw.Draws"
    assert collect_targets(program, "calls", source=grows) == {
        "lib/shapes_check.cc:DrawFixture.prepare",
        f"{CC}.Circle.grow",
        f"{CC}.draw",
    }
    assert collect_targets(program, "tests", source=draws) == {f"{CC}.draw", f"{H}.Circle"}


def test_c_header_serves_both_languages() -> None:
    program = {
        "port.h": '#ifdef __cplusplus\nextern "C" {\n#endif\nint port_open(int n);\n#ifdef __cplusplus\n}\n#endif\n',
        "port.c": '#include "port.h"\nint port_open(int n) { return n; }\n',
        "use.cpp": '#include "port.h"\nint use() { return port_open(1); }\n',
    }
    assert collect_targets(program, "calls", source="use.cpp:use") == {"port.c:port_open"}


@pytest.mark.parametrize("path", list(LIBRARY))
def test_incremental_build_equals_full_build(path: str) -> None:
    program = build_main("make(1)->area(); draw(*s);", parameters="Shape* s")
    without = {name: text for name, text in program.items() if name != path}
    changed = program | {path: program[path].replace("area", "size").replace("namespace shapes", "namespace forms")}
    for before, after in ((without, program), (program, without), (program, changed), (changed, program)):
        assert_same_graph(build(after, build(before), before), build(after))
