"""Names and texts with accents are found in either of their two spellings, and shown as they are written."""

import unicodedata

import pytest

from coderag import CodeRAG
from coderag.schema.search import Filters

FOLDER, NAME = "pâtisserie", "dorer_pâte"
SOURCE = (
    'def dorer_pâte(heat):\n    """Crème au four."""\n    return heat\n\n\ndef prépare():\n    return dorer_pâte(2)\n'
)
FORMS = ["NFC", "NFD"]


@pytest.fixture(scope="module", params=FORMS)
def written(request, tmp_path_factory):
    """A repository with names in one form, and that form."""
    root = tmp_path_factory.mktemp(request.param)
    folder = root / unicodedata.normalize(request.param, FOLDER)
    folder.mkdir()
    (folder / "four.py").write_text(unicodedata.normalize(request.param, SOURCE), encoding="utf-8")
    (root / "menu.md").write_text("# Menu\n\nSoup.\n", encoding="utf-8")
    with CodeRAG(root, ingestion={"workers": 0}) as rag:
        rag.index()
        yield rag, request.param


@pytest.mark.parametrize("asked", FORMS)
class TestEitherForm:
    def test_every_occurrence_is_listed_as_it_is_written(self, written, asked):
        rag, form = written
        found = rag.search_text(unicodedata.normalize(asked, "Crème"))
        assert [(match.start_line, match.text) for match in found.matches] == [
            (2, unicodedata.normalize(form, '    """Crème au four."""'))
        ]

    def test_a_dot_of_a_pattern_is_one_letter_with_its_accent(self, written, asked):
        rag, _ = written
        assert rag.search_text(unicodedata.normalize(asked, "cr.me AU"), regex=True, ignore_case=True).total == 1

    def test_a_path_filter_takes_the_folder(self, written, asked):
        rag, form = written
        filters = Filters(paths=(unicodedata.normalize(asked, FOLDER),))
        found = rag.search_text("return", filters=filters)
        assert list(found.files) == [unicodedata.normalize(form, f"{FOLDER}/four.py")]

    def test_the_graph_knows_the_callers(self, written, asked):
        rag, form = written
        callers = rag.graph.callers(unicodedata.normalize(asked, NAME))
        assert [caller.qualified_name for caller in callers] == [unicodedata.normalize(form, "prépare")]

    def test_the_outline_takes_the_path(self, written, asked):
        rag, _ = written
        assert len(rag.graph.outline(unicodedata.normalize(asked, f"{FOLDER}/four.py"))) == 2

    def test_the_declaration_comes_first(self, written, asked):
        rag, form = written
        assert rag.search(unicodedata.normalize(asked, NAME))[0].qualified_name == unicodedata.normalize(form, NAME)
