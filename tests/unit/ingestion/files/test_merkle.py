"""What a tree says against a comparison of the mappings themselves."""

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.ingestion.files import merkle
from coderag.ingestion.files.merkle import MerkleTree

names = st.one_of(st.sampled_from(["a", "b", "ab", "c", "A", "1:a", "é", "f"]), st.text(min_size=1, max_size=3)).filter(
    lambda name: "/" not in name
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
values = st.one_of(st.sampled_from(["x", b"x", "", b""]), st.text(max_size=3), st.binary(max_size=3))


def without_clashes(leaves: dict[str, str | bytes]) -> dict[str, str | bytes]:
    """Drop files that are folders of others: a file system has no such thing."""
    return {path: value for path, value in leaves.items() if not any(one.startswith(f"{path}/") for one in leaves)}


mappings = st.dictionaries(paths, values, max_size=12).map(without_clashes)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, str | bytes], dict[str, str | bytes]]:
    """Two mappings that share much, as two states of one repository do."""
    old, other = draw(mappings), draw(mappings)
    kept = {path: value for path, value in old.items() if draw(st.integers(0, 3))}
    new = kept | {path: value for path, value in other.items() if draw(st.booleans())}
    return old, without_clashes(new)


@given(pairs())
def test_differences_are_those_of_the_mappings(pair: tuple[dict[str, str | bytes], dict[str, str | bytes]]) -> None:
    old, new = pair
    found = MerkleTree.of(old).differences(MerkleTree.of(new))
    assert found.added == sorted(new.keys() - old.keys())
    assert found.removed == sorted(old.keys() - new.keys())
    assert found.changed == sorted(path for path in old.keys() & new.keys() if old[path] != new[path])
    assert bool(found) == (old != new)


@given(pairs())
def test_roots_are_equal_exactly_if_the_mappings_are(
    pair: tuple[dict[str, str | bytes], dict[str, str | bytes]],
) -> None:
    old, new = pair
    assert (MerkleTree.of(old).root == MerkleTree.of(new).root) == (old == new)


@given(mappings, st.randoms(use_true_random=False))
def test_order_of_the_files_does_not_matter(leaves: dict[str, str | bytes], random) -> None:
    shuffled = list(leaves.items())
    random.shuffle(shuffled)
    assert MerkleTree.of(dict(shuffled)).root == MerkleTree.of(leaves).root


@given(mappings, mappings)
def test_tree_is_the_same_after_a_round_trip_through_json(
    leaves: dict[str, str | bytes], others: dict[str, str | bytes]
) -> None:
    tree, other = MerkleTree.of(leaves), MerkleTree.of(others)
    loaded = MerkleTree.from_record(json.loads(json.dumps(tree.to_record())))
    assert loaded.root == tree.root
    assert loaded.differences(other) == tree.differences(other)
    assert [loaded.folder(path) for path in leaves] == [tree.folder(path) for path in leaves]


def test_trees_that_look_alike_when_glued_together_differ() -> None:
    alike: list[dict[str, str | bytes]] = [
        {"a/b": "x"}, {"ab": "x"}, {"a": "bx"}, {"a": "x", "b": "x"}, {"a": "x"}, {"a": b"x"}, {"a/x": ""}, {"a": ""},
        {"a/b/c": "x"}, {"a/bc": "x"}, {"ab/c": "x"}, {"b/a": "x"}, {},
    ]  # fmt: skip
    roots = [MerkleTree.of(leaves).root for leaves in alike]
    assert all(one != other for one, other in combinations(roots, 2))


def test_folder_with_the_digest_of_its_entries_as_content_is_no_file() -> None:
    tree = MerkleTree.of({"a/b": "x"})
    assert MerkleTree.of({"a": bytes.fromhex(tree.folder("a"))}).root != tree.root


def test_equal_trees_are_told_from_their_roots_alone() -> None:
    leaves = {f"d{number % 7}/e/f{number}": str(number) for number in range(100)}
    assert MerkleTree.of(leaves).differences(MerkleTree.of(leaves)).visited == 0


def test_only_the_folders_above_a_changed_file_are_entered() -> None:
    leaves = {f"a{i}/b{j}/c{k}/f": "x" for i in range(5) for j in range(5) for k in range(5)}
    found = MerkleTree.of(leaves).differences(MerkleTree.of(leaves | {"a1/b2/c3/f": "y"}))
    assert found.changed == ["a1/b2/c3/f"]
    assert found.visited == len(["", "a1", "a1/b2", "a1/b2/c3"])


def test_folder_that_is_new_is_listed_with_all_its_files() -> None:
    found = MerkleTree.of({"a": "x"}).differences(MerkleTree.of({"a": "x", "n/b": "x", "n/m/c": "x"}))
    assert (found.added, found.changed, found.removed) == (["n/b", "n/m/c"], [], [])


def test_file_that_became_a_folder_is_removed_and_its_files_added() -> None:
    found = MerkleTree.of({"a": "x"}).differences(MerkleTree.of({"a/b": "x"}))
    assert (found.added, found.changed, found.removed) == (["a/b"], [], ["a"])


def test_folders_and_files_have_digests_of_their_own() -> None:
    tree = MerkleTree.of({"a/b": "x", "c/b": "x", "d": "x"})
    assert tree.folder("") == tree.root
    assert tree.folder("a") == tree.folder("c") == MerkleTree.of({"b": "x"}).root
    assert tree.folder("a/b") == tree.folder("d")
    for missing in ("a/c", "e", "a/b/c"):
        with pytest.raises(KeyError):
            tree.folder(missing)


@pytest.mark.parametrize("path", ["", "/a", "a/", "a//b", "//a"])
def test_path_with_an_empty_part_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="no relative path"):
        MerkleTree.of({path: "x"})


def test_path_that_is_both_file_and_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="both a file and a folder: b"):
        MerkleTree.of({"a/b": "x", "a/b/c": "x"})


def test_folders_nest_deeper_than_python_recurses() -> None:
    deep = "d/" * 3_000
    one, two = MerkleTree.of({f"{deep}a": "x"}), MerkleTree.of({f"{deep}a": "y"})
    assert one.differences(two).changed == [f"{deep}a"]
    assert MerkleTree.from_record(json.loads(json.dumps(one.to_record()))).root == one.root


def test_a_record_is_loaded_without_hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    record = MerkleTree.of({"a/b": "x", "c": "y"}).to_record()
    monkeypatch.setattr(merkle, "_digest", None)
    assert MerkleTree.from_record(record).root


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"version": 2, "folders": []},
        {"version": 1},
        {"version": 1, "folders": []},
        {"version": 1, "folders": [[0, "", "AAAA", []]]},
        {"version": 1, "folders": [[0, "", "?", ["a"]]]},
        {"version": 1, "folders": [[0, "", None, []]]},
        {"version": 1, "folders": [[0, ""]]},
    ],
)
def test_damaged_or_foreign_record_is_refused(record: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="Merkle tree"):
        MerkleTree.from_record(record)
