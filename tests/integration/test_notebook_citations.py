"""A question about a notebook: its answer cites lines that are on disk."""

import json

from coderag import CodeRAG

BODY = "".join(f"    total = adjust(total, {number})\n" for number in range(20))


def notebook(*sources):
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": ["1\n"] * 60, "source": source.splitlines(keepends=True)}
        for source in sources
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}, indent=1) + "\n"


def test_an_answer_cites_the_lines_of_a_notebook_where_they_are_now(tmp_path):
    function = (
        f"def settle_account(total):\n    '''Settle an account at the end of the month.'''\n{BODY}    return total"
    )
    file = tmp_path / "accounts.ipynb"
    file.write_text(notebook("import decimal", function), encoding="utf-8")
    rag = CodeRAG(tmp_path)
    rag.index()

    (citation,) = [one for one in rag.ask("settle_account").citations if "settle_account" in cited(file, one)]
    assert citation.verified

    file.write_text(notebook("import decimal", "x = 1\ny = 2", function), encoding="utf-8")
    (moved,) = [one for one in rag.ask("settle_account").citations if "settle_account" in cited(file, one)]
    assert moved.verified
    assert moved.start_line > citation.start_line


def cited(file, citation):
    lines = file.read_text(encoding="utf-8").split("\n")
    return "\n".join(lines[citation.start_line - 1 : citation.end_line])
