"""Sessions of agents: chat models on a scripted server, agents' commands, limits, and the report on both arms."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from coderag.errors import ServiceError
from evals.agents.__main__ import main
from evals.agents.opening import open_toolset
from evals.agents.session import Session
from evals.agents.tool_server import stop_server
from tests.loopback import LoopbackServer, Reply, Request

CHECKOUT = Path(__file__).parents[3]
CART = 'def checkout(cart):\n    """Charge the customer."""\n    return cart.total()\n'
TASKS = [
    {"id": "shop-1", "repository": "shop", "kind": "where", "question": "Where is the customer charged?",
     "places": [{"path": "cart.py", "start_line": 1, "end_line": 3}], "reference": "checkout returns the total."},
    {"id": "shop-2", "repository": "shop", "kind": "absent", "question": "Where is a refund?",
     "reference": "There is none."},
    {"id": "shop-3", "repository": "lost", "kind": "where", "question": "Where is it?",
     "places": [{"path": "cart.py", "start_line": 1, "end_line": 3}]},
]  # fmt: skip
RIGHT = {"places": ["cart.py:1-3"], "statement": "checkout charges the customer."}


class ToolCallingServer(LoopbackServer):
    """Chat server that plays turns: each is a list of calls (tool, arguments), or text. The last turn is repeated."""

    def __init__(self, *turns) -> None:
        super().__init__()
        self._turns = list(turns)

    def respond(self, request: Request) -> Reply:
        turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
        message = {"role": "assistant", "content": turn if isinstance(turn, str) else None}
        if not isinstance(turn, str):
            message["tool_calls"] = [
                {"id": f"c{number}", "type": "function",
                 "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}}
                for number, (name, given) in enumerate(turn)
            ]  # fmt: skip
        usage = {"prompt_tokens": 100, "completion_tokens": 10}
        return Reply({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage})


@pytest.fixture
def setup(tmp_path) -> list[str]:
    """Options that name the tasks and the tree of the only repository."""
    (tmp_path / "trees" / "shop").mkdir(parents=True)
    (tmp_path / "trees" / "shop" / "cart.py").write_text(CART, encoding="utf-8")
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in TASKS), encoding="utf-8")
    lost = '[lost]\nrepository = "somebody/lost"\nrevision = "{}"\nlanguage = "python"\nlicence = "MIT"\n'
    (tmp_path / "sources.toml").write_text(lost.format("0" * 40), encoding="utf-8")
    return [
        "--tasks", str(tmp_path / "tasks.jsonl"), "--sources", str(tmp_path / "sources.toml"),
        "--trees", str(tmp_path / "trees"), "--clones", str(tmp_path / "clones"),
    ]  # fmt: skip


@pytest.fixture
def run(setup, tmp_path) -> Callable[..., Session]:
    """Run a chat model that plays turns on a task and return the session."""

    def run_turns(*turns, task: str = "shop-1", arm: str = "grep", options: tuple[str, ...] = ()) -> Session:
        with ToolCallingServer(*turns) as server:
            given = ["--model", "scripted", "--base-url", f"{server.url}/v1", "--out", str(tmp_path / "runs"), *options]
            assert main(["run", "--arm", arm, "--only", task, *given, *setup]) == 0
            run_turns.requests = server.bodies
        return Session(tmp_path / "runs" / arm / task)

    return run_turns


@pytest.fixture
def start(setup, tmp_path) -> Iterator[Callable[..., Path]]:
    """Start a session for an agent with a shell and return its folder."""
    folders = []

    def start_session(task: str = "shop-1", arm: str = "grep", *options: str) -> Path:
        folders.append(tmp_path / "sessions" / f"{arm}-{task}")
        assert main(["start", "--task", task, "--arm", arm, "--session", str(folders[-1]), *options, *setup]) == 0
        return folders[-1]

    yield start_session
    for folder in folders:
        stop_server(Session(folder))


def score(tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict:
    capsys.readouterr()
    assert main(["score", str(tmp_path), "--tasks", str(tmp_path / "tasks.jsonl"), "--json", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_model_calls_tools_and_answers(run, tmp_path, capsys):
    session = run([("grep", {"pattern": "Charge"}), ("read", {"path": "cart.py"})], [("answer", RIGHT)])
    assert [(call.tool, call.is_error) for call in session.read_calls()] == [("grep", False), ("read", False)]
    assert session.read_calls()[0].received == len('cart.py:2:    """Charge the customer."""')
    assert session.read_calls()[0].sent == len('grep{"pattern": "Charge"}')
    prompt, *_, last = run.requests[-1]["messages"]
    assert "Where is the customer charged?" in prompt["content"]
    assert last["role"] == "tool"
    assert [tool["function"]["name"] for tool in run.requests[0]["tools"]] == ["grep", "read", "list", "answer"]
    (scored,) = score(tmp_path, capsys)["sessions"]
    assert scored["all_places"] == scored["precision"] == scored["answered"] == 1
    assert (scored["calls"], scored["input_tokens"], scored["agent"]) == (2, 200, "scripted")


@pytest.mark.slow
def test_a_model_gets_the_tools_of_the_mcp_server(run):
    session = run([("coderag_search", {"query": "charge the customer"})], [("answer", RIGHT)], arm="mcp")
    instructions, *_, result = run.requests[1]["messages"]
    assert "CodeRAG" in instructions["content"]
    assert "cart.py:1-3" in result["content"]
    assert session.read_answer()


@pytest.mark.slow
def test_a_server_that_does_not_start_is_reported(tmp_path):
    with pytest.raises(ServiceError, match="does not start"), open_toolset("mcp", tmp_path / "nowhere"):
        pass


def test_a_malformed_answer_can_be_corrected(run):
    session = run(
        [("answer", {"places": ["cart.py"], "statement": "x"})],
        [("answer", {"places": [f"cart.py:{line}" for line in range(1, 7)], "statement": "x"})],
        [("answer", RIGHT)],
    )
    assert session.read_answer().answer.places == ("cart.py:1-3",)
    replies = [entry["content"] for entry in run.requests[-1]["messages"] if entry["role"] == "tool"]
    assert "'cart.py' is not a place" in replies[0]
    assert "at most 5 items" in replies[1]


@pytest.mark.parametrize(
    "turn", ["It is in cart.py.", [("answer", "{")], [("answer", {"places": []})], [("grep", "[]")]]
)
def test_a_model_that_never_gives_a_valid_answer_is_stopped(run, tmp_path, capsys, turn):
    session = run(turn)
    assert session.read_outcome().ending == "no answer"
    assert len(run.requests) == 3
    (scored,) = score(tmp_path, capsys)["sessions"]
    assert scored["answered"] == scored["all_places"] == scored["any_place"] == 0
    assert "precision" not in scored


def test_at_the_limit_of_calls_a_model_can_only_answer(run):
    session = run([("list", {})], [("list", {}), ("list", {})], [("answer", RIGHT)], options=("--max-calls", "2"))
    assert len(session.read_calls()) == 2
    assert session.read_answer()
    assert [tool["function"]["name"] for tool in run.requests[-1]["tools"]] == ["answer"]


def test_a_model_that_goes_on_calling_ends_without_an_answer(run):
    session = run([("list", {})], options=("--max-calls", "2"))
    assert len(session.read_calls()) == 2
    assert "limit of 2 calls" in session.read_outcome().detail


def test_at_the_limit_of_time_a_model_can_only_answer(run):
    session = run([("list", {})], options=("--max-seconds", "0.000001"))
    assert session.read_calls() == []
    assert "time limit" in session.read_outcome().detail


def test_a_failing_model_is_reported_and_not_scored(run, tmp_path, setup, capsys):
    with LoopbackServer() as server:
        server.next(Reply({"error": {"message": "no such model"}}, status=404))
        given = ["--model", "lost", "--base-url", server.url, "--out", str(tmp_path / "runs")]
        assert main(["run", "--arm", "grep", "--only", "shop-1", *given, *setup]) == 1
    assert "shop-1: failed: openai at http://127.0.0.1" in capsys.readouterr().err
    assert main(["score", str(tmp_path / "runs"), "--tasks", str(tmp_path / "tasks.jsonl")]) == 1
    assert "no session can be scored" in capsys.readouterr().err


def test_an_invalid_reply_of_a_model_is_a_failure(setup, tmp_path, capsys):
    with LoopbackServer() as server:
        server.next(Reply({"choices": []}))
        given = ["--model", "broken", "--base-url", server.url, "--out", str(tmp_path / "runs"), "--only", "shop-1"]
        assert main(["run", "--arm", "grep", *given, *setup]) == 1
    assert "sent an invalid reply" in capsys.readouterr().err


def test_the_rest_is_run_where_a_clone_is_missing(setup, tmp_path, capsys):
    with ToolCallingServer([("answer", {"places": [], "statement": "Nothing refunds."})]) as server:
        given = ["--model", "scripted", "--base-url", server.url, "--out", str(tmp_path / "runs")]
        assert main(["run", "--arm", "grep", *given, *setup]) == 1
    assert "left out: shop-3: no clone of somebody/lost" in capsys.readouterr().err
    assert {entry["task"]: entry["all_places"] for entry in score(tmp_path, capsys)["sessions"]} == {
        "shop-1": 0,
        "shop-2": 1,
    }


def test_a_session_is_not_run_twice(run, capsys):
    run([("answer", RIGHT)])
    run("never asked")
    assert run.requests == []
    assert "has a session already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["start", "--task", "shop-9", "--arm", "grep", "--session", "{folder}"], "no task 'shop-9'"),
        (["call", "--session", "{folder}", "grep"], "no session in"),
        (["answer", "--session", "{folder}", "{{}}"], "no session in"),
        (["run", "--arm", "grep", "--command", "'", "--out", "{folder}"], "No closing quotation"),
        (["run", "--arm", "grep", "--command", "", "--out", "{folder}"], "--command is empty"),
    ],
)
def test_wrong_use_is_explained(setup, tmp_path, capsys, arguments, message):
    given = [argument.format(folder=tmp_path / "nowhere") for argument in arguments]
    assert main(given + (setup if given[0] in {"start", "run"} else [])) == 1
    assert message in capsys.readouterr().err


def test_an_agent_with_a_shell_calls_tools_and_answers(start, capsys):
    folder = start()
    assert f"call --session {folder} TOOL" in capsys.readouterr().out
    session = ["--session", str(folder)]
    assert main(["call", *session, "grep", '{"pattern": "Charge"}']) == 0
    assert capsys.readouterr().out == 'cart.py:2:    """Charge the customer."""\n'
    assert main(["call", *session, "grep", "{}"]) == 1
    assert "pattern: Field required" in capsys.readouterr().out
    assert main(["call", *session, "grep", "[1]"]) == 1
    assert main(["answer", *session, "{"]) == 1
    assert "not valid JSON" in capsys.readouterr().err
    assert main(["answer", *session, json.dumps(RIGHT)]) == 0
    assert main(["answer", *session, json.dumps(RIGHT)]) == 1
    assert "the answer is in already" in capsys.readouterr().err
    assert main(["call", *session, "list"]) == 1
    assert "the session is over" in capsys.readouterr().out
    assert [call.is_error for call in Session(folder).read_calls()] == [False, True]


AGENT = """
import json, re, subprocess, sys
prompt = sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()
call, answer = (line.strip() for line in prompt.splitlines() if line.startswith("    ") and "evals.agents" in line)
call = call.partition(" TOOL ")[0]
subprocess.run([*call.split(), "grep", json.dumps({"pattern": "def "})], check=True)
answer = answer.partition(" '")[0]
subprocess.run([*answer.split(), json.dumps({"places": ["cart.py:1-3"], "statement": "checkout"})], check=True)
"""


@pytest.fixture
def run_command(setup, tmp_path) -> Callable[..., Session]:
    """Run an agent's command on a task and return the session."""

    def run_line(program: str, *arguments: str, options: tuple[str, ...] = ()) -> Session:
        (tmp_path / "agent.py").write_text(program, encoding="utf-8")
        line = shlex.join([sys.executable, str(tmp_path / "agent.py"), *arguments])
        given = ["--command", line, "--out", str(tmp_path / "runs"), "--agent", "fake", *options]
        assert main(["run", "--arm", "grep", "--only", "shop-1", *given, *setup]) == 0
        return Session(tmp_path / "runs" / "grep" / "shop-1")

    return run_line


