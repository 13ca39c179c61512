import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.text.notebooks import render_notebook, to_readable_text


def cell(kind, source, **more):
    return {"cell_type": kind, "metadata": {}, **more, "source": source}


def notebook(*cells, indent=1, language="python"):
    data = {"cells": list(cells), "metadata": {"language_info": {"name": language}}, "nbformat": 4}
    return json.dumps(data, indent=indent) + "\n"


def numbered(text):
    """The lines that are not empty, by their numbers."""
    return {number: line for number, line in enumerate(text.split("\n"), 1) if line}


TWO_CELLS = notebook(
    cell("markdown", ["# Title\n", "text"]), cell("code", ["x = 1\n", "\n", 'y = "é\\n"'], outputs=[{"text": ["1\n"]}])
)


def test_a_line_of_source_is_on_the_line_of_its_json():
    rendered, lines = numbered(render_notebook(TWO_CELLS)), TWO_CELLS.split("\n")
    assert list(rendered.values()) == ["# %% [markdown]", "# Title", "text", "# %%", "x = 1", 'y = "é\\n"']
    assert [lines[number - 1].strip() for number in rendered][:5] == [
        '"source": [', '"# Title\\n",', '"text"', '"source": [', '"x = 1\\n",'
    ]  # fmt: skip


def test_a_rendered_notebook_has_as_many_lines_as_its_file():
    assert render_notebook(TWO_CELLS).count("\n") == TWO_CELLS.count("\n")


def test_outputs_and_metadata_are_not_rendered():
    noisy = cell("code", ["a"], outputs=[{"data": {"source": ["b"], "cells": [{"source": ["c"]}]}}])
    assert list(numbered(render_notebook(notebook(noisy))).values()) == ["# %%", "a"]


@pytest.mark.parametrize(
    ("language", "marker"), [("python", "# %%"), ("ipython3", "# %%"), ("julia", "# %% [julia]"), ("R", "# %% [r]")]
)
def test_a_code_cell_says_its_language_unless_that_is_python(language, marker):
    rendered = render_notebook(notebook(cell("code", ["f(x)"]), language=language))
    assert list(numbered(rendered).values()) == [marker, "f(x)"]


def test_a_notebook_of_one_line_is_rendered_without_regard_to_lines():
    text = notebook(cell("markdown", "# Title"), cell("code", "x = 1\ny = 2"), indent=None)
    assert render_notebook(text) == "# %% [markdown]\n# Title\n\n# %%\nx = 1\ny = 2\n\n"


def test_a_notebook_of_the_third_format_is_rendered():
    text = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1"]}]}]}, indent=1)
    assert list(numbered(render_notebook(text)).values()) == ["# %%", "x = 1"]


@pytest.mark.parametrize("source", [[], "", [""]])
def test_an_empty_cell_does_not_cost_the_others_their_lines(source):
    text = notebook(cell("code", source), cell("code", ["x = 1\n", "y = 2"]))
    assert render_notebook(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"cells": 3}', '{"cells": [3]}', "[" * 100_000, TWO_CELLS[:-30]]
)
def test_what_is_no_notebook_is_read_as_it_is(text):
    assert render_notebook(text) == text


def test_half_a_character_is_no_reason_to_fail():
    assert render_notebook('{"cells": [{"cell_type": "raw", "source": ["\\ud83d"]}]}').encode()


def test_only_notebooks_are_rendered():
    assert to_readable_text("data/a.json", TWO_CELLS) == TWO_CELLS
    assert to_readable_text("data/A.IPYNB", TWO_CELLS) == render_notebook(TWO_CELLS)


@given(st.lists(st.lists(st.text().map(lambda line: line.replace("\n", "") + "\n"))))
def test_every_notebook_keeps_its_lines(sources):
    text = notebook(*(cell("code", source) for source in sources))
    rendered = render_notebook(text).split("\n")
    assert len(rendered) == text.count("\n") + 1
    shown = [line for line in rendered if line and line != "# %%"]
    wanted = [line[:-1].removesuffix("\r") for source in sources for line in source]
    assert shown == [line for line in wanted if line and line != "# %%"]
