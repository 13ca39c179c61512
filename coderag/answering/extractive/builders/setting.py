"""Sections of an answer about a setting: its default, the lines that read it, and its documentation."""

from collections.abc import Sequence
from typing import Final

from coderag.answering.evidence.answer_input import AnswerInput
from coderag.answering.evidence.cited_lines import CitedLines
from coderag.answering.evidence.declared import FILE
from coderag.answering.evidence.setting_search import Setting, SettingValue
from coderag.answering.extractive.sections import DraftSection, DraftStatement, Excerpt, Part, build_lead
from coderag.answering.extractive.wording import format_code, format_code_line
from coderag.stores.symbol_table import split_qualified

_MAX_EXCERPT_LINES: Final = 8
_LINES_BEFORE: Final = 2


def build_setting(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the lead: the default with its line, else where the setting is read or documented."""
    del sections
    setting = answer_input.setting
    if setting is None:
        return None
    name = format_code(setting.name)
    if setting.values:
        return build_lead("setting", DraftStatement(_state_values(answer_input, setting), "sets"))
    if setting.readers:
        line = setting.readers[0]
        missing = f"No default of {name} is known."
        excerpt = _build_window(answer_input, line)
        place = excerpt.lines if excerpt else line
        parts: list[Part] = [f"**{name}** is read in {_name_around(answer_input, line)} — ", place, f". {missing}"]
        return build_lead("setting", DraftStatement(parts, "reads", excerpt, is_claim=False), missing=[missing])
    if setting.documented:
        line = setting.documented[0]
        return build_lead(
            "setting",
            DraftStatement([f"**{name}** is documented: {format_code_line(line.text)} — ", line], "documents"),
        )
    return None


def build_readers(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of lines that read the setting, the likeliest with the code around it."""
    if not sections or sections[0].kind != "setting" or (setting := answer_input.setting) is None:
        return None
    readers = setting.readers if setting.values else setting.readers[1:]
    statements = []
    for number, line in enumerate(readers):
        excerpt = _build_window(answer_input, line) if number == 0 and setting.values else None
        text = "" if excerpt else f": {format_code_line(line.text)}"
        cited: list[Part] = [] if excerpt else [" — ", line]
        statements.append(DraftStatement([f"{_name_around(answer_input, line)}{text}", *cited], "reads", excerpt))
    return DraftSection("readers", statements, "Read in") if statements else None


def build_documentation(answer_input: AnswerInput, sections: Sequence[DraftSection]) -> DraftSection | None:
    """Build the list of lines that document the setting."""
    if not sections or sections[0].kind != "setting" or (setting := answer_input.setting) is None:
        return None
    cited = {lines for section in sections for lines in section.cited}
    lines = [line for line in setting.documented if line not in cited]
    statements = [DraftStatement([f"{format_code_line(line.text)} — ", line], "documents") for line in lines]
    return DraftSection("documentation", statements, "Documented in") if statements else None


def _state_values(answer_input: AnswerInput, setting: Setting) -> list[Part]:
    """State the defaults in a sentence, each with its line."""
    first = setting.values[0]
    spelt = (split_qualified(first.name) or [first.name])[-1].strip("$@-")
    same = setting.name.replace("-", "_").endswith(spelt.replace("-", "_"))
    called = "" if same else f" ({format_code(spelt)})"
    parts: list[Part] = [f"**{format_code(setting.name)}**{called} is "]
    for number, value in enumerate(setting.values):
        parts.append("" if not number else ", ")
        parts += _state_value(value)
        if len(setting.values) > 1 and (around := _name_around(answer_input, value.lines)):
            parts.append(f" in {around}")
        elif not number and len(setting.values) == 1:
            parts.append(" by default")
        parts += [" — ", value.lines]
        if value.constant:
            parts += [", ", value.constant]
    return [*parts, "."]


def _state_value(value: SettingValue) -> list[Part]:
    if value.constant:
        return [f"{format_code(value.constant_value)} ({format_code(value.value)})"]
    return [format_code(value.value)]


def _name_around(answer_input: AnswerInput, line: CitedLines) -> str:
    around = answer_input.reader.find_innermost(line.path, line.start_line)
    return format_code(around.path if around.kind == FILE else around.name) if around else format_code(line.path)


def _build_window(answer_input: AnswerInput, line: CitedLines) -> Excerpt | None:
    """Build an excerpt of the lines around one, within its declaration."""
    reader = answer_input.reader
    around = reader.find_innermost(line.path, line.start_line)
    if around is None or around.kind == FILE:
        return None
    first = max(line.start_line - _LINES_BEFORE, around.start_line)
    last = min(first + _MAX_EXCERPT_LINES - 1, around.end_line)
    lines = reader.read_lines(line.path, first, last)
    return Excerpt(lines, [range(first, last + 1)], reader.get_language(line.path)) if lines else None
