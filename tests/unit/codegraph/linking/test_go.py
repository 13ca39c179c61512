"""Edges of Go programs."""

import pytest

from tests.support.programs import Program, assert_same_graph, build, link, triples

_MODULE = "module example.com/shop\n\ngo 1.22\n\nrequire github.com/gin-gonic/gin v1.9.0\n"

_SHOP = {
    "go.mod": _MODULE,
    "store/store.go": """package store

type Store interface {
	Get(id string) (*Item, error)
	Close() error
}

type Item struct{ Name string }

func (i *Item) Label() string { return i.Name }

type Base struct{ item *Item }

func (b *Base) Close() error { return nil }
""",
    "store/memory.go": """package store

type Memory struct {
	Base
	items map[string]*Item
}

func NewMemory() *Memory { return &Memory{items: map[string]*Item{}} }

func (m *Memory) Get(id string) (*Item, error) { return m.items[id], nil }
""",
    "main.go": """package main

import (
	"fmt"

	"example.com/shop/store"
	"github.com/gin-gonic/gin/binding"
)

type App struct{ store store.Store }

func (a *App) Show(id string) {
	item, err := a.store.Get(id)
	if err != nil {
		fmt.Println(err.Error())
	}
	item.Label()
}

func main() {
	m := store.NewMemory()
	defer m.Close()
	app := &App{store: m}
	app.Show("x")
	binding.Default("GET", "")
}
""",
}


def _collect_calls(program: Program) -> set[tuple[str, str]]:
    return {(source, target) for source, _, target in triples(program, "calls")}


def _collect_body_calls(text: str, **files: str) -> set[tuple[str, str]]:
    """Return the calls of a program of one module with one main file."""
    return _collect_calls({"go.mod": _MODULE, "a.go": f"package shop\n{text}", **files})


def test_calls_resolve_through_packages_fields_and_multiple_results() -> None:
    assert _collect_calls(_SHOP) == {
        ("main.go:App.Show", "store/store.go:Store.Get"),
        ("main.go:App.Show", "store/store.go:Item.Label"),
        ("main.go:main", "store/memory.go:NewMemory"),
        ("main.go:main", "store/store.go:Base.Close"),
        ("main.go:main", "main.go:App.Show"),
    }


def test_interfaces_are_implemented_structurally() -> None:
    assert triples(_SHOP, "implements", "inherits") == {
        ("store/memory.go:Memory", "inherits", "store/store.go:Base"),
        ("store/memory.go:Memory", "implements", "store/store.go:Store"),
    }
    assert ("store/memory.go:Memory.Get", "overrides", "store/store.go:Store.Get") in triples(_SHOP, "overrides")


def test_imports_link_used_files_and_external_modules() -> None:
    assert triples(_SHOP, "imports") == {
        ("main.go", "imports", "fmt"),
        ("main.go", "imports", "store/memory.go"),
        ("main.go", "imports", "store/store.go"),
        ("main.go", "imports", "github.com/gin-gonic/gin"),
    }


def test_edges_name_their_resolver() -> None:
    how = {(edge.target, edge.resolver) for edge in link(_SHOP) if edge.relation == "calls"}
    assert ("store/memory.go:NewMemory", "import") in how
    assert ("store/store.go:Base.Close", "inherited") in how


@pytest.mark.parametrize(
    ("signature", "implements"),
    [
        ("Get(key string) (*Item, error)", True),
        ("Get(key string) (item *Item, err error)", True),
        ("Get(key string) *Item", False),
        ("Get(key []byte) (*Item, error)", False),
        ("Get(key, other string) (*Item, error)", False),
        ("get(key string) (*Item, error)", False),
    ],
)
def test_interface_implementation_requires_equal_signatures(signature: str, implements: bool) -> None:
    program = {
        "a.go": "package a\ntype Item struct{}\ntype Getter interface { Get(string) (*Item, error) }\n",
        "b.go": f"package a\ntype T struct{{}}\nfunc (T) {signature} {{ panic(0) }}\n",
    }
    assert (("b.go:T", "implements", "a.go:Getter") in triples(program)) is implements


