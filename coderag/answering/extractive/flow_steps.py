"""Tell a flow: its calls in steps, each with the line of the call, and drawn."""

from coderag.answering.evidence.call_flow import Flow, format_mermaid
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.extractive.wording import Writer, code, code_line, counted, first_sentence


def write_flow(writer: Writer, index: IndexReader, flow: Flow) -> list[str]:
    """Write the steps of a flow and its diagram, and return what was asked for and is not known.

    Args:
        writer: Of the answer.
        index: The open index.
        flow: With at least one step.
    """
    missing = _lead(writer, index, flow)
    writer.heading("Step by step")
    told = {flow.steps[0].source}
    for number, step in enumerate(flow.steps, 1):
        source, target = flow.declarations[step.source], flow.declarations[step.target]
        verb = "calls" if target.kind not in _MADE else "makes a"
        verb = verb if step.is_certain else "may run"
        where = writer.cite(step.line)
        writer.say(f"{number}. {code(source.name)} {verb} {code(target.name)} in {where}: {code_line(step.line.text)}")
        if step.target not in told and (summary := first_sentence(index.summary(target))):
            lines = index.lines_of(target)
            writer.say(f"   - {summary}{f' — {writer.cite(lines)}' if lines else ''}")
        told.add(step.target)
    writer.heading("Diagram")
    writer.code(format_mermaid(flow).split("\n"), "mermaid")
    return missing


_MADE = frozenset({"class", "struct"})


def _lead(writer: Writer, index: IndexReader, flow: Flow) -> list[str]:
    start = flow.declarations[0]
    end = flow.declarations[flow.steps[-1].target]
    head = index.head_of(start)
    first = f"{code(start.name)}{_at(writer, head)}"
    if flow.kind == "path":
        tail = index.head_of(end)
        steps = counted(len(flow.steps), "call")
        writer.say(f"{first} leads to {code(end.name)}{_at(writer, tail)} in {steps}.")
        return []
    if flow.kind == "back":
        writer.say(
            f"The calls lead the other way: {first} leads to {code(end.name)} in {counted(len(flow.steps), 'call')}."
        )
        return [f"No known call leads from {code(end.name)} to {code(start.name)}."]
    if flow.kind == "meeting":
        writer.say(f"Neither of the two leads to the other by known calls. {first} leads to both.")
        return [f"No known call leads from {code(flow.ends.first)} to {code(flow.ends.last)}."] if flow.ends else []
    if flow.ends is None:
        writer.say(f"It begins in {first}.{_summary(index, flow)}")
        return []
    sentence = f"No known calls lead from {code(flow.ends.first)} to {code(flow.ends.last)}."
    writer.say(f"*{sentence}* The nearest that the code graph has begins in {first}.{_summary(index, flow)}")
    return [sentence]


def _summary(index: IndexReader, flow: Flow) -> str:
    summary = first_sentence(index.summary(flow.declarations[0]))
    return f" {summary}" if summary else ""


def _at(writer: Writer, lines: CitedLines | None) -> str:
    return f" ({writer.cite(lines)})" if lines else ""
