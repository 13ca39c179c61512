import json

import pytest

from coderag.ingestion.parsing.chunking import parse_file
from coderag.ingestion.parsing.languages import detect_language
from coderag.text.notebooks import render_notebook

CALLS = "".join(f"  const value{number} = compute({number}, total);\n" for number in range(12))
SCRIPT = f"function load() {{\n{CALLS}}}\n"
PARAGRAPH = "  <p>Some words about nothing in particular, again and again.</p>\n" * 12


def chunks(text, path="Panel.vue", **limits):
    parsed = parse_file(path, text, detect_language(path, text), "source", **limits)
    assert "".join(chunk.text for chunk in parsed.chunks) == text
    return [chunk.metadata for chunk in parsed.chunks]


def outline(text, path="Panel.vue", **limits):
    return [(m["kind"], m["name"], m["start_line"], m["end_line"]) for m in chunks(text, path, **limits)]


def symbols(text, path="Panel.vue"):
    return [(s["qualified_name"], s["start_line"]) for metadata in chunks(text, path) for s in metadata["symbols"]]


def notebook(*cells, language="python"):
    cell_data = [{"cell_type": kind, "outputs": ["x"] * blank, "source": source.splitlines(keepends=True)}
            for kind, source, blank in cells]  # fmt: skip
    return render_notebook(
        json.dumps({"cells": cell_data, "metadata": {"language_info": {"name": language}}}, indent=1)
    )


# --- Markup


def test_template_is_a_block_and_script_is_split_at_declarations():
    text = f"<template>\n{PARAGRAPH}</template>\n\n<script>\n{SCRIPT}</script>\n"
    assert outline(text) == [("block", "Panel", 1, 15), ("function", "load", 16, 31)]


@pytest.mark.parametrize(
    ("path", "opening"),
    [
        ("a.vue", '<script setup lang="ts">'),
        ("a.vue", "<script lang=tsx>"),
        ("a.svelte", '<script context="module" lang="ts" generics="T extends Map<string, number>">'),
        ("a.html", '<script type="module" defer>'),
        ("a.html", '<SCRIPT TYPE="text/javascript">'),
    ],
)
def test_script_tag_attributes_do_not_prevent_parsing(path, opening):
    closing = "</SCRIPT>" if "SCRIPT" in opening else "</script>"
    assert symbols(f"{opening}\nexport function f() {{}}\n{closing}\n", path) == [("f", 2)]


@pytest.mark.parametrize(
    "opening", ['<script type="application/json">', '<script type="text/x-template">', '<script type="text/html">']
)
def test_data_and_template_scripts_have_no_declarations(opening):
    assert symbols(f"{opening}\nfunction f() {{}}\n</script>\n", "a.html") == []


def test_commented_script_has_no_declarations():
    assert symbols("<!-- <script>\nfunction f() {}\n</script> -->\n<p>x</p>\n", "a.html") == []


def test_scripts_in_several_languages_have_correct_lines():
    text = '<script>\nfunction f() {}\n</script>\n<p>x</p>\n<script lang="ts">\ntype T = 1\nfunction g(): T {}\n</script>\n'
    assert symbols(text, "a.svelte") == [("f", 2), ("T", 6), ("g", 7)]


@pytest.mark.parametrize(
    "text", ["<script>", "<script>f(", "<style>", "</script><script", "<template", "<!--", "---\n"]
)
@pytest.mark.parametrize("path", ["a.vue", "a.svelte", "a.astro", "a.html"])
def test_unfinished_markup_is_split(text, path):
    assert chunks(text, path)


def test_front_matter_is_code():
    assert symbols("---\nfunction f(): string {}\n---\n<p>{f()}</p>\n", "a.astro") == [("f", 2)]


@pytest.mark.parametrize("tag", ["{{ value | safe }}", "<%= value %>", "<?= $value ?>"])
def test_template_value_does_not_break_its_script(tag):
    text = f"<script>\nconst a = {tag};\n{{% if b %}}\nfunction f() {{}}\n{{% endif %}}\n</script>\n"
    parsed = parse_file("a.html", text, "html", "source")
    assert parsed.note == ""
    assert symbols(text, "a.html") == [("a", 2), ("f", 4)]


def test_markup_lists_used_components_and_functions():
    text = '<template>\n  <user-card @click="open" :n="count(1)"/><Icon.Small />\n  {{ format(x) }}\n</template>\n'
    assert chunks(text)[0]["calls"] == ["UserCard", "open", "count", "Small", "format"]


