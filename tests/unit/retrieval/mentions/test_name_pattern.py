"""Names as whole words, in the languages that have their own signs."""

import unicodedata

import pytest

from coderag.retrieval.mentions.name_pattern import NamePattern


def count(word: str, text: str, language: str = "python", **options: bool) -> int:
    return len(list(NamePattern((word,), **options).find_spans(text, language)))


@pytest.mark.parametrize(
    ("word", "text", "language", "expected"),
    [
        ("open", "open(reopen, open_all, x.open)", "python", 2),
        ("send", "send.delay(send)", "python", 2),
        ("save!", "record.save! && record.save", "ruby", 1),
        ("save", "record.save! || record.save || a.save != b", "ruby", 2),
        ("name", "user.name! + name", "swift", 2),
        ("fold'", "fold' xs ++ fold xs", "haskell", 1),
        ("fold", "fold' xs ++ fold xs", "haskell", 1),
        ("as-map", "(as-map x) (as-map-of x) (has-map x)", "clojure", 1),
        ("as", "(as x) (as-map x)", "clojure", 1),
        ("total", "a-total", "python", 1),
        ("$state", "$state + a$state + state", "javascript", 1),
        ("日本", "日本() 日本語() x.日本", "python", 2),
        ("operator+", "V operator+(V)", "cpp", 1),
    ],
)
def test_a_name_is_a_whole_word_of_its_language(word: str, text: str, language: str, expected: int) -> None:
    assert count(word, text, language) == expected


def test_a_class_of_a_style_sheet_ends_at_a_hyphen_in_any_language() -> None:
    assert count("card", '<b class="card card-big">', "html", is_kebab=True) == 1
    assert count("card-big", '<b class="card card-big big-card-big">', "html") == 1


def test_accents_match_composed_and_decomposed() -> None:
    decomposed = unicodedata.normalize("NFD", "prüfe")
    assert count("prüfe", f"{decomposed}()") == count(decomposed, "prüfe()") == 1
    assert count("pru", decomposed) == 0  # the accent belongs to the letter


def test_case_counts_unless_the_language_ignores_it() -> None:
    assert count("Orders", "select * from orders", "sql") == 0
    assert count("Orders", "select * from orders", "sql", ignores_case=True) == 1
