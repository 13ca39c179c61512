"""Consistency of the keys of the query graph's input, output, state and updates."""

from coderag.schema.query import QueryInput, QueryOutput, QueryState, QueryUpdate

GIVEN_ONLY = {"query", "goal", "top_k", "token_budget", "filters", "explain", "shown", "format", "history"}
SHARED_ONLY = {"candidates", "to_read", "flow", "lineage", "widened"}


def keys(*types):
    return {key for name in types for key in name.__annotations__}


def test_input_keys_are_never_updated():
    assert keys(QueryInput) == GIVEN_ONLY
    assert QueryInput.__required_keys__ == {"query"}
    assert not keys(QueryInput) & keys(QueryUpdate)


def test_state_is_input_output_and_shared_keys():
    assert keys(QueryState) == keys(QueryInput, QueryOutput) | SHARED_ONLY


def test_update_may_change_everything_but_the_input():
    assert keys(QueryUpdate) == keys(QueryState) - keys(QueryInput)
    assert QueryUpdate.__required_keys__ == set()


def test_update_has_the_types_of_the_state():
    for key in keys(QueryUpdate) - {"trace"}:  # the trace has a reducer
        assert QueryUpdate.__annotations__[key] == QueryState.__annotations__[key]
