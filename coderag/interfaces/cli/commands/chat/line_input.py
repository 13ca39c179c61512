"""Chat over piped input, one question a line."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from coderag.errors import CodeRAGError
from coderag.interfaces.cli.commands.chat.transcript import print_verdict
from coderag.interfaces.cli.output.error_report import describe_error, report_error
from coderag.interfaces.cli.output.streams import escape_controls
from coderag.interfaces.json_values import to_mapping

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.chat.session import ChatSession


def answer_lines(session: "ChatSession") -> int:
    """Answer each line of standard input; return the exit code of the first failed question.

    A failed question does not stop the following ones. With JSON, each question yields one output line: its answer or error.
    """
    output, first_code = session.output, 0
    unanswered = session.find_unanswered()
    if unanswered:
        output.note(f"the last question of {session.chat.thread} has no answer: {' '.join(unanswered.split())}")
    for question in _read_questions():
        record = {"thread": session.chat.thread, "asked": question}
        if not output.as_json:
            output.write(f"> {escape_controls(question)}\n")
        try:
            answer = session.ask(question)
        except CodeRAGError as error:
            error_report = describe_error(error)
            assert error_report is not None, "only a reader that is gone is no fault"
            first_code = first_code or error_report.exit_code
            if output.as_json:
                fields = {name: value for name, value in asdict(error_report).items() if name != "candidates" or value}
                output.write_json_line({**record, "error": fields})
            else:
                report_error(error, as_json=False, debug=session.debug)
                output.write("\n")
            continue
        if output.as_json:
            output.write_json_line({**record, **to_mapping(answer)})
        else:
            print_verdict(session)
            output.write("\n")
    return first_code


def _read_questions() -> Iterator[str]:
    """Yield the non-empty lines of standard input."""
    for line in sys.stdin.buffer if sys.stdin is not None else ():
        question = line.decode("utf-8-sig", "replace").strip()
        if question:
            yield question
