"""Sections of an answer about a flow: the whole way in one sentence, then its steps with the lines that show them."""

from collections.abc import Sequence
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.call_flow import Flow, FlowStep
from coderag.answering.evidence.declared import Declared
from coderag.answering.evidence.index_reader import IndexReader
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Part, build_lead
from coderag.answering.extractive.wording import format_code, format_code_line, format_count, join_words

_MAX_HANDOFFS: Final = 2
_CALLS: Final = frozenset({"calls", "dispatches"})


def build_flow(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: the longest chain of the flow, and what is not known of the way."""
    del sections
    flow = answer_input.flow
    if flow is None or (not flow.steps and len(flow.starts) == 1):
        return None
    chain = _find_longest_chain(flow)
    missing = _describe_missing(flow, chain)
    if not chain:
        names = join_words([format_code(flow.declarations[start].name) for start in flow.starts])
        text = f"The likeliest places on the way are {names}; no known call connects them."
        handoffs = _build_handoffs(answer_input.reader, flow, chain)
        return build_lead("flow", DraftStatement([text], is_claim=False), *handoffs, missing=missing or [text])
    first, last = flow.declarations[chain[0].source], flow.declarations[chain[-1].target]
    arrows = " → ".join(format_code(flow.declarations[position].name) for position in _list_stations(chain))
    parts: list[Part] = [
        f"**{arrows}**: {_count_steps(chain)} from ",
        *_build_citation(answer_input.reader, first, format_code(first.name)),
    ]
    parts += [" to ", *_build_citation(answer_input.reader, last, format_code(last.name)), "."]
    return build_lead(
        "flow",
        DraftStatement(parts, "calls"),
        *(DraftStatement([f"*{sentence}*"], is_claim=False) for sentence in missing),
        *_build_handoffs(answer_input.reader, flow, chain),
        missing=missing,
    )


def build_steps(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the steps in the order of the code; where no known call leads on, the flow begins again."""
    flow = answer_input.flow
    if flow is None or not any(section.kind == "flow" for section in sections):
        return None
    reader, statements, placed = answer_input.reader, list[DraftStatement](), set[int]()
    starts = set(flow.starts[1:] if flow.steps else flow.starts)
    for step in flow.steps:
        if step.source in starts:
            statements.append(_build_start(reader, flow, step.source))
            starts.discard(step.source)
            placed.add(step.source)
        statements.append(_build_step(reader, flow, step, is_placed=step.target in placed))
        placed.add(step.target)
    statements += [_build_start(reader, flow, start) for start in flow.starts if start in starts]
    return DraftSection("steps", statements, "Step by step", "steps")


def _build_step(reader: IndexReader, flow: Flow, step: FlowStep, *, is_placed: bool) -> DraftStatement:
    source, target = flow.declarations[step.source], flow.declarations[step.target]
    parts: list[Part] = [f"{format_code(source.name)} {step.verb} "]
    parts += [format_code(target.name)] if is_placed else _build_citation(reader, target, format_code(target.name))
    parts += [" in ", step.line, f": {format_code_line(step.line.text)}"]
    return DraftStatement(parts, "calls" if step.kind in _CALLS else "references")


def _build_start(reader: IndexReader, flow: Flow, start: int) -> DraftStatement:
    declared = flow.declarations[start]
    note = ", to which no known call leads from the steps above" if flow.steps else ""
    return DraftStatement([*_build_citation(reader, declared, format_code(declared.name)), f"{note}."], "declares")


def _build_citation(reader: IndexReader, declared: Declared, text: str) -> list[Part]:
    head = reader.read_head(declared)
    return [f"{text} (", head, ")"] if head else [text]


def _find_longest_chain(flow: Flow) -> list[FlowStep]:
    """Find the longest chain from the start; to the end that the question names, if one leads there."""
    steps_to = {step.target: step for step in flow.steps}
    chains: list[list[FlowStep]] = []
    for step in flow.steps:
        chain = [step]
        while chain[-1].source in steps_to and len(chain) < len(flow.steps):
            chain.append(steps_to[chain[-1].source])
        chains.append(chain[::-1])
    wanted = flow.ends.last if flow.ends else ""
    return max(
        chains, key=lambda chain: (_is_named(flow.declarations[chain[-1].target], wanted), len(chain)), default=[]
    )


def _list_stations(chain: Sequence[FlowStep]) -> list[int]:
    return [chain[0].source, *(step.target for step in chain)]


def _count_steps(chain: Sequence[FlowStep]) -> str:
    if all(step.kind == "calls" and step.is_certain for step in chain):
        return format_count(len(chain), "call")
    unsure = sum(not step.is_certain for step in chain)
    return format_count(len(chain), "step") + (f", {unsure} of them only possible," if unsure else "")


def _build_handoffs(reader: IndexReader, flow: Flow, chain: Sequence[FlowStep]) -> list[DraftStatement]:
    """Build the lines where known calls from one named end leave off, and where the other end takes over."""
    if not _has_gap(flow, chain) or flow.ends is None:
        return []
    gap = reader.find_path_gap(flow.ends.first, flow.ends.last)
    statements = []
    for handoff in gap.handoffs[:_MAX_HANDOFFS] if gap else ():
        if line := reader.read_line(handoff.path, handoff.line):
            name = format_code(handoff.symbol)
            parts: list[Part] = [
                f"From {name} it may go on by a {handoff.kind}: {format_code_line(line.text)} — ",
                line,
            ]
            other = reader.read_line(handoff.other_path, handoff.other_line) if handoff.other_path else None
            parts += [f"; {format_code(handoff.shared)} is also in ", other] if other else []
            statements.append(DraftStatement([*parts, "."], "references"))
    return statements


def _has_gap(flow: Flow, chain: Sequence[FlowStep]) -> bool:
    """Return whether the question names both ends of a flow that no chain joins."""
    if not flow.is_between_names or flow.ends is None:
        return False
    stations = [flow.declarations[position] for position in _list_stations(chain)] if chain else []
    return not (stations and _is_named(stations[0], flow.ends.first) and _is_named(stations[-1], flow.ends.last))


def _describe_missing(flow: Flow, chain: Sequence[FlowStep]) -> list[str]:
    """Describe what is asked for and not known: a way between the ends that the question names, or to a later start."""
    if flow.ends and _has_gap(flow, chain):
        return [f"No known calls lead from {format_code(flow.ends.first)} to {format_code(flow.ends.last)}."]
    if chain and len(flow.starts) > 1:
        apart = join_words([format_code(flow.declarations[start].name) for start in flow.starts[1:]])
        return [f"No known call connects this with {apart}, which the question also matches."]
    return []


def _is_named(declared: Declared, name: str) -> bool:
    return bool(name) and (declared.name == name or declared.name.endswith(f".{name.rpartition('.')[2]}"))
