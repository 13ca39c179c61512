"""Moves in rank between two rankings."""

from coderag.retrieval.rank_moves import RankedPlace, compare_rankings


def place(name, line=1, path="a.py"):
    return RankedPlace(path, name, "function", line, line + 1)


def summarize(previous, current):
    return [(move.name, move.change, move.steps) for move in compare_rankings(previous, current)]


def test_each_result_is_new_gone_up_down_or_the_same():
    before = [place("a"), place("b"), place("c"), place("d")]
    after = [place("a"), place("c"), place("new"), place("b")]
    assert summarize(before, after) == [
        ("a", "same", 0), ("c", "up", 1), ("new", "new", 0), ("b", "down", -2), ("d", "gone", 0),
    ]  # fmt: skip


def test_a_result_whose_lines_moved_is_the_same():
    assert summarize([place("a", 10)], [place("a", 90)]) == [("a", "same", 0)]


def test_overloads_are_told_apart_by_their_order_in_the_file():
    before = [place("a", 30), place("a", 10)]
    after = [place("a", 11), place("a", 31)]
    moves = compare_rankings(before, after)
    assert [(move.start_line, move.previous_rank) for move in moves] == [(11, 2), (31, 1)]
