"""Selectors of tests in each framework."""

import subprocess
import sys

import pytest

from coderag.app import CodeRAG
from coderag.engine.changes.suite_catalog import SuiteCatalog
from coderag.engine.changes.suite_selectors import build_commands, build_selector
from coderag.retrieval.mentions.indexed_files import IndexedFiles
from tests.support.changed_repository import write_files

FILES = {
    "py/tests/test_cart.py": (
        "import pytest\n\n\n@pytest.fixture\ndef testing_cart():\n    return []\n\n\n"
        "class TestCart:\n    @pytest.mark.parametrize('n', [1, 2])\n    def test_add(self, n):\n"
        "        def test_inner():\n            pass\n\n\n"
        "class Steps:\n    def test_step(self):\n        pass\n\n\ndef helper():\n    pass\n"
    ),
    "py/tests/conftest.py": "def test_helper():\n    pass\n",
    "js/package.json": '{"devDependencies": {"vitest": "^3"}}',
    "js/test/cart.test.ts": (
        'import { describe, it, test } from "vitest";\n\nfunction fill() {}\n\n'
        'describe("cart", () => {\n  describe("empty (new)", () => {\n    it("is zero", () => {});\n  });\n});\n'
        'test.each([1, 2])("adds %i", (n) => {});\n'
    ),
    "web/package.json": '{"devDependencies": {"jest": "^29"}}',
    "web/__tests__/cart.test.js": 'describe("cart", () => { it("doesn\'t sum", () => {}); });\n',
    "go/go.mod": "module example.com/shop\n\ngo 1.22\n",
    "go/pkg/cart_test.go": (
        'package pkg\n\nimport "testing"\n\nfunc TestTotal(t *testing.T) {}\n\nfunc FuzzTotal(f *testing.F) {}\n\n'
        "func Testhelper() {}\n\nfunc check(t *testing.T) {}\n"
    ),
    "java/pom.xml": "<project/>",
    "java/src/test/java/com/acme/CartTest.java": (
        "package com.acme;\n\nimport org.junit.jupiter.api.*;\n\nclass CartTest {\n    @Test\n    void sums() {}\n\n"
        "    void check() {}\n\n    @Nested\n    class Empty {\n        @ParameterizedTest\n        void isZero(int n) {}\n"
        "    }\n}\n"
    ),
    "kt/settings.gradle.kts": 'include(":app")\n',
    "kt/app/build.gradle.kts": "plugins {}\n",
    "kt/app/src/test/kotlin/com/acme/CartTest.kt": (
        "package com.acme\n\nimport org.junit.jupiter.api.Test\n\nclass CartTest {\n    @Test\n    fun sums() {}\n\n"
        "    fun check() {}\n}\n"
    ),
    "rust/Cargo.toml": '[package]\nname = "shop"\nversion = "0.1.0"\n',
    "rust/src/lib.rs": "pub mod cart;\n",
    "rust/src/cart.rs": (
        "pub fn total() -> i32 { 0 }\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n"
        "    #[test]\n    fn sums() { total(); }\n\n    fn check() {}\n}\n"
    ),
    "rust/tests/outside.rs": "#[tokio::test]\nasync fn sums_outside() {}\n",
    "cs/Shop.Tests/Shop.Tests.csproj": "<Project/>",
    "cs/Shop.Tests/CartTests.cs": (
        "using Xunit;\n\nnamespace Shop.Tests;\n\npublic class CartTests\n{\n    [Fact]\n    public void Sums() {}\n\n"
        "    [Theory]\n    [InlineData(1)]\n    public void Adds(int n) {}\n\n    private void Check() {}\n}\n"
    ),
    "rb/test/cart_test.rb": "class CartTest < Minitest::Test\n  def test_total\n  end\n\n  def setup\n  end\nend\n",
}
EXPECTED = {
    "pytest": ["py/tests/test_cart.py::TestCart::test_add"],
    "vitest": ["test/cart.test.ts -t 'cart empty \\(new\\) is zero'", "test/cart.test.ts -t 'adds .*'"],
    "jest": ["__tests__/cart.test.js -t 'cart doesn'\"'\"'t sum'"],
    "go": ["./pkg -run '^TestTotal$'", "./pkg -run '^FuzzTotal$'"],
    "maven": ["CartTest#sums", "CartTest$Empty#isZero"],
    "gradle": ["com.acme.CartTest.sums"],
    "cargo": ["cart::tests::sums", "sums_outside"],
    "dotnet": ["FullyQualifiedName=Shop.Tests.CartTests.Sums", "FullyQualifiedName~Shop.Tests.CartTests.Adds"],
    "": ["rb/test/cart_test.rb:2"],
}
COMMANDS = {
    "pytest py/tests/test_cart.py::TestCart::test_add",
    "cd js && npx vitest run test/cart.test.ts -t 'cart empty \\(new\\) is zero|adds .*'",
    "cd web && npx jest __tests__/cart.test.js -t 'cart doesn'\"'\"'t sum'",
    "cd go && go test ./pkg -run '^(TestTotal|FuzzTotal)$'",
    "cd java && mvn test -Dtest='CartTest#sums,CartTest$Empty#isZero'",
    "cd kt && gradle :app:test --tests com.acme.CartTest.sums",
    "cd rust && cargo test --lib -- --exact cart::tests::sums",
    "cd rust && cargo test --test outside -- --exact sums_outside",
    "cd cs/Shop.Tests && dotnet test --filter "
    "'FullyQualifiedName=Shop.Tests.CartTests.Sums|FullyQualifiedName~Shop.Tests.CartTests.Adds'",
}


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    root = tmp_path_factory.mktemp("frameworks")
    write_files(root, FILES)
    with CodeRAG(root, ingestion={"workers": 0}) as rag:
        rag.index()
        graph, snapshot = rag._open_index.open_linked_index()
        yield SuiteCatalog(root, graph, IndexedFiles(snapshot)), graph


@pytest.mark.parametrize("framework", EXPECTED)
def test_tests_are_selected_as_their_framework_names_them(catalog, framework):
    tests, graph = catalog
    nodes = [node for node, found in tests.tests.items() if found == framework]
    assert [build_selector(graph, tests, node).text for node in nodes] == EXPECTED[framework]


def test_commands_run_the_tests_of_a_folder_together(catalog):
    tests, graph = catalog
    selected = [(framework, build_selector(graph, tests, node)) for node, framework in tests.tests.items()]
    assert set(build_commands(selected)) == COMMANDS


def test_command_of_many_tests_is_split(catalog):
    tests, graph = catalog
    node = next(node for node, framework in tests.tests.items() if framework == "pytest")
    selector = build_selector(graph, tests, node)
    many = [selector._replace(argument=f"{selector.argument}_{number}") for number in range(500)]
    commands = build_commands(("pytest", entry) for entry in many)
    assert len(commands) > 1
    assert max(map(len, commands)) < 8_000
    assert sum(command.count("::test_add_") for command in commands) == 500  # none is lost


def test_selector_of_pytest_runs_that_test(catalog, tmp_path):
    write_files(tmp_path, {path: text for path, text in FILES.items() if path.startswith("py/")})
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", EXPECTED["pytest"][0]]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "2 passed" in result.stdout
