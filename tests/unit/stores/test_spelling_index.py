from difflib import get_close_matches

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.stores.spelling_index import MIN_SIMILARITY, SpellingIndex

WORDS = [
    "session",
    "sessions",
    "login",
    "userrepository",
    "useragent",
    "maxsize",
    "größe",
    "解析",
    "parserequest",
    "a",
    "",
]


@pytest.fixture(scope="module")
def spellings():
    return SpellingIndex(WORDS)


def words(matches):
    return [spelling.word for spelling in matches]


@pytest.mark.parametrize(
    ("word", "similar"),
    [
        ("sesion", "session"),
        ("loign", "login"),
        ("maxsiz", "maxsize"),
        ("gröse", "größe"),
        ("解析", "解析"),
        ("a", "a"),
    ],
)
def test_misspelt_word_is_corrected(spellings, word, similar):
    assert words(spellings.find_similar(word))[0] == similar


def test_nearest_word_comes_first_with_its_quality(spellings):
    assert [(similar.word, round(similar.quality, 2)) for similar in spellings.find_similar("session")] == [
        ("session", 1.0),
        ("sessions", 0.93),
    ]


@pytest.mark.parametrize("word", ["", "photosynthesis", "xyz"])
def test_dissimilar_word_has_no_matches(spellings, word):
    assert spellings.find_similar(word) == []
    assert spellings.find_expansions(word) == []


@given(
    st.sets(st.text("abcdef", min_size=5, max_size=10), max_size=40),
    st.data(),
)
def test_one_wrong_letter_matches_a_brute_force_search(vocabulary, data):
    right = data.draw(st.sampled_from(sorted(vocabulary)) if vocabulary else st.just("abcdefg"))
    place = data.draw(st.integers(0, len(right) - 1))
    wrong = right[:place] + "z" + right[place + 1 :]
    expected = get_close_matches(wrong, sorted(vocabulary), n=1, cutoff=MIN_SIMILARITY)
    assert words(SpellingIndex(vocabulary).find_similar(wrong))[:1] == expected


@pytest.mark.parametrize(
    ("word", "longer"),
    [
        ("user", ["useragent", "userrepository"]),  # less is missing of the first
        ("usrrepo", ["userrepository"]),
        ("parsereq", ["parserequest"]),
        ("session", ["sessions"]),
        ("log", []),  # too short to mean one
        ("repository", []),  # how it ends is no abbreviation
    ],
)
def test_truncated_or_abbreviated_word_is_expanded(spellings, word, longer):
    assert words(spellings.find_expansions(word)) == longer


def test_prefix_is_surer_than_subsequence_and_less_sure_than_misspelling():
    matches = SpellingIndex(["carxtotal", "carttotal"]).find_expansions("cart")
    assert words(matches) == ["carttotal", "carxtotal"]
    assert MIN_SIMILARITY > matches[0].quality > matches[1].quality > 0


def test_empty_index_has_no_matches():
    assert SpellingIndex([]).find_similar("session") == SpellingIndex([]).find_expansions("session") == []


def test_words_with_separators_are_excluded():
    assert words(SpellingIndex(["se\0sion", "session"]).find_similar("sesion")) == ["session"]
