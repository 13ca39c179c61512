import threading

from coderag.errors import IndexNotFoundError
from coderag.schema.search import SearchHits
from coderag.workspace.federated_search import RepositoryReply, merge_hits, query_repositories
from tests.support.workspaces import hit


def reply(name, evidence="found", confidence=0.9, hits=2):
    found = SearchHits([hit(f"{name}{rank}") for rank in range(hits)], evidence=evidence, confidence=confidence)
    return RepositoryReply(name, f"/{name}", found)


def names(replies, top_k=10):
    return [one.hit.name for one in merge_hits(replies, top_k)]


def test_repositories_that_have_an_answer_take_turns_and_the_surest_begins():
    assert names([reply("a", confidence=0.7), reply("b", confidence=0.9)]) == ["b0", "a0", "b1", "a1"]


def test_a_clear_answer_comes_before_all_weak_ones():
    assert names([reply("a", "weak", 0.99), reply("b", "found", 0.5)]) == ["b0", "b1", "a0", "a1"]


def test_repositories_without_an_answer_come_last():
    replies = [reply("a", "not_found"), reply("b", "unknown"), reply("c", "weak", 0.95)]
    assert names(replies) == ["c0", "b0", "c1", "b1", "a0", "a1"]


def test_one_with_few_results_leaves_the_rest_to_the_others():
    assert names([reply("a", confidence=1, hits=1), reply("b", hits=3)]) == ["a0", "b0", "b1", "b2"]


def test_no_more_than_asked_for_are_returned():
    assert names([reply("a"), reply("b", confidence=0.1)], top_k=3) == ["a0", "b0", "a1"]


def test_each_result_says_which_repository_it_is_of():
    (first, *_) = merge_hits([reply("a")], 5)
    assert (first.repository, first.root) == ("a", "/a")


def test_an_error_is_told_and_holds_up_no_other():
    def ask(place):
        if place == "bad":
            raise IndexNotFoundError("bad is not indexed yet", hint="Run `coderag index` there first.")
        return reply(place)

    replies, verdicts = query_repositories(["bad", "good"], ask)
    assert [one.name for one in replies] == ["good"]
    assert [verdict.repository for verdict in verdicts] == ["bad", "good"]
    assert verdicts[0].error == "bad is not indexed yet (Run `coderag index` there first.)"
    assert not verdicts[1].error


def test_one_that_does_not_answer_in_time_is_told():
    go_on = threading.Event()

    def ask(place):
        if place == "slow":
            go_on.wait(20)
        return reply(place)

    replies, verdicts = query_repositories(["slow", "quick"], ask, timeout_s=0.2)
    go_on.set()
    assert [one.name for one in replies] == ["quick"]
    assert "no answer within" in verdicts[0].error


def test_they_are_asked_side_by_side():
    both = threading.Barrier(2, timeout=20)

    def ask(place):
        both.wait()
        return reply(place)

    assert len(query_repositories(["a", "b"], ask)[0]) == 2


def test_nothing_comes_of_no_repositories():
    assert query_repositories([], reply) == ([], [])
    assert merge_hits([], 5) == []
