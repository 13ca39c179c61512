from pathlib import Path

import pytest

from coderag.question.analysis import analyze
from coderag.retrieval.verdict.unindexed_files import MAX_LISTED_FILES, find_unindexed_files
from coderag.schema.chunks import FileRecord
from tests.support.corpora import make_corpus

FILES = {"shop/cart.py": "def total(cart):\n    return cart.total\n", "main.py": "def main():\n    run()\n"}


def about(query, *records):
    corpus = make_corpus(FILES)
    corpus.snapshot.read_files().extend(records)
    return find_unindexed_files(Path("absent"), corpus, analyze(query))


def skipped(path, reason="generated file"):
    return FileRecord(path, "skipped", reason=reason)


def test_complete_index_has_no_unindexed_files():
    assert about("how is tax computed") == []


def test_file_named_by_question_words_is_listed_with_its_reason():
    assert about("how is tax computed", skipped("rules/tax.py")) == ["rules/tax.py: generated file"]


def test_failed_file_is_listed():
    failed = FileRecord("rules/tax.py", "failed", reason="permission denied")
    assert about("how is tax computed", failed) == ["rules/tax.py: permission denied"]


def test_all_words_of_the_file_name_are_required():
    assert about("how is tax computed", skipped("rules/tax_tables.py")) == []
    assert about("which tax tables are there", skipped("rules/tax_tables.py"))


def test_path_with_a_low_share_of_words_is_ignored():
    query = "where does the main loop of the invoice printer wait for paper and toner to be refilled by staff"
    assert about(query, skipped("vendor/main.js")) == []


@pytest.mark.parametrize(
    "query", ["what is in rules/tax.min.js", 'explain "rules/tax.min.js"', "where is tax.min.js used"]
)
def test_explicitly_named_file_is_listed_for_any_reason(query):
    assert about(query, skipped("rules/tax.min.js", "minified file")) == ["rules/tax.min.js: minified file"]


def test_binary_files_are_ignored():
    assert about("where is the logo drawn", skipped("assets/logo.png", "binary file")) == []
    assert about("who uses assets/logo.png", skipped("assets/logo.png", "binary file"))


def test_location_names_its_file():
    assert about("what does rules/tax.py:120 do", skipped("src/rules/tax.py")) == ["src/rules/tax.py: generated file"]


@pytest.mark.parametrize("reason", ["larger than 1,000,000 bytes", "minified file", "generated file"])
def test_name_that_only_unindexed_text_has_is_listed(tmp_path, reason):
    (tmp_path / "seed.py").write_text("TAX_TABLE_LIMIT = 5\n")
    corpus = make_corpus(FILES)
    corpus.snapshot.read_files().append(FileRecord("seed.py", "skipped", reason=reason, size=20))
    analysis = analyze("ROUNDING_LIMIT")
    assert find_unindexed_files(tmp_path, corpus, analysis, ["ROUNDING_LIMIT", "TABLE_LIMIT"]) == []
    assert find_unindexed_files(tmp_path, corpus, analysis, ["TAX_TABLE_LIMIT"]) == [f"seed.py: {reason}"]


def test_list_is_limited():
    many = [skipped(f"part{number}/tax.py") for number in range(20)]
    assert len(about("how is tax computed", *many)) == MAX_LISTED_FILES