def test_embedded_interfaces_are_implemented() -> None:
    program = {
        "a/a.go": "package a\ntype Reader interface { Take() int }\ntype Both interface { Reader\n Closer }\n"
        "type Closer interface { Shut() }\ntype Odd interface { Reader\n io.Closer }\n",
        "b/b.go": "package b\ntype T struct{}\nfunc (t T) Take() int { return 0 }\nfunc (t *T) Shut() {}\n",
    }
    interfaces = {target for source, _, target in triples(program, "implements") if source == "b/b.go:T"}
    assert interfaces == {"a/a.go:Reader", "a/a.go:Both", "a/a.go:Closer"}


def test_local_name_shadows_package_and_function() -> None:
    calls = _collect_body_calls(
        'import "example.com/shop/store"\n'
        "type T struct{}\nfunc (T) New() {}\nfunc run() {}\n"
        "func f(store T, run func()) { store.New(); run() }\n",
        **{"store/s.go": "package store\nfunc New() {}\n"},
    )
    assert calls == {("a.go:f", "a.go:T.New")}


@pytest.mark.parametrize(
    ("body", "target"),
    [
        ("x := T{}; x.M()", "T.M"),
        ("x := &T{}; x.M()", "T.M"),
        ("x := new(T); x.M()", "T.M"),
        ("var x *T; x.M()", "T.M"),
        ("var x = first(); x.M()", "T.M"),
        ("x, y := pair(); y.N(); _ = x", "U.N"),
        ("for _, x := range list() { x.M() }", "T.M"),
        ("for _, x := range (T{}).us { x.N() }", "U.N"),
        ("m := map[string]*T{}; m[k].M()", ""),
        ("var m map[string]*T; m[k].M()", "T.M"),
        ("var l []T; l[0].M()", "T.M"),
        ("var l L; l[0].M()", "T.M"),
        ("if x, ok := v.(*T); ok { x.M() }", "T.M"),
        ("v.(U).N()", "U.N"),
        ("switch x := v.(type) {\ncase *T:\n x.M()\n}", "T.M"),
        ("switch x := v.(type) {\ncase T, U:\n x.M()\n}", ""),
        ("func(x *T) { x.M() }(nil)", "T.M"),
        ("generic[int](1).M()", "T.M"),
        ("generic(1).M()", "T.M"),
        ("T.M(T{})", "T.M"),
        ("(*T).M(nil)", "T.M"),
        ("(&T{}).M()", "T.M"),
        ("x := func() {}; x()", ""),
        ("unknown.M()", ""),
        ("var a A; a.M()", "T.M"),
        ("var e E; e.M()", "T.M"),
        ("var e E; e.T.M()", "T.M"),
        ("var r R; r.M()", ""),
        ("var g G[int]; g.P().M()", "T.M"),
        ("ch := make(chan T); x := <-ch; x.M()", "T.M"),
        ("rest.M()", ""),
        ("for _, x := range rest { x.M() }", "T.M"),
    ],
)  # fmt: skip
def test_receiver_types_are_inferred(body: str, target: str) -> None:
    calls = _collect_body_calls(
        "type T struct { us []*U }\nfunc (t *T) M() {}\ntype U struct{}\nfunc (u U) N() {}\nfunc (u U) M() {}\n"
        "type L []T\ntype A = T\ntype E struct { *T }\ntype R struct { t T }\n"
        "type G[X any] struct{}\nfunc (g *G[X]) P() *T { return nil }\n"
        "func first() (t *T) { return }\nfunc pair() (*T, U) { return nil, U{} }\nfunc list() []T { return nil }\n"
        "func generic[X any](x X) T { return T{} }\n"
        f"func use(v any, k string, rest ...T) {{ {body} }}\n"
    )
    callees = {callee.removeprefix("a.go:") for caller, callee in calls if caller == "a.go:use"}
    assert callees - {"first", "pair", "list", "generic", "G.P"} == ({target} if target else set())


def test_same_named_packages_are_distinct() -> None:
    program = {
        "go.mod": _MODULE,
        "a/util/u.go": "package util\nfunc Do() {}\n",
        "b/util/u.go": "package util\nfunc Do() {}\nfunc Other() {}\n",
        "main.go": 'package main\nimport (\n "example.com/shop/a/util"\n other "example.com/shop/b/util"\n)\n'
        "func main() { util.Do(); other.Do(); util.Other() }\n",
    }
    assert _collect_calls(program) == {("main.go:main", "a/util/u.go:Do"), ("main.go:main", "b/util/u.go:Do")}


