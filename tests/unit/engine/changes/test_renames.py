"""Pairs of renamed files."""

from hypothesis import given
from hypothesis import strategies as st

from coderag.engine.changes.renames import pair_renames

CONTENTS = st.dictionaries(
    st.text("abc/", min_size=1, max_size=4),
    st.lists(st.sampled_from([b"one line of it\n", b"two\n", b"three\n"])).map(b"".join),
)


def test_equal_content_with_the_same_name_is_preferred():
    removed = {"a/x.py": b"same content of a file\n", "a/y.py": b"same content of a file\n"}
    assert pair_renames(removed, {"b/y.py": b"same content of a file\n"}) == {"b/y.py": "a/y.py"}


def test_less_than_half_in_common_is_no_rename():
    old = b"".join(b"old line %d\n" % number for number in range(10))
    new = b"".join(b"old line %d\n" % number for number in range(4)) + b"new line\n" * 6
    assert pair_renames({"a": old}, {"b": new}) == {}


def test_empty_files_are_never_paired():
    assert pair_renames({"a": b""}, {"b": b""}) == {}


@given(CONTENTS, CONTENTS)
def test_each_file_is_paired_once_and_exists(removed, added):
    pairs = pair_renames(removed, added)
    assert pairs.keys() <= added.keys()
    assert set(pairs.values()) <= removed.keys()
    assert len(set(pairs.values())) == len(pairs)