@pytest.mark.parametrize("arguments", [("{prompt}",), ()], ids=["argument", "standard input"])
def test_an_agents_command_gets_the_prompt_and_answers(run_command, arguments):
    session = run_command(AGENT, *arguments)
    assert session.read_answer().answer.statement == "checkout"
    assert [call.tool for call in session.read_calls()] == ["grep"]
    assert session.read_outcome().ending == "answered"


def test_a_command_that_never_answers_is_reported(run_command):
    outcome = run_command("print('cart.py, I think')").read_outcome()
    assert (outcome.ending, outcome.detail) == ("no answer", "the agent ended with status 0 and without an answer")


def test_a_command_that_does_not_end_is_killed(run_command, monkeypatch):
    monkeypatch.setattr("evals.agents.agent_command._MARGIN_S", 0.0)
    outcome = run_command("import time; time.sleep(60)", options=("--max-seconds", "0.5")).read_outcome()
    assert "did not end within 0.5 s" in outcome.detail


def test_a_command_that_cannot_be_run_is_a_failure(setup, tmp_path, capsys):
    given = ["--command", str(tmp_path / "nowhere"), "--out", str(tmp_path / "runs"), "--only", "shop-1"]
    assert main(["run", "--arm", "grep", *given, *setup]) == 1
    assert "nowhere cannot be run" in capsys.readouterr().err


