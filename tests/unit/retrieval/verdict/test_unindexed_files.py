import pytest

from coderag.question.analysis import analyze
from coderag.retrieval.verdict.unindexed_files import MAX_LISTED_FILES, find_unindexed_files
from coderag.schema.chunks import FileRecord
from tests.support.corpora import make_corpus

FILES = {"shop/cart.py": "def total(cart):\n    return cart.total\n", "main.py": "def main():\n    run()\n"}


def about(query, *records):
    corpus = make_corpus(FILES)
    corpus.snapshot.read_files().extend(records)
    return find_unindexed_files(corpus, analyze(query))


def skipped(path, reason="generated file"):
    return FileRecord(path, "skipped", reason=reason)


def test_a_repository_without_gaps_has_none():
    assert about("how is tax computed") == []


def test_a_file_whose_name_is_in_the_question_is_told_with_the_reason():
    assert about("how is tax computed", skipped("rules/tax.py")) == ["rules/tax.py: generated file"]


def test_a_file_that_failed_is_told_too():
    failed = FileRecord("rules/tax.py", "failed", reason="permission denied")
    assert about("how is tax computed", failed) == ["rules/tax.py: permission denied"]


def test_all_words_of_the_name_must_be_in_the_question():
    assert about("how is tax computed", skipped("rules/tax_tables.py")) == []
    assert about("which tax tables are there", skipped("rules/tax_tables.py"))


def test_a_name_that_says_little_of_the_question_is_not_meant():
    query = "where does the main loop of the invoice printer wait for paper and toner to be refilled by staff"
    assert about(query, skipped("vendor/main.js")) == []


@pytest.mark.parametrize(
    "query", ["what is in rules/tax.min.js", 'explain "rules/tax.min.js"', "where is tax.min.js used"]
)
def test_a_file_that_is_named_is_told_whatever_the_reason(query):
    assert about(query, skipped("rules/tax.min.js", "minified file")) == ["rules/tax.min.js: minified file"]


def test_pictures_are_what_no_question_is_about():
    assert about("where is the logo drawn", skipped("assets/logo.png", "binary file")) == []
    assert about("who uses assets/logo.png", skipped("assets/logo.png", "binary file"))


def test_a_place_in_the_file_names_it():
    assert about("what does rules/tax.py:120 do", skipped("src/rules/tax.py")) == ["src/rules/tax.py: generated file"]


def test_no_more_than_a_few_are_told():
    many = [skipped(f"part{number}/tax.py") for number in range(20)]
    assert len(about("how is tax computed", *many)) == MAX_LISTED_FILES
