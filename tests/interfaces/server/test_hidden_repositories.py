"""What a caller may not see changes nothing of what they get, over every route, tool and page of the composed app.

`CODERAG_TEST_WORLDS=500` draws so many worlds; each line of the log has the number of those that have passed.
"""

import logging
import os
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from coderag.interfaces.rest.app import PREFIX
from coderag.interfaces.server.actions import REST_ACTIONS, TOOL_ACTIONS
from coderag.interfaces.server.app import ROUTE_ACTIONS
from coderag.server.access.roles import Action, Level, Role
from tests.support.composed_worlds import WorldServer
from tests.support.hosted_worlds import (
    QUESTIONS,
    WORDS,
    Sent,
    World,
    build_repositories,
    list_requests,
    list_tool_calls,
)
from tests.support.server_requests import list_mcp_messages, list_server_requests

_FEW = 1
_EXAMPLES = int(os.environ.get("CODERAG_TEST_WORLDS", _FEW))
_NUMBERS = st.integers(0, len(WORDS) - 1)
_ROLES = st.sampled_from([Role.MEMBER, Role.MEMBER, Role.VIEWER, Role.AUDITOR, Role.ADMIN])
"""An administrator sees all repositories, and is asked with a key that is bound to some."""

_CHANGING = {"POST /feedback", "DELETE /feedback/{case}"}
"""Routes that write into the index, which both servers share."""

_log = logging.getLogger(__name__)
_numbers = count(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hosted")
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))
        build_repositories(folder)
    return folder


