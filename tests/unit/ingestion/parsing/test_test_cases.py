"""Test cases that are written as calls are declarations with their titles as names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.declarations import read_syntax
from coderag.ingestion.parsing.languages import LANGUAGES

CASES = {
    "javascript": (
        "describe('pool', () => {\n"
        "  const pool = makePool();\n"
        "  it('closes idle', async () => {\n    await pool.close();\n  });\n"
        "  it.skip.each([1, 2])('keeps %s', function (n) {\n    pool.keep(n);\n  }, 500);\n"
        "});\n"
        "test(`says \\`${word}\\``, { skip: true }, async (t) => {\n"
        "  await t.test('inner', async () => {});\n"
        "});\n"
        "it.todo('later');\n"
        "Deno.test('opens' + name, () => {\n  open();\n}).timeout(\n  5,\n);\n",
        [
            ("namespace", "pool", 1, 9),
            ("function", "pool.closes idle", 3, 5),
            ("function", "pool.keeps %s", 6, 8),
            ("function", "says `${word}`", 10, 12),
            ("function", "says `${word}`.inner", 11, 11),
            ("function", "later", 13, 13),
            ("function", "'opens' + name", 14, 18),
        ],
    ),
    "typescript": (
        "test.describe.parallel(Pool.name, (): void => {\n"
        "  test.only('a: b', async ({ page }: Args) => { await page.go(); });\n});\n"
        "it.each`a | b\n1 | 2`('sums $a', ({ a }) => {});\n",
        [("namespace", "Pool.name", 1, 3), ("function", "Pool.name.a: b", 2, 2), ("function", "sums $a", 4, 5)],
    ),
    "ruby": (
        "RSpec.describe Shop::Cart, '#total', type: :model do\n"
        "  context 'when empty' do\n    it \"is #{zero}\" do\n      total\n    end\n    it { is_expected.to be_empty }\n  end\n"
        "end\n"
        "class PoolTest < Minitest::Test\n  should 'close' do\n    Pool.close\n  end\nend\n",
        [
            ("namespace", "Shop::Cart #total", 1, 8),
            ("namespace", "Shop::Cart #total.when empty", 2, 7),
            ("function", "Shop::Cart #total.when empty.is #{zero}", 3, 5),
            ("class", "PoolTest", 9, 13),
            ("method", "PoolTest.close", 10, 12),
        ],
    ),
    "cpp": (
        'TEST_CASE("pool closes", "[pool]")\n{\n  Pool pool;\n  SECTION("idle") {\n    pool.close();\n  }\n}\n'
        'TEST_CASE_METHOD(Fixture, "pool opens") { open(); }\n'
        'SCENARIO("empty") {\n  GIVEN("a pool") {\n    WHEN("closed") { close(); }\n  }\n}\n'
        'TEST_SUITE("group") {\n  TEST_CASE("member") { run(); }\n}\n'
        "BOOST_AUTO_TEST_CASE(keeps) { run(); }\nBOOST_FIXTURE_TEST_CASE(drops, Fixture) { run(); }\n",
        [
            ("function", "pool closes", 1, 7),
            ("function", "pool closes.idle", 4, 6),
            ("function", "pool opens", 8, 8),
            ("function", "empty", 9, 13),
            ("function", "empty.a pool", 10, 12),
            ("function", "empty.a pool.closed", 11, 11),
            ("namespace", "group", 14, 16),
            ("function", "group.member", 15, 15),
            ("function", "keeps", 17, 17),
            ("function", "drops", 18, 18),
        ],
    ),
    "lua": (
        "describe('pool #unit', function()\n  it('closes', function()\n    pool.close()\n  end)\nend)\n",
        [("namespace", "pool #unit", 1, 5), ("function", "pool #unit.closes", 2, 4)],
    ),
    "php": (
        "<?php\ndescribe('pool', function () {\n  it('closes', function () {\n    close();\n  })->with([\n    1,\n  ]);\n});\n"
        "test('opens', fn () => open());\n",
        [("namespace", "pool", 2, 8), ("function", "pool.closes", 3, 7), ("function", "opens", 9, 9)],
    ),
    "kotlin": (
        'class PoolSpec : StringSpec({\n  "closes idle" {\n    close()\n  }\n  "kept".config(enabled = false) { keep() }\n})\n'
        'class OpenTest : FunSpec({\n  context("open") {\n    test("once") { open() }\n  }\n})\n',
        [
            ("class", "PoolSpec", 1, 6),
            ("method", "PoolSpec.closes idle", 2, 4),
            ("method", "PoolSpec.kept", 5, 5),
            ("class", "OpenTest", 7, 11),
            ("namespace", "OpenTest.open", 8, 10),
            ("function", "OpenTest.open.once", 9, 9),
        ],
    ),
    "scala": (
        'class PoolTest extends AnyFunSuite {\n  test("closes idle") {\n    close()\n  }\n}\n'
        'class OpenSpec extends AnyFlatSpec {\n  "A pool" should "open" in {\n    open()\n  }\n'
        '  "A queue" when {\n    "empty" in { open() }\n  }\n}\n',
        [
            ("class", "PoolTest", 1, 5),
            ("method", "PoolTest.closes idle", 2, 4),
            ("class", "OpenSpec", 6, 13),
            ("method", "OpenSpec.A pool should open", 7, 9),
            ("namespace", "OpenSpec.A queue", 10, 12),
            ("function", "OpenSpec.A queue.empty", 11, 11),
        ],
    ),
    "swift": (
        'describe("pool") {\n  it("closes") {\n    close()\n  }\n}\n',
        [("namespace", "pool", 1, 5), ("function", "pool.closes", 2, 4)],
    ),
}


def list_declarations(text: str, language: str) -> list[tuple[str, str, int, int]]:
    data = text.encode()

    def find_line(offset: int) -> int:
        return data.count(b"\n", 0, offset) + 1

    syntax = read_syntax(data, LANGUAGES[language], timeout_s=5)
    return [
        (item.kind, item.qualified_name, find_line(item.start), find_line(item.end - 1))
        for item in syntax.declarations
        if item.kind not in ("variable", "field")
    ]


@pytest.mark.parametrize("language", CASES)
def test_each_test_case_is_a_declaration_with_its_lines_and_title(language: str) -> None:
    text, wanted = CASES[language]
    assert list_declarations(text, language) == wanted


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("javascript", "app.get('/users', (req, res) => { res.send(1); });\n"),
        (
            "javascript",
            "emitter.test('event', () => { run(); });\nschema.string().test('name', 'message', (v) => v);\n",
        ),
        ("javascript", "test(value, () => 1);\nit('only a title');\n"),
        ("ruby", "task 'build' do\n  run\nend\nit do\n  run\nend\n"),
        ("kotlin", 'dependencies {\n  "main" { implementation("a:b:1") }\n}\n'),
        ("lua", "it(1, function() end)\nregister('name', function() end)\n"),
        ("cpp", 'void f() {\n  LOG("message");\n  { run(); }\n}\n'),
        ("php", "<?php\nadd_action('init', function () { run(); });\n"),
        ("scala", 'class A {\n  val x = prop("name") { 1 }\n}\n'),
    ],
)
def test_other_calls_with_a_text_and_a_block_are_no_test_cases(language: str, text: str) -> None:
    syntax = read_syntax(text.encode(), LANGUAGES[language], timeout_s=5)
    assert not any(item.is_titled for item in syntax.declarations)


def test_a_test_case_is_a_chunk_below_its_group() -> None:
    text, _ = CASES["javascript"]
    chunks = parse_file("test/pool.test.js", text, "javascript", "test", min_tokens=0).chunks
    first, second = (chunk.metadata for chunk in chunks[:2])  # the header of the group is too little for a chunk
    assert (first["qualified_name"], first["start_line"], first["end_line"]) == ("pool.closes idle", 1, 5)
    assert (second["qualified_name"], second["start_line"], second["end_line"]) == ("pool.keeps %s", 6, 9)
    assert second["parent"] == "pool"
    assert second["context"].startswith("describe('pool'")
    assert second["calls"] == ["each", "keep"]


def test_a_helper_in_a_group_keeps_its_own_name() -> None:
    text = (
        "describe('pool', () => {\n  function make() {\n    return 1;\n  }\n  it('closes', () => { make(); });\n});\n"
    )
    assert [name for _, name, *_ in list_declarations(text, "javascript")] == ["pool", "make", "pool.closes"]


def test_a_long_title_is_one_short_line() -> None:
    text = "it(`closes\n   idle " + "connections " * 40 + "`, () => {});\n"
    ((_, name, *_),) = list_declarations(text, "javascript")
    assert name.startswith("closes idle connections connections")
    assert name.endswith("…")
    assert len(name) <= 161


@given(
    st.lists(st.sampled_from(["describe('a', () => {\n", "it('b', () => {\n", "});\n", "\n", "run();\n"]), max_size=30)
)
def test_chunks_of_any_nesting_cover_the_text_once(lines: list[str]) -> None:
    text = "".join(lines)
    chunks = parse_file("a.test.js", text, "javascript", "test").chunks
    assert "".join(chunk.text for chunk in chunks) == text
    symbols = [(item["qualified_name"], item["start_line"]) for chunk in chunks for item in chunk.metadata["symbols"]]
    assert len(symbols) == len(set(symbols))
