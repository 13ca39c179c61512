import pytest
from tree_sitter import Query

from coderag.ingestion.parsing.languages import LANGUAGES, detect_language, find_language
from coderag.ingestion.parsing.trees import load_grammar

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
def test_language_is_detected_by_name_or_first_line(path, first_line, language):
    assert detect_language(path, first_line) == language


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a.h", "struct a { int class_; };\n", "c"),
        ("a.h", "class A {\n  int b;\n};\n", "cpp"),
        ("a.h", "/* -*- Mode: C++; tab-width: 4 -*- */\nint a;\n", "cpp"),
        ("a.h", "// x\n#import <Foundation/Foundation.h>\n", "objective_c"),
        ("a.c", "/* -*- Mode: Java -*- */\nint a;\n", "c"),
        ("a.m", "#import <Foundation/Foundation.h>\n@end\n", "objective_c"),
        ("a.m", "function y = f(x)\n  y = x;\nend\n", "matlab"),
        ("a.m", "% A remark.\nx = 1;\n", "matlab"),
        ("a.m", "(* ::Package:: *)\n", "text"),
        ("a.pl", "use strict;\nmy %a = (b => 1);\n", "perl"),
        ("a.pl", ":- use_module(library(lists)).\n", "prolog"),
        ("a.t", "use Test::More;\n", "perl"),
        ("a.t", "Make a repository\n  $ git init\n", "text"),
        ("a.ts", "export const a = '<?xml';\n", "typescript"),
        ("de.ts", '<?xml version="1.0"?>\n<!DOCTYPE TS>\n', "xml"),
        ("a.v", "module main\n\nfn main() {}\n", "v"),
        ("a.v", "`timescale 1ns/1ps\nmodule adder(input a);\nendmodule\n", "verilog"),
        ("a.v", "Require Import List.\n", "text"),
        ("a.cls", "\\ProvidesClass{a}\n", "tex"),
        ("a.cls", "public with sharing class A {}\n", "apex"),
        ("a.cls", "VERSION 1.0 CLASS\n", "text"),
        ("a.r", "f <- function(x) x\n", "r"),
        ("a.r", "REBOL [title: {x}]\n", "text"),
        ("a.d", "module a;\n", "d"),
        ("a.d", "main.o: main.c main.h\n", "make"),
        ("a.cl", "(defun f ())\n", "commonlisp"),
        ("a.cl", "__kernel void f() {}\n", "c"),
        ("a.inc", "<?php\n", "php"),
        ("run", "<?php\n", "php"),
        (".toolrc", '{\n  "a": 1\n}\n', "json"),
        ("feed", '<?xml version="1.0"?>\n', "xml"),
        ("page", "\n<!-- x -->\n<!DOCTYPE html>\n", "html"),
        ("run", "# vim: set ts=4 ft=python:\n", "python"),
        ("run", "x\n" * 2000 + "# vim: filetype=sh\n", "shell"),
        ("run", "# -*- mode: ruby; coding: utf-8 -*-\n", "ruby"),
        ("run", "# -*- coding: utf-8 -*-\n", "text"),
        ("run", "#!/bin/sh\n# -*- mode: ruby -*-\n", "shell"),
        ("notes.txt", "<?php\n", "text"),
        ("app.py", "# vim: ft=ruby\n", "python"),
        ("config.yaml.j2", "", "yaml"),
        ("Dockerfile.j2", "", "dockerfile"),
        ("settings.py.example", "", "python"),
        ("page.html.erb", "", "html"),
        ("_form.erb", "", "html"),
        ("a.ipynb", "", "jupyter"),
    ],
)
def test_ambiguous_name_is_resolved_by_text(path, text, language):
    assert detect_language(path, text) == language


@pytest.mark.parametrize(
    ("word", "language"),
    [("c++", "cpp"), ("TS", "typescript"), ("bash", "shell"), ("emacs-lisp", "emacs_lisp"), ("R", "r"), ("csharp", "c_sharp")],
)  # fmt: skip
def test_language_is_found_by_editor_and_kernel_names(word, language):
    assert find_language(word).name == language


def test_unknown_word_has_no_language():
    assert find_language("klingon") is None


def test_only_known_languages_are_alternatives():
    named = {name for language in LANGUAGES.values() for name in language.alternatives}
    named |= {
        name
        for language in LANGUAGES.values()
        for name in (language.scripts, language.front_matter, language.cells)
        if name
    }
    assert named <= set(LANGUAGES)


def test_no_two_languages_claim_the_same_file():
    for attribute in ("extensions", "filenames", "shebangs"):
        claims = [claim for language in LANGUAGES.values() for claim in getattr(language, attribute)]
        assert len(claims) == len(set(claims)), attribute


@pytest.mark.parametrize("language", LANGUAGES.values(), ids=lambda language: language.name)
def test_every_grammar_named_is_in_the_pack(language):
    if language.grammar:
        assert load_grammar(language.grammar).abi_version > 0


@pytest.mark.parametrize("language", WITH_QUERY, ids=lambda language: language.name)
def test_every_query_compiles_and_captures_declarations(language):
    query = Query(load_grammar(language.grammar), language.read_query())
    names = {query.capture_name(index) for index in range(query.capture_count)}
    assert {"name", "comment"} <= names
    if "definition.function" in names:
        imports = set() if language.name in {"graphql", "sql"} else {"import"}
        assert {"call", "branch"} | imports <= names
    assert any(name.startswith("definition.") for name in names)


def test_a_language_without_a_query_file_reads_as_an_empty_query():
    assert LANGUAGES["text"].read_query() == ""
