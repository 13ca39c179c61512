import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.answering.evidence.citation_checker import CitationChecker
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.schema.chunks import FileRecord
from coderag.text.encodings import decode

TEXT = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n"


class Repository:
    """One indexed file, which may be edited afterwards."""

    def __init__(self, root, data):
        self.root = root
        self.file = root / "a.py"
        self.file.write_bytes(data)
        decoded = decode(data)
        self.lines = decoded.text.split("\n")
        self.record = FileRecord(
            "a.py", "indexed", hash=hashlib.sha256(data).hexdigest(), encoding=decoded.encoding, size=len(data)
        )

    def check(self, start, end, path="a.py", ending="\n"):
        text = "\n".join(self.lines[start - 1 : end]) + ending
        return CitationChecker(self.root, [self.record]).check(CitedLines(path, start, end, text))

    def rewrite(self, text, encoding="utf-8"):
        self.file.write_bytes(text.encode(encoding))


@pytest.fixture
def repository(tmp_path):
    return Repository(tmp_path, TEXT.encode())


def test_lines_of_an_unchanged_file_are_verified(repository):
    citation = repository.check(8, 9)
    assert citation.verified
    assert (citation.location, citation.reason, citation.moved_from) == ("a.py:8-9", "", None)


def test_hash_is_that_of_the_cited_text(repository):
    assert repository.check(8, 9).hash == hashlib.sha256(b"def second():\n    return 2\n").hexdigest()


def test_lines_stay_verified_when_others_change(repository):
    repository.rewrite(TEXT.replace("return 1", "return one"))
    assert repository.check(8, 9).verified


@pytest.mark.parametrize("ending", ["", "\n", "\n\n"])
def test_trailing_blank_lines_are_ignored(repository, ending):
    repository.rewrite(TEXT.replace("return 1", "return one"))
    assert repository.check(8, 9, ending=ending).verified


def test_edited_line_is_not_verified(repository):
    repository.rewrite(TEXT.replace("return 2", "return 3"))
    citation = repository.check(8, 9)
    assert not citation.verified
    assert "changed" in citation.reason


def test_white_space_change_is_a_change(repository):
    repository.rewrite(TEXT.replace("    return 2", "\treturn 2"))
    assert not repository.check(8, 9).verified


def test_moved_lines_are_cited_at_their_new_location(repository):
    repository.rewrite('"""New first lines."""\n\n' + TEXT)
    citation = repository.check(8, 9)
    assert citation.verified
    assert (citation.start_line, citation.end_line, citation.moved_from) == (10, 11, 8)


def test_lines_in_two_places_are_not_verified(repository):
    repository.rewrite("def second():\n    return 2\n\n\n" * 2 + "x = 1\n" * 8)
    assert not repository.check(8, 9).verified


def test_single_moved_line_needs_distinctive_text(repository):
    repository.rewrite("x = 1\n" + TEXT)
    assert not repository.check(9, 9).verified
    assert repository.check(8, 8).moved_from == 8


def test_deleted_file_is_not_verified(repository):
    repository.file.unlink()
    citation = repository.check(8, 9)
    assert not citation.verified
    assert "gone" in citation.reason


def test_file_turned_folder_is_not_verified(repository):
    repository.file.unlink()
    repository.file.mkdir()
    citation = repository.check(8, 9)
    assert not citation.verified
    assert "cannot be read" in citation.reason


def test_emptied_file_is_not_verified(repository):
    repository.rewrite("")
    assert not repository.check(8, 9).verified


def test_unindexed_file_is_not_verified(repository):
    citation = repository.check(8, 9, path="other.py")
    assert not citation.verified
    assert "not in the index" in citation.reason


ENCODED = "# prüfen — müßig\n\n\ndef größe():\n    # Straße über Brücke\n    return 'é'\n"


@pytest.mark.parametrize("encoding", ["cp1252", "utf-8-sig", "utf-16"])
def test_file_in_another_encoding_is_decoded(tmp_path, encoding):
    repository = Repository(tmp_path, ENCODED.encode(encoding))
    repository.rewrite("# new\n" + ENCODED, encoding)
    citation = repository.check(4, 6)
    assert citation.verified
    assert citation.moved_from == 4
    repository.rewrite(ENCODED.replace("é", "è"), encoding)
    assert not repository.check(4, 6).verified


def test_single_lines_in_another_encoding_are_decoded(tmp_path):
    lines = [line.encode() for line in ENCODED.split("\n")]
    lines[4] = "    # Straße über Brücke".encode("cp1252")
    repository = Repository(tmp_path, b"\n".join(lines))
    assert repository.record.encoding == "utf-8+cp1252"
    repository.file.write_bytes(b"\n".join([b"# new", *lines]))
    assert repository.check(4, 6).verified


def test_windows_line_ends_are_part_of_the_lines(tmp_path):
    repository = Repository(tmp_path, TEXT.replace("\n", "\r\n").encode())
    repository.rewrite("# new\r\n" + TEXT.replace("\n", "\r\n"))
    assert repository.check(8, 9).moved_from == 8


def test_file_is_read_once_for_all_citations(repository):
    checker = CitationChecker(repository.root, [repository.record])
    cited = CitedLines("a.py", 8, 9, "def second():\n    return 2\n")
    first = checker.check(cited)
    repository.file.unlink()
    assert checker.check(cited) == first


LINE = st.sampled_from(["a = 1", "b = 2", "    return 3", "", "}"])


@given(st.lists(LINE, min_size=2, max_size=12), st.lists(LINE, max_size=6), st.data())
def test_verified_lines_exist_on_disk(tmp_path_factory, before, added, data):
    repository = Repository(tmp_path_factory.mktemp("r"), "\n".join(before).encode())
    start = data.draw(st.integers(1, len(before)))
    end = data.draw(st.integers(start, len(before)))
    at = data.draw(st.integers(0, len(before)))
    now = [*before[:at], *added, *before[at:]]
    repository.rewrite("\n".join(now))
    citation = repository.check(start, end)
    if citation.verified:
        cited = "\n".join(before[start - 1 : end]).rstrip("\n").split("\n")  # blank lines at the end do not matter
        assert [*now[citation.start_line - 1 :], ""][: len(cited)] == cited


def test_moved_notebook_lines_are_found(tmp_path):
    def notebook(*sources):
        cells = [{"cell_type": "code", "outputs": ["1"], "source": source} for source in sources]
        return json.dumps({"cells": cells, "metadata": {}}, indent=1).encode()

    lines = ["x = 1\n", 'y = "é"']
    (tmp_path / "a.ipynb").write_bytes(notebook(["import os"], lines))
    record = FileRecord("a.ipynb", "indexed", hash="of another time", encoding="utf-8")
    cited = CitedLines("a.ipynb", 17, 19, '# %%\nx = 1\ny = "é"\n\n\n\n')
    assert CitationChecker(tmp_path, [record]).check(cited).location == "a.ipynb:17-19"
    (tmp_path / "a.ipynb").write_bytes(notebook(["import os", "z = 0"], lines))
    assert CitationChecker(tmp_path, [record]).check(cited).location == "a.ipynb:18-20"
    (tmp_path / "a.ipynb").write_bytes(notebook(["import os"], ["x = 2\n", lines[1]]))
    assert not CitationChecker(tmp_path, [record]).check(cited).verified
