import pytest
from tree_sitter import Query

from coderag.ingestion.declarations import grammar
from coderag.ingestion.languages import LANGUAGES, detect_language

WITH_QUERY = [language for language in LANGUAGES.values() if language.query]


@pytest.mark.parametrize(
    ("path", "first_line", "language"),
    [
        ("a/b.py", "", "python"),
        ("a/b.PYI", "", "python"),
        ("web/app.jsx", "", "javascript"),
        ("web/app.mts", "", "typescript"),
        ("web/app.tsx", "", "tsx"),
        ("types/index.d.ts", "", "typescript"),
        ("cmd/main.go", "", "go"),
        ("src/lib.rs", "", "rust"),
        ("A.java", "", "java"),
        ("A.cs", "", "c_sharp"),
        ("a.h", "", "c"),
        ("a.hpp", "", "cpp"),
        ("a.rb", "", "ruby"),
        ("Rakefile", "", "ruby"),
        ("a.php", "", "php"),
        ("README.md", "", "markdown"),
        ("docs/index.rst", "", "rst"),
        ("a.json", "", "json"),
        (".github/workflows/ci.yml", "", "yaml"),
        ("pyproject.toml", "", "toml"),
        ("Main.kt", "", "kotlin"),
        ("CMakeLists.txt", "", "cmake"),
        ("Dockerfile.dev", "", "dockerfile"),
        ("LICENSE", "", "text"),
        ("notes.xyz", "", "text"),
        ("", "", "text"),
        (".hidden", "", "text"),
        ("bin/run", "#!/usr/bin/env python3", "python"),
        ("bin/run", "#!/usr/bin/python3.12 -u", "python"),
        ("bin/run", "#!/usr/bin/env -S node --harmony", "javascript"),
        ("bin/run", "#!/bin/sh", "shell"),
        ("bin/run", "#! /usr/local/bin/ruby -w", "ruby"),
        ("bin/run", "#!/opt/unknown", "text"),
        ("bin/run", "print('#!/bin/sh')", "text"),
        ("run.js", "#!/bin/sh", "javascript"),
    ],
)
def test_a_files_language_is_told_by_its_name_or_its_first_line(path, first_line, language):
    assert detect_language(path, first_line) == language


def test_no_two_languages_claim_the_same_file():
    for attribute in ("extensions", "filenames", "shebangs"):
        claims = [claim for language in LANGUAGES.values() for claim in getattr(language, attribute)]
        assert len(claims) == len(set(claims)), attribute


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: language.name)
def test_every_grammar_named_is_in_the_pack(language):
    if language.grammar:
        assert grammar(language.grammar).abi_version > 0


@pytest.mark.parametrize("language", WITH_QUERY, ids=lambda language: language.name)
def test_every_query_compiles_and_captures_declarations(language):
    query = Query(grammar(language.grammar), language.read_query())
    names = {query.capture_name(index) for index in range(query.capture_count)}
    assert {"name", "call", "branch", "comment", "import"} <= names
    assert any(name.startswith("definition.") for name in names)


def test_a_language_without_a_query_file_reads_as_an_empty_query():
    assert LANGUAGES["kotlin"].read_query() == ""
