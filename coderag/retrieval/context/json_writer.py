"""Context as one JSON object, for programs that build prompts."""

import json
from collections.abc import Iterable
from typing import Final

from coderag.retrieval.context.parts import SECTION_NAMES, ContextParts, item_attributes
from coderag.schema.context import ContextItem

_ENTRY_SEPARATOR: Final = ",\n"


class JsonContextWriter:
    """Writer of a list per section, with one object per line for each item."""

    def format_item(self, item: ContextItem) -> str:
        """Format one item."""
        if not item.path:
            return f"{_to_json(item.text)},\n"
        fields = {**item_attributes(item), "detail": item.detail, "text": item.text}
        return f"{_to_json({name: value for name, value in fields.items() if value})},\n"

    def write(self, parts: ContextParts) -> list[str]:
        """Write the context, in parts."""
        lines = [f'{{"question": {_to_json(parts.question)},\n']
        if parts.note:
            lines.append(f'"note": {_to_json(parts.note)},\n')
        for section in parts.sections:
            lines += _format_list(SECTION_NAMES[section.name], map(self.format_item, section.items))
        omitted = (
            {"name": omission.title, "tokens": omission.tokens, "fetch": omission.fetch} for omission in parts.omitted
        )
        lines += _format_list("left_out", (f"{_to_json(omission)},\n" for omission in omitted)) if parts.omitted else []
        lines += [f'"more_left_out": {parts.unlisted_omitted},\n'] if parts.unlisted_omitted else []
        lines += [f'"shown_before": {_to_json([*parts.shown_before])},\n'] if parts.shown_before else []
        lines += [f'"more_shown_before": {parts.unlisted_before},\n'] if parts.unlisted_before else []
        return [*lines[:-1], f"{lines[-1].removesuffix(_ENTRY_SEPARATOR)}}}\n"]


def _format_list(name: str, entries: Iterable[str]) -> list[str]:
    lines = [f'"{name}": [\n', *entries]
    return [*lines[:-1], f"{lines[-1].removesuffix(_ENTRY_SEPARATOR).rstrip()}\n", "],\n"]


def _to_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
