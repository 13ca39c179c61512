"""A conversation whose questions come line by line from a file or another program."""

import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from coderag.errors import CodeRAGError
from coderag.interfaces._plain import as_mapping
from coderag.interfaces.cli._chat_text import print_verdict
from coderag.interfaces.cli._faults import fault_of, report
from coderag.interfaces.cli._streams import visible

if TYPE_CHECKING:
    from coderag.interfaces.cli._chat_talk import Talk


def answer_lines(talk: "Talk") -> int:
    """Answer each line of standard input; return the exit code of the first question that failed.

    A question that fails does not keep the next ones from being answered. With JSON, every question has one line of output,
    which is its answer or its error.
    """
    output, first_code = talk.output, 0
    unanswered = talk.unanswered()
    if unanswered:
        output.note(f"the last question of {talk.chat.thread} has no answer: {' '.join(unanswered.split())}")
    for question in _questions():
        given = {"thread": talk.chat.thread, "asked": question}
        if not output.as_json:
            output.write(f"> {visible(question)}\n")
        try:
            answer = talk.ask(question)
        except CodeRAGError as error:
            fault = fault_of(error)
            assert fault is not None, "only a reader that is gone is no fault"
            first_code = first_code or fault.exit_code
            if output.as_json:
                told = {name: value for name, value in asdict(fault).items() if name != "candidates" or value}
                output.line({**given, "error": told})
            else:
                report(error, as_json=False, debug=talk.debug)
                output.write("\n")
            continue
        if output.as_json:
            output.line({**given, **as_mapping(answer)})
        else:
            print_verdict(talk)
            output.write("\n")
    return first_code


def _questions() -> Iterator[str]:
    """Yield the lines of standard input that are not empty."""
    for line in sys.stdin.buffer if sys.stdin is not None else ():
        question = line.decode("utf-8-sig", "replace").strip()
        if question:
            yield question
