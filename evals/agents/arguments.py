"""Command line of the trial."""

import argparse
import tempfile
from pathlib import Path

from .tasks import GOLDEN_SETS, TASKS
from .toolsets import ARMS


def build_parser() -> argparse.ArgumentParser:
    """Build the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="python -m evals.agents", description="Compare what agents need with CodeRAG."
    )
    commands = parser.add_subparsers(dest="name", required=True, metavar="COMMAND")

    draw = commands.add_parser("draw", help="draw tasks from the golden declarations")
    draw.add_argument("--golden", type=Path, default=GOLDEN_SETS, help="folder of golden sets (%(default)s)")
    draw.add_argument("--repositories", type=int, default=15, help="number of repositories (%(default)s)")
    draw.add_argument("--per-repository", type=int, default=4, help="tasks of each repository (%(default)s)")
    draw.add_argument("--seed", type=int, default=0, help="seed of the draw (%(default)s)")

    listed = commands.add_parser("list", help="list tasks")
    _add_tasks(listed)

    start = commands.add_parser("start", help="start a session and print its prompt for an agent with a shell")
    start.add_argument("--task", required=True, metavar="ID", help="task of the session")
    start.add_argument("--arm", choices=ARMS, required=True, help="tools of the session")
    _add_session(start)
    _add_setup(start)

    call = commands.add_parser("call", help="call a tool of a session")
    _add_session(call)
    call.add_argument("tool", help="name of the tool")
    call.add_argument("arguments", nargs="?", default="{}", help="JSON object, or - to read it from standard input")

    answer = commands.add_parser("answer", help="give the answer of a session")
    _add_session(answer)
    answer.add_argument("answer", help="JSON object with places and statement, or - to read it from standard input")

    serve = commands.add_parser("serve", help="keep the tools of a session warm; started by other commands")
    _add_session(serve)

    run = commands.add_parser("run", help="run a chat model or an agent's command on tasks")
    run.add_argument("--arm", choices=ARMS, required=True, help="tools of the sessions")
    run.add_argument("--only", nargs="+", metavar="ID", help="only these tasks")
    run.add_argument(
        "--out", type=Path, required=True, help="folder of the sessions; those that ended are not run again"
    )
    agent = run.add_mutually_exclusive_group(required=True)
    agent.add_argument("--model", help="chat model with tool calls")
    agent.add_argument("--command", metavar="LINE", help="command of an agent, such as 'agent -p {prompt}'")
    run.add_argument("--base-url", default="http://localhost:11434/v1",
                     help="address of an OpenAI-compatible server (%(default)s)")  # fmt: skip
    run.add_argument("--api-key-env", default="OPENAI_API_KEY", metavar="NAME",
                     help="environment variable with the server's key (%(default)s)")  # fmt: skip
    run.add_argument("--temperature", type=float, help="temperature of the model (default: the server's)")
    _add_setup(run)

    forms = commands.add_parser("forms", help="print forms for judging the statements, without their arms")
    score = commands.add_parser("score", help="score sessions and compare the arms")
    for parser_of_runs in (forms, score):
        parser_of_runs.add_argument("runs", type=Path, nargs="+", help="folders with sessions")
        _add_tasks(parser_of_runs)
    score.add_argument("--judgements", type=Path, metavar="JSONL", help="filled forms")
    score.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _add_tasks(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tasks", type=Path, default=TASKS, metavar="JSONL", help="tasks (%(default)s)")


def _add_session(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--session", type=Path, required=True, metavar="DIR", help="folder of the session")


def _add_setup(parser: argparse.ArgumentParser) -> None:
    _add_tasks(parser)
    add = parser.add_argument
    add("--agent", default="", metavar="NAME", help="name of the agent in reports (default: the model or the command)")
    add("--sources", type=Path, default=GOLDEN_SETS / "sources.toml", metavar="TOML",
        help="origins of the repositories (%(default)s)")  # fmt: skip
    add("--trees", type=Path, default=Path(tempfile.gettempdir()) / "coderag-projects",
        help="folder for the repositories' files (%(default)s)")  # fmt: skip
    add("--clones", type=Path, help="folder of git clones, owner+name or name (default: download the revisions)")
    add("--indexed", action="store_true", help="use the indexes in --trees as they are")
    add("--max-calls", type=int, default=40, help="limit of calls in a session (%(default)s)")
    add("--max-seconds", type=float, default=1800.0, help="limit of time in a session (%(default)s)")
