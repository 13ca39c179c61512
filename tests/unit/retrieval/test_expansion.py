import pytest

from coderag.retrieval.expansion import RELATION_WEIGHTS, Seed, expand_seeds

NAMES = "abcdefghij"


def related(edges, seeds="a", *, depth=2, limit=10, relevance=None):
    """Expand over edges given as {row: [(row, relation, confidence[, line])]}; rows have letters as names."""
    return expand_seeds(
        [Seed(NAMES.index(name), name) for name in seeds],
        lambda row: [
            (NAMES.index(to), relation, confidence, *(line or [0]))
            for to, relation, confidence, *line in edges.get(NAMES[row], [])
        ],
        lambda row: (relevance or {}).get(NAMES[row], 0.5),
        lambda row: NAMES[row],
        lambda row: f"id-{NAMES[row]}",
        depth=depth,
        limit=limit,
    )


def names(related_names):
    return [entry["chunk_id"].removeprefix("id-") for entry in related_names]


CHAIN = {"a": [("b", "callee", 1.0)], "b": [("c", "callee", 1.0)], "c": [("d", "callee", 1.0)]}


@pytest.mark.parametrize(("depth", "expected"), [(0, []), (1, ["b"]), (2, ["b", "c"]), (3, ["b", "c", "d"])])
def test_relations_are_followed_to_the_given_depth(depth, expected):
    assert names(related(CHAIN, depth=depth)) == expected


def test_step_names_its_origin():
    steps = [(entry["related_to"], entry["origin"], entry["depth"]) for entry in related(CHAIN)]
    assert steps == [("a", "id-a", 1), ("b", "id-b", 2)]


def test_chunk_two_steps_away_counts_half():
    neighbour, far = related(CHAIN, relevance={"b": 0.5, "c": 0.5})
    assert neighbour["score"] == pytest.approx(1.0 * (0.3 + 0.5))  # a callee weighs 1; 0.3 + relevance
    assert far["score"] == pytest.approx(neighbour["score"] / 2)


def test_limit_keeps_the_best_chunks():
    edges = {"a": [(name, "sibling", 1.0) for name in "bcdef"]}
    assert names(related(edges, limit=2, relevance={"e": 0.9, "c": 0.8})) == ["e", "c"]


def test_best_of_several_relations_wins():
    edges = {"a": [("b", "imported_by", 1.0), ("b", "callee", 1.0), ("b", "sibling", 1.0)]}
    assert [entry["relation"] for entry in related(edges)] == ["callee"]


def test_unsure_relation_counts_less():
    assert names(related({"a": [("b", "caller", 0.5), ("c", "caller", 0.9)]})) == ["c", "b"]


def test_shorter_path_wins():
    edges = {"a": [("b", "imports", 0.5), ("c", "callee", 1.0)], "c": [("b", "callee", 1.0)]}
    related_names = {entry["chunk_id"]: entry for entry in related(edges)}
    assert related_names["id-b"]["depth"] == 1


def test_seeds_are_not_related_to_each_other():
    edges = {"a": [("b", "callee", 1.0), ("c", "callee", 1.0)], "b": [("a", "caller", 1.0)]}
    assert names(related(edges, seeds="ab")) == ["c"]


def test_cycle_terminates():
    edges = {"a": [("b", "callee", 1.0)], "b": [("a", "caller", 1.0), ("b", "sibling", 1.0)]}
    assert names(related(edges, depth=5)) == ["b"]


def test_code_without_question_words_may_be_related():
    assert related({"a": [("b", "callee", 1.0)]}, relevance={"b": 0.0})[0]["score"] > 0


def test_the_line_of_evidence_is_kept():
    assert related({"a": [("b", "callee", 1.0, 12)]})[0]["line"] == 12


def test_no_seeds_yield_no_related_code():
    assert related(CHAIN, seeds="") == []


def test_every_relation_has_a_weight():
    from typing import get_args

    from coderag.schema.vocabulary import Relation

    assert RELATION_WEIGHTS.keys() == set(get_args(Relation))