@pytest.fixture(autouse=True)
def _own_index(folder, monkeypatch):
    """Let the indexes be this user's own in each test, although every test has a home of its own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(folder / "home"))


@pytest.fixture(scope="module")
def servers(folder, tmp_path_factory):
    """A server on which others use hidden repositories, and one without these."""
    created = [WorldServer(folder, tmp_path_factory.mktemp(name) / "data") for name in ("crowded", "alone")]
    yield created
    for server in created:
        server.close()


@st.composite
def worlds(draw: st.DrawFn) -> World:
    numbers = draw(st.permutations(range(len(WORDS))))
    visible = draw(st.integers(0, 3))
    levels = {
        number: draw(st.sampled_from([Level.READ, Level.INDEX, Level.ADMINISTER])) for number in numbers[:visible]
    }
    sources = draw(st.sampled_from([(), ("wiki",), ("tracker",), ("wiki", "tracker")]))
    return World(levels, tuple(numbers[visible:]), sources)


def list_all_requests(world: World, folder: Any, question: str, chosen: int) -> list[Sent]:
    workspace = [replace(sent, path=PREFIX + sent.path) for sent in list_requests(world, folder, question, chosen)]
    return [*workspace, *list_server_requests(world, chosen)]


def find_differences(seen: Sequence[Any], expected: Sequence[Any]) -> list[tuple[str, str, str]]:
    """Return the replies that differ, from shortly before the place where they do."""
    differences = []
    for left, right in zip(seen, expected, strict=True):
        if left != right:
            texts = repr(left[1:]), repr(right[1:])
            equal = next((n for n, pair in enumerate(zip(*texts, strict=False)) if pair[0] != pair[1]), 0)
            start = max(0, equal - 80)
            differences.append((left[0], *(text[start : start + 200] for text in texts)))
    return differences


def test_every_route_and_tool_is_asked(folder):
    world = World(dict.fromkeys(range(len(WORDS)), Level.ADMINISTER), ())
    asked = {sent.route for sent in list_all_requests(world, folder, QUESTIONS[0], 0)}
    assert {route for route, action in ROUTE_ACTIONS.items() if action is not Action.LOCAL} <= asked
    assert {name for name, _ in list_tool_calls(world, QUESTIONS[0], 0)} == {*TOOL_ACTIONS} - {"search_codebase"}


_PHASES = (Phase.explicit, Phase.generate)  # shrinking sends thousands of requests


@settings(
    max_examples=_EXAMPLES,
    derandomize=_EXAMPLES == _FEW,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=_PHASES,
)
@given(world=worlds(), role=_ROLES, chosen=_NUMBERS, question=st.sampled_from(QUESTIONS))
@example(World({2: Level.READ, 1: Level.READ}, (4, 5), ("tracker",)), Role.VIEWER, 1, QUESTIONS[0])
def test_hidden_repositories_change_no_byte_of_any_reply(servers, folder, world, role, chosen, question):
    number = next(_numbers)
    if role is Role.ADMIN and not world.levels:
        role = Role.MEMBER  # a key is bound to one repository or more
    level = world.levels.get(chosen, Level.NONE)
    may_index = level >= Level.INDEX or (level and role is Role.ADMIN)  # jobs would change what is asked meanwhile
    is_auditor = role is Role.AUDITOR  # the audit has the ids of all repositories, by its purpose
    requests = [
        sent
        for sent in list_all_requests(world, folder, question, chosen)
        if not (sent.route == "POST /index" and may_index)
        and not (sent.route == "GET /freshness/events" and chosen in world.levels)  # it does not end
        and not (is_auditor and ROUTE_ACTIONS.get(sent.route) is Action.AUDIT_READ)
    ]
    messages = [
        message
        for message in list_mcp_messages(world, question, chosen)
        if not (message[1].get("name") == "coderag_index" and may_index)
    ]
    everything = World(dict.fromkeys(range(len(WORDS)), Level.ADMINISTER), ())
    crowded, alone = servers
    keys = [
        server.enter(world, f"Ada{number}", role, has_hidden=server is crowded, is_bound=role is Role.ADMIN)
        for server in servers
    ]
    for hidden in world.hidden[:1]:
        asked = list_all_requests(everything, folder, question, hidden)
        crowded.ask_as_bob([sent for sent in asked if sent.route in REST_ACTIONS and "events" not in sent.route][:8])
    for server, key in zip(servers, keys, strict=True):
        server.ask_as_bob([Sent("GET /server/me", "GET", f"{PREFIX}/server/me")])  # whether he is active is no secret
        server.ask(key, [sent for sent in requests if sent.route in _CHANGING])
    expected, seen = alone.ask(keys[1], requests), crowded.ask(keys[0], requests)
    answers, shown = alone.call_mcp(keys[1], messages), crowded.call_mcp(keys[0], messages)
    own = str(folder)
    asked_for = [*requests, *[("",)] * 2, *messages]  # a reply may repeat the folder that its request has
    replies = zip(asked_for, (*expected, *answers), strict=True)
    folders = [
        (reply[0], reply[3][:300]) for sent, reply in replies if own.encode() in reply[3] and own not in str(sent)
    ]
    assert (find_differences(seen, expected), find_differences(shown, answers), folders) == ([], [], [])
    _log.warning("%d worlds have passed", number)


def test_request_for_a_hidden_repository_is_refused_like_one_for_a_missing_one(servers, folder):
    crowded, _ = servers
    world = World({0: Level.ADMINISTER}, (1,))
    key = crowded.enter(world, "Zoe", Role.MEMBER, has_hidden=True, is_bound=False)
    missing_world = World({0: Level.ADMINISTER}, (1,), names={1: "nothing"})

    def ask(asked: World) -> list[tuple[int, bytes]]:
        requests = [sent for sent in list_all_requests(asked, folder, QUESTIONS[0], 1) if sent.route in REST_ACTIONS]
        replies = crowded.ask(key, [sent for sent in requests if str(folder) not in str(sent)])
        return [(status, body.replace(f"'{WORDS[1]}'".encode(), b"'nothing'")) for _, status, _, body in replies]

    hidden = ask(world)
    assert hidden == ask(missing_world)
    assert {status for status, _ in hidden if status != 200} == {404, 405}


@pytest.mark.parametrize(
    ("role", "level", "may_read", "may_index"),
    [
        (Role.MEMBER, Level.INDEX, True, True),
        (Role.MEMBER, Level.READ, True, False),
        (Role.VIEWER, Level.ADMINISTER, True, False),
        (Role.AUDITOR, Level.ADMINISTER, False, False),
    ],
)
def test_tools_that_a_caller_may_never_call_are_not_listed(servers, role, level, may_read, may_index):
    key = servers[0].enter(World({0: level}, (1,)), f"Lin{next(_numbers)}", role, has_hidden=True, is_bound=False)
    *_, (_, status, _, body) = servers[0].call_mcp(key, [("tools/list", {})])
    assert status == 200
    assert (b'"coderag_search"' in body, b'"coderag_index"' in body) == (may_read, may_index)


def test_unknown_repository_is_refused_with_those_that_can_be_named(servers):
    world = World({0: Level.READ, 2: Level.READ}, (1,))
    key = servers[0].enter(world, f"Kim{next(_numbers)}", Role.MEMBER, has_hidden=True, is_bound=False)
    calls = [("coderag_search", {"query": "x", "repository": WORDS[1]}), ("coderag_search", {"query": "x"})]
    replies = servers[0].call_mcp(key, [("tools/call", {"name": name, "arguments": given}) for name, given in calls])
    for *_, body in replies[-2:]:
        assert WORDS[0].encode() in body
        assert WORDS[2].encode() in body
        assert b"finds it by words" not in body
        assert b"checkout" not in body
