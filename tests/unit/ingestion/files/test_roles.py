"""Roles by path, with the names that real repositories use and the ones that mislead."""

import pytest

from coderag.ingestion.files.roles import classify_role

PATHS = {
    "source": """src/app.py src/click/testing.py flask/testing.py lib/latest/contest.py src/attestation/greatest.rb
        web/test_client.ts src/main/java/org/junit/ParameterizedTest.java
        src/main/java/com/example/demo/App.java
        spring-test/src/main/java/org/springframework/test/context/Context.java fastapi/openapi/docs.py
        tokio/src/doc/mod.rs lua/telescope/actions/history.lua dockerfile_parser.py setup.py manual.go vendors.py
        src/specification.py src/testing/harness.py protest.py""",
    "test": """tests/unit/a.py test/a.rb src/__tests__/a.ts spec/models/a.rb pkg/testdata/a.txt a/fixtures/b.json
        __mocks__/fs.js gin_test.go test_app.py pkg/test_app.py conftest.py app/tests.py a.spec.ts a.test.js
        src/test/java/FooTest.java FooTests.cs FooSpec.scala foo_spec.rb foo-test.js test_hash.cpp
        FooTestCase.php src/commonTest/kotlin/A.kt Dapper.Tests/Foo.cs AlamofireTests/A.swift
        integration_test/app.dart a.bats tests-integration/src/lib.rs e2e/login.ts TestFoo.java test/foo_test.exs
        examples/app/tests/test_a.py Tests/Foo/Bar.swift spec/README.md tokio/src/runtime/tests/loom.rs
        tests/fixtures/repo/README.md""",
    "docs": """docs/conf.py doc/api.c website/index.tsx README.md README CHANGELOG docs/guide.rst notes.adoc LICENSE
        LICENSE-MIT CONTRIBUTING.md src/flask/sansio/README.md notes.txt docs/mkdocs.yml""",
    "config": """pyproject.toml package.json .github/workflows/ci.yml Dockerfile Dockerfile.dev Makefile setup.cfg
        tox.ini CMakeLists.txt requirements-dev.txt .gitignore .eslintrc.js webpack.config.js go.mod
        Dapper/Dapper.csproj build.gradle.kts app/settings.yaml pom.xml""",
    "example": """examples/app.py example/main.go samples/a.cs demo/a.py tutorials/t.py benchmarks/bench.py benches/b.rs
        docs/examples/a.py docs_src/first.py samples/app/src/main/java/com/acme/App.java""",
    "generated": """api_pb2.py api_pb2_grpc.py api.pb.go api.pb.cc src/generated/a.ts schema.generated.ts
        zz_generated.deep.go model.g.dart Form.Designer.cs __generated__/q.ts""",
    "vendored": """vendor/github.com/a/b.go third_party/a.c web/node_modules/a/index.js extern/fmt/fmt.h
        pip/_vendor/a.py vendor/a/a_test.go third-party/docs/README.md""",
}


@pytest.mark.parametrize(("role", "path"), [(role, path) for role, paths in PATHS.items() for path in paths.split()])
def test_role_follows_the_conventions_of_paths(role: str, path: str) -> None:
    assert classify_role(path) == role


def test_paths_with_spaces_and_other_scripts_are_classified() -> None:
    assert classify_role("my docs/tests/été.py") == "test"
    assert classify_role("日本語/コード.py") == "source"
