"""Agent that is a command line: it gets the prompt, and calls the tools as commands."""

import os
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Final

from coderag.errors import ConfigurationError

from .session import Session, SessionOutcome

_CHECKOUT: Final = Path(__file__).resolve().parents[2]
_MARGIN_S: Final = 30.0
_PROMPT: Final = "{prompt}"


def parse_command(text: str) -> list[str]:
    """Split a command line into arguments.

    Raises:
        ConfigurationError: It is empty, or a quotation mark is missing.
    """
    try:
        arguments = shlex.split(text)
    except ValueError as error:
        raise ConfigurationError(f"--command {text!r}: {error}") from error
    if not arguments:
        raise ConfigurationError("--command is empty", hint="Write the agent's command, such as 'agent -p {prompt}'.")
    return arguments


def run_agent_command(session: Session, prompt: str, command: list[str]) -> SessionOutcome:
    """Run a command until it ends or the session's time is over, and record the end.

    The command runs in an empty folder of the session. ``{prompt}`` in an argument is replaced by the prompt; without it, the
    prompt is the standard input. Its output is kept in ``agent.log``.
    """
    work = session.folder / "work"
    work.mkdir(exist_ok=True)
    arguments = [argument.replace(_PROMPT, prompt) for argument in command]
    paths = [str(_CHECKOUT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with (session.folder / "agent.log").open("wb") as log:
        try:
            process = subprocess.Popen(
                arguments, cwd=work, env=environment, stdin=subprocess.PIPE, stdout=log, stderr=log,
                start_new_session=True, text=True, encoding="utf-8",
            )  # fmt: skip
        except OSError as error:
            return session.finish(f"{arguments[0]} cannot be run: {error.strerror or error}", has_failed=True)
        try:
            process.communicate("" if arguments != command else prompt, session.record.max_seconds + _MARGIN_S)
            detail = f"the agent ended with status {process.returncode} and without an answer"
        except subprocess.TimeoutExpired:
            _kill_group(process)
            detail = f"the agent did not end within {session.record.max_seconds:g} s"
    return session.finish(detail, has_failed=process.returncode > 0 and not session.read_calls())


def _kill_group(process: "subprocess.Popen[str]") -> None:
    """Kill a process and those that it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.wait()
