"""What is read of names: the same for files of equal text, whole whatever the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import LANGUAGES
from coderag.schema.facts import MODULE_SCOPE, Base, Binding, FileFacts, Import, Reference
from coderag.stores.facts_codec import unpack_body, unpack_interface

_LONGEST_CHAIN = 200
_SAMPLES = {
    "python": "from a.b import c as d\nimport e.f\n@d(1)\nclass A(B[int], c.D):\n    x: list[T] = y\n"
    "    def f(self, p: 'T|None'=Q, *r) -> T:\n"
    "        with open(p) as h, g().k[0] as (m, n): h.m()\n        for i in [j() for j in p]: i.x.y().z\n"
    "        return self.x or (w := h)\n",
    "typescript": "import def, { a as b, type C } from './x';\nexport * from 'y';\n"
    "export class A<T extends C> extends b<T> implements I {\n"
    "  private x: Map<string, C> = new Map();\n  constructor(readonly p: C) { super(); }\n"
    "  get v(): C { return this.p!; }\n"
    "  async f({ q, r = s }: Props) { const { t } = await this.x.get('k')?.u(q); for (const i of t) i.go(); "
    "return t as C; }\n}\n"
    "enum E { A = 1 }\ntype U = C | undefined;\nnamespace N { export function g() { return () => f; } }\n",
    "tsx": "import React from 'react';\nexport const View = ({ a }: Props) => <A b={c()} {...d}><E.F>{g}</E.F></A>;\n",
    "javascript": "const { a, b: c } = require('./x');\nmodule.exports = { a, d() { return c(); } };\n"
    "class A extends a.B { #x = 1; static s = () => this.#x; }\n"
    "a.prototype.go = function () { new a.B().c(); };\n",
    "go": 'package a\nimport (\n\tb "x/y"\n\t. "z"\n)\ntype T[K any] struct { *b.B; f map[string][]T[K] }\n'
    "type I interface { Go(x int) (T, error); b.J }\n"
    "func (t *T[K]) Go(x, y int, z ...b.B) (r T, err error) {\n\tif v, ok := z.(b.B); ok { v.Go() }\n"
    "\tfor _, q := range t.f { q[0].Go(1).f.x() }\n"
    "\tdefer func() { recover() }()\n\treturn T{f: nil}, nil\n}\n",
    "rust": "use crate::a::{self, b::*, C as D};\nmod m;\npub struct S<T>(pub T, Vec<D>);\n"
    "impl<T: Tr> Tr for S<T> { type O = D; fn f(&self) -> Option<Self> { self.0.g()?.h::<D>(); vec![x.y(), "
    "super::z()]; None } }\n"
    "macro_rules! k { ($a:expr) => { $a.q() } }\nenum E { A { x: D }, B(D) }\n"
    "fn main() { if let Some(v) = S::new(1) { v.f(); } match e { E::A { x } => x.go(), _ => () } }\n",
    "java": "package a.b;\nimport static c.D.*;\nimport e.F;\n"
    "public class A<T extends F> extends G<T> implements H, I {\n"
    "  private final Map<String, F> x = new HashMap<>();\n"
    "  A(F f, int... n) { this(f); super.g(); }\n  @Override public <R> R f(List<? super T> l) { "
    'for (var i : l) i.go(1, 2); try (F q = x.get("")) { return (R) q; } catch (E1 | E2 e) { throw e; } }\n'
    "  Runnable r = new Runnable() { public void run() { F::new; A.this.f(null); } };\n"
    "  enum K { A, B { void z() {} } }\n  record P(F f, int n) {}\n}\n",
    "c_sharp": "global using static A.B;\nusing C = D.E<int>;\nnamespace N.M;\n"
    "public partial class A<T> : B<T>, IC where T : D {\n  public D? X { get; set; } = new();\n"
    "  public A(D d) : base(d) { }\n  public async Task<D> F(ref int n, params D[] ds) { "
    "foreach (var d in ds) d?.Go(n)!.X[0].Y(); if (d is E { X: var q } e) e.Q(); return await Z<D>(x => x.W()); }\n"
    "  record R(D D1, int N = 1);\n  static void Ext(this D d) {}\n"
    "  public static D operator +(A<T> a, D b) => a.X;\n}\n",
    "ruby": "require 'a'\nrequire_relative 'b'\nmodule M\n  class A < B\n    include C, D::E\n    attr_accessor :x\n"
    "    validate :f, if: :q?\n    def f(a, b = 1, *c, d: 2, &e)\n      self.g(1).h; @x ||= C::D.new; super; i, j = k\n"
    "      l.map { |m| m.n }.each(&method(:o)); self.x = p\n    rescue F => r then r.s\n    end\n"
    "    class << self\n      def t; new.u; end\n    end\n    let(:v) { w }\n    alias y f\n  end\nend\n",
    "php": "<?php\nnamespace A;\nuse B\\{C, E as F};\n/** @property E[] $x */\nclass D extends C {\n"
    "  function __construct(private ?F $p, \\G ...$r) { $this->g()?->k; parent::h(); "
    "E::i(...)[0]->j(); new class extends C {}; }\n"
    "  /** @return array<int, E> */\n  function f() { foreach ($this->x as $k => $v) { $v->n(F::O, [$this, 'f']); } "
    "if ($v instanceof F) { return $v ?? F::class; } array_map(fn($a) => $a, $v); }\n}\n",
    "cpp": '#include "a.h"\nclass A : public B { void f(); };\nvoid A::f() { x->y(); z.w(); B::g(); }\n',
}


def _facts(text: str, language: str) -> FileFacts:
    packed = parse_file("x", text, language, "").facts
    interface = unpack_interface(packed.interface)
    body = unpack_body(packed.body)
    return FileFacts(
        interface.language, interface.package, interface.definitions, interface.imports, interface.bases,
        interface.bindings, body.bindings, body.build_references(), body.mentions, interface.settings,
    )  # fmt: skip


def _check(facts: FileFacts, text: str) -> None:
    """Check that scopes and lines are those of the file, and that nothing is longer than it may be."""
    scopes = range(MODULE_SCOPE, len(facts.definitions))
    lines = range(text.count("\n") + 2)
    for index, fact in enumerate(facts.definitions):
        assert fact.parent in range(MODULE_SCOPE, index)
        assert fact.start_line in lines
        assert fact.start_line <= fact.end_line
        assert max(len(fact.returns), len(fact.owner)) <= 3 * _LONGEST_CHAIN
    for each in (facts.imports, facts.bindings, facts.local_bindings, facts.references):
        for fact in each:
            assert fact.scope in scopes
            assert fact.line in lines
    for base in facts.bases:
        assert base.owner in scopes
        assert base.owner != MODULE_SCOPE
    for reference in facts.references:
        assert 0 < len(reference.chain) <= _LONGEST_CHAIN
    for binding in (*facts.bindings, *facts.local_bindings):
        assert len(binding.value) <= 3 * _LONGEST_CHAIN
        assert len(binding.type) <= _LONGEST_CHAIN


@pytest.mark.parametrize("language", _SAMPLES)
def test_facts_of_each_language_match(language: str) -> None:
    facts = _facts(_SAMPLES[language], language)
    _check(facts, _SAMPLES[language])
    assert facts.references
    assert facts.definitions


def test_every_language_with_a_query_for_facts_has_a_sample() -> None:
    grammars = {LANGUAGES[name].grammar for name in _SAMPLES}
    assert {language.grammar for language in LANGUAGES.values() if language.graph} <= grammars


_EDIT = st.tuples(
    st.floats(0, 1),
    st.integers(0, 30),
    st.sampled_from(["", "(", ")", "{", "}", "\n", "'", '"', ":", "<", ".", " ", "é", "\0", "=>"]),
)


@pytest.mark.slow
@pytest.mark.parametrize("language", _SAMPLES)
@settings(max_examples=60, deadline=None)
@given(edits=st.lists(_EDIT, min_size=1, max_size=6))
def test_damaged_source_yields_partial_facts(language: str, edits: list[tuple[float, int, str]]) -> None:
    text = _SAMPLES[language]
    for place, dropped, put in edits:
        at = int(place * len(text))
        text = text[:at] + put + text[at + dropped :]
    _check(_facts(text, language), text)


@pytest.mark.slow
@pytest.mark.parametrize("language", _SAMPLES)
@settings(max_examples=30, deadline=None)
@given(text=st.binary(max_size=200).map(lambda data: data.decode("utf-8", "replace")) | st.text(max_size=100))
def test_arbitrary_text_does_not_fail(language: str, text: str) -> None:
    _check(_facts(text, language), text.replace("\r", "\n"))


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "x = " + "a." * 300 + "b()\n"),
        ("python", "x" + "()" * 300 + "\n"),
        ("python", "f(" * 150 + ")" * 150 + "\n"),
        ("python", "x = " + " or ".join(f"name{n}" for n in range(200)) + "\n"),
        ("python", "def f(x: " + "list[" * 150 + "]" * 150 + "): pass\n"),
        ("javascript", "a" + ".then(b)" * 200 + "\n"),
        ("java", "class A { Object x = a" + ".b()" * 300 + "; }\n"),
        ("cpp", "void f() { " + "x." * 100 + "y(); }\n"),
    ],
)
def test_long_chains_and_types_are_dropped(language: str, text: str) -> None:
    _check(_facts(text, language), text)


def test_facts_do_not_depend_on_the_path() -> None:
    text = _SAMPLES["python"]
    assert parse_file("a/b.py", text, "python", "").facts == parse_file("c.py", text, "python", "test").facts


def test_the_facts_of_a_small_module() -> None:
    facts = _facts(
        "import a.b\nfrom .c import d as e\nclass A(a.B):\n    x: T\n    def f(self, p: T):\n"
        "        q = self.x.g(p)[0]\n        q.h()\n        return q\n",
        "python",
    )
    assert [(fact.name, fact.kind, fact.parent, fact.returns) for fact in facts.definitions] == [
        ("A", "class", -1, ""),
        ("x", "field", 0, ""),
        ("f", "method", 0, "=self.x.g()[]"),
    ]
    assert set(facts.imports) == {
        Import("a", "", "a", -1, 1),
        Import("a.b", "", "", -1, 1),
        Import(".c", "d", "e", -1, 2),
    }
    assert facts.bases == [Base(0, "a.B", 3)]
    assert facts.bindings == [Binding(0, "x", "T", "", 4)]
    assert Binding(2, "q", "", "self.x.g()[]", 6) in facts.local_bindings
    assert Reference(2, "call", "self.x.g", 6) in facts.references
    assert Reference(2, "call", "q.h", 7) in facts.references
    assert Reference(2, "type", "T", 5) in facts.references


@pytest.mark.parametrize(
    ("call", "chain"),
    [
        ("f();", "f"),
        ("x.f();", "x.f"),
        ("x->f();", "x.f"),
        ("X::f();", "X.f"),
        ("x.y.f();", "?.f"),
        ("g().f();", "?.f"),
        ("x[0].f();", "?.f"),
        ("(x).f();", "?.f"),
    ],
)
def test_simple_receivers_are_read_without_a_query(call: str, chain: str) -> None:
    facts = _facts(f"void run() {{\n  {call}\n}}\n", "cpp")
    assert Reference(0, "call", chain, 2) in facts.references


def test_mentioned_variable_is_not_a_reference() -> None:
    text = "def f(a, cls, kind: type[A]):\n    b = 1\n    g(a, b, c, cls, kind, a.x)\n"
    reads = {fact.chain for fact in _facts(text, "python").references if fact.kind == "read"}
    assert reads == {"c", "cls", "kind", "a.x"}


def test_block_variable_name_is_a_reference_outside_the_block() -> None:
    text = "function f() {\n  { const a = 1; g(a); }\n  g(a);\n}\n"
    reads = [fact for fact in _facts(text, "typescript").references if fact.kind == "read"]
    assert reads == [Reference(0, "read", "a", 3)]


def test_equal_expressions_have_equal_chains() -> None:
    text = "def f(a):\n    a.b.c(1)\n    a.b.c(1)\n    return a.b.c(1)\n"
    calls = [fact for fact in _facts(text, "python").references if fact.kind == "call"]
    assert calls == [Reference(0, "call", "a.b.c", line) for line in (2, 3, 4)]


def test_page_has_the_facts_of_its_script() -> None:
    text = '<template><a/></template>\n<script lang="ts">\nimport { a } from "./a";\nfunction f() { a(); }\n'
    "</script>\n"
    facts = _facts(text, "vue")
    assert facts.language == "vue"
    assert [fact.name for fact in facts.definitions] == ["f"]
    assert Reference(0, "call", "a", 4) in facts.references
    assert _facts("<template></template>\n", "vue").definitions == []
