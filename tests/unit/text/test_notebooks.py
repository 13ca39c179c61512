import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.text.notebooks import render_notebook
from coderag.text.readable_text import to_readable_text


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


def test_source_line_has_the_line_number_of_its_json():
    rendered, lines = numbered(render_notebook(TWO_CELLS)), TWO_CELLS.split("\n")
    assert list(rendered.values()) == ["# %% [markdown]", "# Title", "text", "# %%", "x = 1", 'y = "é\\n"']
    assert [lines[number - 1].strip() for number in rendered][:5] == [
        '"source": [', '"# Title\\n",', '"text"', '"source": [', '"x = 1\\n",'
    ]  # fmt: skip


def test_rendered_notebook_has_the_line_count_of_its_file():
    assert render_notebook(TWO_CELLS).count("\n") == TWO_CELLS.count("\n")


def test_outputs_and_metadata_are_not_rendered():
    noisy = cell("code", ["a"], outputs=[{"data": {"source": ["b"], "cells": [{"source": ["c"]}]}}])
    assert list(numbered(render_notebook(notebook(noisy))).values()) == ["# %%", "a"]


@pytest.mark.parametrize(
    ("language", "marker"), [("python", "# %%"), ("ipython3", "# %%"), ("julia", "# %% [julia]"), ("R", "# %% [r]")]
)
def test_code_cell_marker_has_the_language_except_python(language, marker):
    rendered = render_notebook(notebook(cell("code", ["f(x)"]), language=language))
    assert list(numbered(rendered).values()) == [marker, "f(x)"]


def test_single_line_notebook_is_rendered_without_line_numbers():
    text = notebook(cell("markdown", "# Title"), cell("code", "x = 1\ny = 2"), indent=None)
    assert render_notebook(text) == "# %% [markdown]\n# Title\n\n# %%\nx = 1\ny = 2\n\n"


def test_format_3_notebook_is_rendered():
    text = json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": ["x = 1"]}]}]}, indent=1)
    assert list(numbered(render_notebook(text)).values()) == ["# %%", "x = 1"]


@pytest.mark.parametrize("source", [[], "", [""]])
def test_empty_cell_does_not_shift_other_cells(source):
    text = notebook(cell("code", source), cell("code", ["x = 1\n", "y = 2"]))
    assert render_notebook(text).count("\n") == text.count("\n")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"cells": 3}', '{"cells": [3]}', "[" * 100_000, TWO_CELLS[:-30]]
)
def test_text_that_is_not_a_notebook_is_unchanged(text):
    assert render_notebook(text) == text


def test_lone_surrogates_are_replaced():
    assert render_notebook('{"cells": [{"cell_type": "raw", "source": ["\\ud83d"]}]}').encode()


def test_only_notebooks_are_rendered():
    assert to_readable_text("data/a.json", TWO_CELLS) == TWO_CELLS
    assert to_readable_text("data/A.IPYNB", TWO_CELLS) == render_notebook(TWO_CELLS)


@given(st.lists(st.lists(st.text().map(lambda line: line.replace("\n", "") + "\n"))))
def test_rendering_preserves_lines(sources):
    text = notebook(*(cell("code", source) for source in sources))
    rendered = render_notebook(text).split("\n")
    assert len(rendered) == text.count("\n") + 1
    shown = [line for line in rendered if line and line != "# %%"]
    wanted = [line[:-1].removesuffix("\r") for source in sources for line in source]
    assert shown == [line for line in wanted if line and line != "# %%"]