def test_markup_imports_referenced_files():
    text = '{% extends "base.html" %}\n<script src="./app.js"></script><link href="https://a.b/c.css"><a href="x.html">'
    assert chunks(text, "a.html")[0]["imports"] == ["base.html", "./app.js"]


def test_markup_is_split_at_least_indented_tags():
    section = f"<section>\n{PARAGRAPH}</section>\n"
    assert [row[2:] for row in outline(section * 3, "a.html", max_tokens=240)] == [(1, 14), (15, 28), (29, 42)]


def test_small_component_is_one_chunk_with_all_declarations():
    text = "<template><p/></template>\n<script>\nfunction f() { g() }\n</script>\n"
    (only,) = chunks(text, min_tokens=100)
    assert (only["name"], only["language"], only["calls"]) == ("Panel", "vue", ["g"])
    assert [symbol["name"] for symbol in only["symbols"]] == ["f"]


def test_closing_tags_are_not_a_chunk():
    text = f"<body>\n{PARAGRAPH}<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    assert [row[0] for row in outline(text, "a.html")] == ["block", "function"]


def test_a_broken_script_is_noted_with_its_line():
    text = f"<template>\n{PARAGRAPH}</template>\n<script>\n{SCRIPT}\nconst = ;\n</script>\n"
    assert parse_file("a.vue", text, "vue", "source").note == "syntax error at line 31"


# --- Notebooks


def test_notebook_sections_have_symbols_of_their_code():
    text = notebook(
        ("markdown", "# Data\nWords.", 0), ("code", "import pandas\nframe = load()", 0), ("markdown", "# End", 0)
    )
    first, last = chunks(text, "a.ipynb", min_tokens=0)
    assert (first["kind"], first["name"], first["imports"], first["calls"]) == ("section", "Data", ["pandas"], ["load"])
    assert [symbol["name"] for symbol in first["symbols"]] == ["Data", "frame"]
    assert (last["name"], last["language"]) == ("End", "jupyter")


def test_a_large_function_in_a_cell_is_a_chunk():
    body = "".join(f"    value_{number} = compute({number}, total)\n" for number in range(12))
    text = notebook(("markdown", "# Data", 0), ("code", f"import os\ndef f():\n    '''Doc.'''\n{body}", 0))
    section, function = chunks(text, "a.ipynb", min_tokens=100)
    assert (section["kind"], function["kind"], function["docstring"]) == ("section", "function", "Doc.")
    assert function["imports"] == ["os"]


@pytest.mark.parametrize(
    "magic",
    [
        "%matplotlib inline",
        "!pip install x",
        "files = !ls",
        "%%time",
        "f?",
        "?f",
        "!pip install \\\n  x y (",
        "%cd a b",
    ],
)
def test_notebook_magics_do_not_break_the_code(magic):
    text = notebook(("code", f"{magic}\ndef f():\n    pass\n    %time g(1)\n", 0))
    assert parse_file("a.ipynb", text, "jupyter", "source").note == ""
    assert "f" in [name for name, _ in symbols(text, "a.ipynb")]


def test_leading_operator_is_not_a_magic():
    text = notebook(("code", "x = (a\n  % b\n  != c)\ny = 1\n", 0))
    assert parse_file("a.ipynb", text, "jupyter", "source").note == ""


def test_a_cell_in_another_language_is_not_parsed_as_python():
    text = notebook(("code", "%%bash\nf() {\n  echo (\n}", 0), ("code", "def g(): pass", 0))
    assert parse_file("a.ipynb", text, "jupyter", "source").note == ""
    assert [name for name, _ in symbols(text, "a.ipynb")] == ["g"]


def test_notebook_language_is_the_kernel_language():
    assert [name for name, _ in symbols(notebook(("code", "struct A end", 0), language="go"), "a.ipynb")] == []
    assert [name for name, _ in symbols(notebook(("code", "func f() {}", 0), language="go"), "a.ipynb")] == ["f"]


def test_blank_output_lines_do_not_count():
    text = notebook(*(("code", f"x = {number}", 30_000) for number in range(3)))
    notebook_chunks = chunks(text, "a.ipynb")
    assert [metadata["symbols"][0]["name"] for metadata in notebook_chunks] == ["x", "x", "x"]


def test_damaged_notebook_is_split_by_lines():
    assert {kind for kind, *_ in outline('{"cells": [\n' * 50, "a.ipynb")} == {"block"}
