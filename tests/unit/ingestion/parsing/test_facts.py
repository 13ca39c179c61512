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
    "elixir": "defmodule A.B do\n  use C, d: E\n  alias A.{F, G}\n  alias __MODULE__.H, as: I\n  import J, only: [k: 1]\n"
    "  @behaviour F\n  @limit 3\n  @type t :: %__MODULE__{x: G.t()} | atom\n  @callback go(x :: t, list) :: :ok when x: t\n"
    "  defstruct [:x]\n  @spec f(G.t(), term) :: {:ok, t}\n  def f(%I{x: x} = y, z \\\\ @limit) when is_map(y) do\n"
    "    x |> k() |> G.run(&l/1, &F.m/2) |> then(& &1.(z))\n    apply(F, :n, [y])\n    with {:ok, w} <- f(y), do: w.q\n  end\n"
    '  def f(nil, _), do: :crypto.hash(1)\n  defdelegate o(x), to: F, as: :p\n  defp l(x), do: x <> "#{@limit.r(x)}"\n'
    "  defmacro __using__(_) do\n    quote do: import unquote(__MODULE__)\n  end\n  plug :s when u in [:v]\n"
    "  defimpl P, for: [Q, R] do\n    def t(x), do: x\n  end\nend\n",
    "scala": "package a\npackage b\nimport c.{D, E => F, _}, g.H\nimport i.J as K\n"
    "trait L[M[_], +N <: D] extends O with P[M] { self: Q => def r(s: N*)(implicit t: => M[N]): Option[N]; type U = c.D }\n"
    "case class V(val w: D, x: Int => D = _.y) extends L[List, D] { override def r(s: D*) = new Z(1)[D].aa(w)(x) }\n"
    "object V { implicit class BB(cc: D) { def dd = cc.ee; def ff[G] = V(cc, gg _) }\n"
    "  lazy val hh = new O { def ii = this.jj } }\n"
    "enum KK(ll: Int) { case MM extends KK(1); case NN(oo: D) }\n"
    'class PP { def qq(rr: Any) = rr match { case V(w, _) if w.ok => s"$w ${w.tt}"; case uu: D => uu vv w; case KK.MM => \n'
    "    for { ww <- xx.yy; zz = ww(0) } yield zz.ab; (ac, ad) } }\n"
    "given Ord: Ordering[D] = ???\nextension (s: D) def ae: D = s.af\n",
    "lua": "local a = require('b.c')\nlocal M = setmetatable({ d = 1, e = function() end }, { __index = a })\n"
    "local E = class('E', a)\nfunction M.f(x, ...) local y = a.g(x):h()[1]; for k, v in pairs(y) do k.i(v) end; return M end\n"
    "function M:j() self:f(require('q').r, a['s'].t) ; return setmetatable({}, M) end\nM.u = M.f\nreturn M\n",
    "luau": "local a = require('b.c')\nlocal M = setmetatable({ d = 1, e = function() end }, { __index = a })\n"
    "local E = class('E', a)\nfunction M.f(x, ...) local y = a.g(x):h()[1]; for k, v in pairs(y) do k.i(v) end; return M end\n"
    "function M:j() self:f(require('q').r, a['s'].t) ; return setmetatable({}, M) end\nM.u = M.f\nreturn M\n",
    "kotlin": '@file:JvmName("X")\npackage a.b\nimport c.D as E\nimport f.*\n'
    "class A<T : D>(private val x: Map<String, E>, n: Int = 1) : B<T>(n), I by x {\n"
    "  val size: Int\n    get() = x.size\n  val q by lazy { G(1) }\n"
    "  override fun <R> f(vararg p: D?, c: E.() -> Unit): R? where R : D {\n"
    "    p[0]?.go(1) { it.run() }!!.x.y()\n    x.apply { g() }.let { h -> h to this@A }\n"
    "    when (val w = p.first()) { is D -> w.go(); else -> super<B>.f() }\n"
    "    for ((k, v) in x) if (k is D && v != null) k.go()\n"
    "    return object : J(), K { override fun z() = ::f }\n  }\n"
    "  enum class M { N { override fun o() {} }, O; open fun o() {} }\n"
    "  companion object P : Q { const val R = 1 }\n}\n"
    "fun D.ext(): E = this.y\nval D.prop: E get() = y\ntypealias S = D.(E) -> Unit\n",
    "swift": "import A\n@testable import class B.C\nprotocol P: Q where Self: R { associatedtype T: U\n"
    "  func f(_ x: T, at y: Int...) -> Self?\n  init(z: Int) }\n"
    "final class A<K: P>: B, P {\n  @W var m: [String: C] = [:], n = D()\n  static let s = A(z: 1)\n"
    '  var k: C { m["a"]!.go(1) { $0.run() } }\n'
    "  private func g(q: C? = nil) throws -> C {\n    guard let v = q as? E, case .r(let w) = v.x else { throw F() }\n"
    "    if let u = self.m { u.h() }\n    for i in n.list { i.go() }\n    let t: M = .c(1)\n"
    "    switch t { case .c(let o): o.p(); case .d: break }\n    run(#selector(g), \\A.k, "
    "{ (e: C) -> Void in e.go() }, A.self)\n"
    "    return try await (q ?? v).self.y() }\n}\n"
    "extension O.I: P {}\nenum M { case c(Int), d; indirect case e }\ntypealias X = (C) -> Void\n",
    "c": '#include "a.h"\nstruct s { int (*f)(int); struct t *n; };\nextern int x;\nint g(struct s *p, int n);\n'
    "#define M(a) (g(a, x) + a->n)\nstatic struct s k = { .f = g, &x };\n"
    "int h(struct s *p) { struct s q = *p, *r = p; for (int i = 0; i < n; i++) p[i].n->f(M(r)); "
    "return ((struct s *)p->n)->f(q.f == g ? 1 : sizeof(struct t)); }\n",
    "cpp": '#include "a.h"\nnamespace n::m {\nusing b::C;\nusing namespace d;\nenum class K { one };\n'
    "template <typename T> class A final : public B<T>, e::F {\n public:\n  A(C& c) : c_(c), v_{} {}\n"
    "  virtual int f(C c = C()) const override;\n  C& c_;\n  std::vector<std::unique_ptr<C>> v_;\n};\n"
    "template <typename T> int A<T>::f(C c) const {\n  for (auto& i : v_) i->g(K::one);\n"
    "  if (auto* d = dynamic_cast<D*>(&c)) d->h<int>(&A::f, [this](auto x) { return x.y; });\n"
    "  auto p = std::make_unique<C>(1);\n  C q(2), r{3};\n  return p->k() + this->c_.n::m::z();\n}\n}\n"
    "TEST_F(S, T) { x->y(); z.w(); }\n",
    "ruby": "require 'a'\nrequire_relative 'b'\nmodule M\n  class A < B\n    include C, D::E\n    attr_accessor :x\n"
    "    validate :f, if: :q?\n    def f(a, b = 1, *c, d: 2, &e)\n      self.g(1).h; @x ||= C::D.new; super; i, j = k\n"
    "      l.map { |m| m.n }.each(&method(:o)); self.x = p\n    rescue F => r then r.s\n    end\n"
    "    class << self\n      def t; new.u; end\n    end\n    let(:v) { w }\n    alias y f\n  end\nend\n",
    "php": "<?php\nnamespace A;\nuse B\\{C, E as F};\n/** @property E[] $x */\nclass D extends C {\n"
    "  function __construct(private ?F $p, \\G ...$r) { $this->g()?->k; parent::h(); "
    "E::i(...)[0]->j(); new class extends C {}; }\n"
    "  /** @return array<int, E> */\n  function f() { foreach ($this->x as $k => $v) { $v->n(F::O, [$this, 'f']); } "
    "if ($v instanceof F) { return $v ?? F::class; } array_map(fn($a) => $a, $v); }\n}\n",
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
@settings(max_examples=25, deadline=None)
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
        ("f()", "f"),
        ("x.f()", "x.f"),
        ("x.y.f()", "?.f"),
        ("g().f()", "?.f"),
        ("x[0].f()", "?.f"),
        ("(x).f()", "?.f"),
    ],
)
def test_simple_receivers_are_read_without_a_query(call: str, chain: str) -> None:
    facts = _facts(f"fn run() void {{\n  {call};\n}}\n", "zig")
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
