import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.stores.path_index import PATH_FLAG_PATTERNS, PathIndex, split_name, split_question

PATHS = ["auth/session_store.py", "auth/login.py", "web/session.ts", "docs/readme.md", "billing/tax/rates.py"]


@pytest.fixture(scope="module")
def index():
    return PathIndex(PATHS)


def by_path(values):
    return {path: pytest.approx(value) for path, value in zip(PATHS, values.tolist(), strict=True) if value}


def test_split_question_drops_stop_words_and_short_words():
    assert split_question("how are the sessionTokens of a DB stored") == ["session", "token", "store"]


def test_split_name_splits_a_file_name_into_words():
    assert split_name("sessionStore_v2") == {"session", "store", "v", "2"}


def test_stem_coverage_is_the_share_of_the_file_name_in_the_question(index):
    assert by_path(index.compute_stem_coverage(["session"])) == {"auth/session_store.py": 0.5, "web/session.ts": 1.0}
    assert by_path(index.compute_stem_coverage(["session", "store"]))["auth/session_store.py"] == 1.0


def test_shared_prefix_counts_as_a_match(index):
    assert by_path(index.compute_stem_coverage(["sess"])) == {"auth/session_store.py": 0.5, "web/session.ts": 1.0}
    assert by_path(index.compute_stem_coverage(["sessionless"])) == {
        "auth/session_store.py": 0.5,
        "web/session.ts": 1.0,
    }


def test_word_of_any_length_takes_no_time_for_prefixes_that_no_name_has(index):
    word = "session" + "n" * 400_000
    start = time.process_time()
    assert by_path(index.compute_stem_coverage([word])) == {"auth/session_store.py": 0.5, "web/session.ts": 1}
    assert time.process_time() - start < 2  # all prefixes are 80 GB of text


def test_repeated_word_counts_once(index):
    assert by_path(index.compute_stem_coverage(["session", "sess", "sessio"]))["auth/session_store.py"] == 0.5


def test_folder_share_excludes_words_of_the_stem(index):
    assert by_path(index.compute_folder_share(["auth", "zebra"])) == {
        "auth/session_store.py": 0.5,
        "auth/login.py": 0.5,
    }
    assert PathIndex(["auth/auth.py"]).compute_folder_share(["auth"]).tolist() == [0]


def test_only_the_two_nearest_folders_count(index):
    assert by_path(index.compute_folder_share(["tax"])) == {"billing/tax/rates.py": 1.0}
    assert not PathIndex(["tax/a/b/c.py"]).compute_folder_share(["tax"]).any()


@pytest.mark.parametrize("name", ["SessionStore", "session_store", "sessionstore"])
def test_stem_matches_an_identifier_in_any_spelling(index, name):
    assert by_path(index.match_stems([name])) == {"auth/session_store.py": 1.0}


def test_stem_matches_the_plural_of_a_name(index):
    assert by_path(index.match_stems(["rate"])) == {"billing/tax/rates.py": 1.0}


def test_part_of_a_stem_does_not_match(index):
    assert not index.match_stems(["store", "sess"]).any()


@pytest.mark.parametrize(
    ("path", "flags"),
    [
        ("pkg/__init__.py", {"barrel"}),
        ("web/index.tsx", {"barrel"}),
        ("src/lib.rs", {"barrel"}),
        ("setup.py", {"barrel"}),
        ("types/api.d.ts", {"declarations_only"}),
        ("pkg/__init__.pyi", {"barrel", "declarations_only"}),
        ("legacy/auth.py", {"legacy"}),
        ("pkg/_compat.py", {"legacy"}),
        ("pkg/compatible.py", set()),
        ("pkg/golden.py", set()),
        ("web/indexes.ts", set()),
        ("pkg/library.rs", set()),
    ],
)
def test_path_flags_mark_files_with_little_code(path, flags):
    index = PathIndex(["other.py", path])
    assert {flag for flag in PATH_FLAG_PATTERNS if 1 in index.flagged_files[flag]} == flags
    assert not any(0 in files for files in index.flagged_files.values())


def test_empty_path_index_works():
    empty = PathIndex([])
    for values in (empty.compute_stem_coverage(["a"]), empty.compute_folder_share(["a"]), empty.match_stems(["a"])):
        assert values.shape == (0,)


WORDS = st.lists(
    st.sampled_from(["session", "sess", "store", "stores", "auth", "login", "rat", "tax", "zebra"]), max_size=6
)


@given(WORDS)
def test_shares_stay_between_0_and_1(index, words):
    for values in (index.compute_folder_share(words), index.match_stems(words), index.compute_stem_coverage(words)):
        assert np.all((values >= 0) & (values <= 1))
