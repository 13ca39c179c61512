"""Commands of the trial."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from coderag.errors import ConfigurationError, IngestionError
from evals.sources import load_sources

from .agent_command import parse_command, run_agent_command
from .drawing import draw_tasks
from .opening import Trees, open_toolset
from .prompts import build_command_prompt, build_prompt, count_definition_chars
from .scoring import build_judging_forms, load_judgements, score_session
from .session import Session, SessionOutcome, find_sessions
from .tasks import Task, dump_tasks, get_task, load_tasks
from .tool_server import ServedTools, serve, stop_server


def _draw(options: argparse.Namespace) -> int:
    tasks = draw_tasks(
        options.golden, repositories=options.repositories, per_repository=options.per_repository, seed=options.seed
    )
    sys.stdout.write(dump_tasks(tasks))
    return 0


def _list(options: argparse.Namespace) -> int:
    for task in load_tasks(options.tasks).values():
        print(task.id, task.repository, task.kind, " ".join(task.question.split()), sep="\t")
    return 0


def _start(options: argparse.Namespace) -> int:
    task = get_task(load_tasks(options.tasks), options.task)
    session = _create_session(options, task, options.session, options.agent)
    print(_start_served(session, task))
    return 0


def _call(options: argparse.Namespace) -> int:
    arguments = _parse_json(options.arguments)
    if not isinstance(arguments, dict):
        raise ConfigurationError("the arguments are not a JSON object")
    session = Session(options.session)
    if limit := session.find_limit():  # the server may have ended
        print(limit)
        return 1
    reply = ServedTools(session).call(options.tool, arguments)
    print(reply.text)
    return int(reply.is_error)


def _answer(options: argparse.Namespace) -> int:
    session = Session(options.session)
    answer = session.submit_answer(_parse_json(options.answer))
    stop_server(session)
    print(f"accepted: {len(answer.places)} places")
    return 0


def _serve(options: argparse.Namespace) -> int:
    serve(Session(options.session))
    return 0


def _run(options: argparse.Namespace) -> int:
    tasks = load_tasks(options.tasks)
    chosen = [get_task(tasks, task_id) for task_id in options.only] if options.only else list(tasks.values())
    command = parse_command(options.command) if options.command is not None else []
    agent = options.agent or options.model or Path(command[0]).name
    has_missing = False
    for task in chosen:
        folder = options.out / options.arm / task.id
        if (folder / "session.json").exists():
            print(f"{task.id}: has a session already", file=sys.stderr)
            continue
        try:
            session = _create_session(options, task, folder, agent)
        except IngestionError as error:  # run the rest
            has_missing = True
            print(f"left out: {task.id}: {error}", file=sys.stderr)
            continue
        end = _run_command(session, task, command) if command else _run_model(session, task, options)
        has_missing = has_missing or end.ending == "failed"
        detail = f": {end.detail}" if end.detail else ""
        print(f"{task.id}: {end.ending}{detail}", file=sys.stderr, flush=True)
    return int(has_missing)


def _run_model(session: Session, task: Task, options: argparse.Namespace) -> SessionOutcome:
    from .chat_model import ChatModel, run_chat_model  # noqa: PLC0415  # not for `call`, which agents wait for

    key = os.environ.get(options.api_key_env, "")
    model = ChatModel(options.model, options.base_url, key, temperature=options.temperature)
    with open_toolset(session.record.arm, Path(session.record.root)) as toolset:
        session.begin(count_definition_chars(toolset))
        return run_chat_model(session, toolset, build_prompt(task, session.record), model)


def _run_command(session: Session, task: Task, command: list[str]) -> SessionOutcome:
    prompt = _start_served(session, task)
    try:
        return run_agent_command(session, prompt, command)
    finally:
        stop_server(session)


def _create_session(options: argparse.Namespace, task: Task, folder: Path, agent: str) -> Session:
    trees = Trees(load_sources(options.sources), options.trees, options.clones, options.indexed)
    root = trees.prepare(task, options.arm)
    limits = {"max_calls": options.max_calls, "max_seconds": options.max_seconds}
    return Session.create(folder, task.id, options.arm, root, agent=agent, **limits)


def _start_served(session: Session, task: Task) -> str:
    """Start the tools of a session and return the prompt, which is kept, too."""
    toolset = ServedTools(session)
    prompt = build_command_prompt(task, session.record, toolset, session.folder)
    (session.folder / "prompt.md").write_text(prompt, encoding="utf-8")
    session.begin(count_definition_chars(toolset))
    return prompt


def _print_forms(options: argparse.Namespace) -> int:
    print("\n".join(build_judging_forms(find_sessions(options.runs), load_tasks(options.tasks))))
    return 0


def _score(options: argparse.Namespace) -> int:
    from .report import build_report, format_report  # noqa: PLC0415  # as above

    tasks = load_tasks(options.tasks)
    judgements = load_judgements(options.judgements) if options.judgements else {}
    scores, remarks = [], []
    for session in find_sessions(options.runs):
        score = score_session(session, get_task(tasks, session.record.task), judgements)
        if score:
            scores.append(score)
        else:
            end = session.read_outcome()
            reason = end.detail if end else "it goes on"
            remarks.append(f"Left out: {session.record.task}, {session.record.arm}: {reason}")
    if not scores:
        raise ConfigurationError("no session can be scored", hint="; ".join(remarks))
    print(json.dumps(build_report(scores) | {"left_out": remarks}) if options.json else format_report(scores, remarks))
    return 0


def _parse_json(text: str) -> Any:  # noqa: ANN401  # any JSON
    try:
        return json.loads(sys.stdin.read() if text == "-" else text)
    except ValueError as error:
        raise ConfigurationError(f"not valid JSON: {error}") from error


COMMANDS: Final[Mapping[str, Callable[[argparse.Namespace], int]]] = {
    "draw": _draw,
    "list": _list,
    "start": _start,
    "call": _call,
    "answer": _answer,
    "serve": _serve,
    "run": _run,
    "forms": _print_forms,
    "score": _score,
}
"""Commands by name. They return the exit status and raise `CodeRAGError`."""