def test_package_clause_names_the_package() -> None:
    program = {
        "go.mod": _MODULE,
        "go-parser/p.go": "package parser\nfunc Parse() {}\n",
        "main.go": 'package main\nimport "example.com/shop/go-parser"\nfunc main() { parser.Parse() }\n',
    }
    assert _collect_calls(program) == {("main.go:main", "go-parser/p.go:Parse")}


def test_dot_imports_and_external_test_packages_are_linked() -> None:
    program = {
        "go.mod": _MODULE,
        "p/p.go": "package p\nfunc Do() {}\nfunc hidden() {}\n",
        "p/p_test.go": 'package p_test\nimport (\n "testing"\n . "example.com/shop/p"\n)\n'
        "func TestDo(t *testing.T) { Do(); hidden() }\n",
        "p/in_test.go": "package p\nfunc helper() { hidden() }\n",
    }
    assert _collect_calls(program) == {("p/p_test.go:TestDo", "p/p.go:Do"), ("p/in_test.go:helper", "p/p.go:hidden")}
    assert ("p/p_test.go:TestDo", "tests", "p/p.go:Do") in triples(program)


def test_multiple_modules_and_replace_directives_are_linked() -> None:
    program = {
        "go.work": "go 1.22\nuse (\n ./app\n ./lib\n)\n",
        "app/go.mod": "module example.com/app\n\ngo 1.22\n\nrequire example.com/forked v1.0.0\n\n"
        "replace example.com/forked v1.0.0 => ../fork\n",
        "lib/go.mod": "module example.com/lib/v2\n\ngo 1.22\n",
        "lib/text/t.go": "package text\nfunc Trim() {}\n",
        "fork/f.go": "package forked\nfunc Fork() {}\n",
        "app/main.go": 'package main\nimport (\n "example.com/lib/v2/text"\n "example.com/forked"\n)\n'
        "func main() { text.Trim(); forked.Fork() }\n",
    }
    assert _collect_calls(program) == {
        ("app/main.go:main", "lib/text/t.go:Trim"),
        ("app/main.go:main", "fork/f.go:Fork"),
    }


def test_vendored_dependencies_are_linked() -> None:
    program = {
        "go.mod": _MODULE,
        "vendor/github.com/x/y/y.go": "package y\nfunc Do() {}\n",
        "main.go": 'package main\nimport "github.com/x/y"\nfunc main() { y.Do() }\n',
    }
    assert _collect_calls(program) == {("main.go:main", "vendor/github.com/x/y/y.go:Do")}


def test_platform_variants_resolve_to_the_default_platform() -> None:
    program = {
        "open_darwin.go": "package p\nfunc open() {}\n",
        "open_linux.go": "package p\nfunc open() {}\n",
        "open_windows.go": "package p\nfunc open() {}\nfunc use() { open() }\n",
        "p.go": "package p\nfunc run() { open() }\n",
    }
    assert _collect_calls(program) == {
        ("p.go:run", "open_linux.go:open"),
        ("open_windows.go:use", "open_windows.go:open"),
    }


def test_functions_used_as_values_are_references() -> None:
    program = {
        "a.go": "package a\nfunc handle() {}\nfunc use(f func()) {}\nfunc main() { use(handle); x := handle; x() }\n"
    }
    assert ("a.go:main", "references", "a.go:handle") in triples(program)
    assert _collect_calls(program) == {("a.go:main", "a.go:use"), ("a.go:main", "a.go:handle")}


def test_composite_literals_and_conversions_are_instantiations() -> None:
    program = {"a.go": "package a\ntype T struct{ u U }\ntype U int\nfunc f() { _ = &T{u: U(1)} }\n"}
    assert triples(program, "instantiates") == {
        ("a.go:f", "instantiates", "a.go:T"),
        ("a.go:f", "instantiates", "a.go:U"),
    }


def test_syntax_error_keeps_parsed_edges() -> None:
    assert ("a.go:f", "a.go:g") in _collect_body_calls("func g() {}\nfunc f() { g() }\nfunc broken( {\n")


@pytest.mark.parametrize("path", list(_SHOP))
def test_incremental_build_equals_full_build(path: str) -> None:
    without = {name: text for name, text in _SHOP.items() if name != path}
    changed = _SHOP | {path: _SHOP[path].replace("Get", "Fetch").replace("Close() error", "Close()")}
    for before, after in ((without, _SHOP), (_SHOP, without), (_SHOP, changed), (changed, _SHOP)):
        assert_same_graph(build(after, build(before), before), build(after))