def submit(folder: Path, *places: str) -> None:
    assert main(["answer", "--session", str(folder), json.dumps({"places": places, "statement": "It charges."})]) == 0


@pytest.mark.slow
def test_both_arms_are_compared_on_the_same_task(start, tmp_path, capsys):
    mcp = start("shop-1", "mcp")
    prompt = capsys.readouterr().out
    assert "coderag_search" in prompt
    assert main(["call", "--session", str(mcp), "coderag_search", '{"query": "charge the customer"}']) == 0
    assert "cart.py:1-3" in capsys.readouterr().out
    assert main(["call", "--session", str(mcp), "coderag_lost", "{}"]) == 1
    submit(mcp, "cart.py:1-3")
    submit(start("shop-1", "grep"), "cart.py:90-99")
    submit(start("shop-2", "grep"))

    capsys.readouterr()
    tasks = ["--tasks", str(tmp_path / "tasks.jsonl")]
    assert main(["forms", str(tmp_path), *tasks]) == 0
    forms = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {form["statement"] for form in forms} == {"It charges."}
    assert not any("arm" in form or "agent" in form for form in forms)
    filled = tmp_path / "filled.jsonl"
    filled.write_text("".join(json.dumps(form | {"wrong_claims": 2}) + "\n" for form in forms[:2]), encoding="utf-8")

    metrics = score(tmp_path, capsys, "--judgements", str(filled))["metrics"]
    assert metrics["all_places"]["arms"]["mcp"]["mean"] == 1.0
    assert metrics["all_places"]["arms"]["grep"] == {"mean": 0.5, "low": 0.0, "high": 1.0, "n": 2}
    assert metrics["all_places"]["difference"]["mean"] == 1.0  # of the task that both have
    assert metrics["all_places"]["difference"]["n"] == 1
    assert metrics["definitions"]["arms"]["mcp"]["mean"] > metrics["definitions"]["arms"]["grep"]["mean"]
    assert {arm["mean"] for arm in metrics["wrong_claims"]["arms"].values()} == {2.0}

    assert main(["score", str(tmp_path), *tasks]) == 0
    text = capsys.readouterr().out
    assert "| all places named | 1.00 (1.00 to 1.00), n 1 | 0.50 (0.00 to 1.00), n 2 |" in text
    assert "| all places named | 1.00 | 0.00 | +1.00 (+1.00 to +1.00) | 1 |" in text


def test_a_session_that_goes_on_is_left_out(start, tmp_path, capsys):
    submit(start("shop-2"))
    start("shop-1")
    report = score(tmp_path, capsys)
    assert [entry["task"] for entry in report["sessions"]] == ["shop-2"]
    assert report["left_out"] == ["Left out: shop-1, grep: it goes on"]


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "line 1: Invalid JSON"), ('{"session": "a", "wrong_claims": -1}', "greater than or equal")],
)
def test_an_invalid_judgement_is_reported_with_its_line(run, tmp_path, capsys, line, message):
    run([("answer", RIGHT)])
    (tmp_path / "filled.jsonl").write_text(line, encoding="utf-8")
    options = ["--tasks", str(tmp_path / "tasks.jsonl"), "--judgements", str(tmp_path / "filled.jsonl")]
    assert main(["score", str(tmp_path), *options]) == 1
    assert message in capsys.readouterr().err
