"""Write an assembled context as one JSON object, for programs that put it into a prompt."""

import json
from collections.abc import Iterable
from typing import Final

from coderag.retrieval.context_parts import SECTION_NAMES, ContextParts, told_of
from coderag.schema.context import ContextItem

_COMMA: Final = ",\n"


class JsonWriter:
    """A list for each section; each piece of code is an object on a line of its own."""

    def item(self, item: ContextItem) -> str:
        """Return one item."""
        if not item.path:
            return f"{_json(item.text)},\n"
        told = {**told_of(item), "detail": item.detail, "text": item.text}
        return f"{_json({name: value for name, value in told.items() if value})},\n"

    def write(self, parts: ContextParts) -> list[str]:
        """Return the whole text, in parts."""
        told = [f'{{"question": {_json(parts.question)},\n']
        if parts.note:
            told.append(f'"note": {_json(parts.note)},\n')
        for section in parts.sections:
            told += _list(SECTION_NAMES[section.name], map(self.item, section.items))
        left_out = ({"name": one.title, "tokens": one.tokens, "fetch": one.fetch} for one in parts.omitted)
        told += _list("left_out", (f"{_json(one)},\n" for one in left_out)) if parts.omitted else []
        told += [f'"more_left_out": {parts.more_omitted},\n'] if parts.more_omitted else []
        told += [f'"shown_before": {_json([*parts.before])},\n'] if parts.before else []
        told += [f'"more_shown_before": {parts.more_before},\n'] if parts.more_before else []
        return [*told[:-1], f"{told[-1].removesuffix(_COMMA)}}}\n"]


def _list(name: str, entries: Iterable[str]) -> list[str]:
    told = [f'"{name}": [\n', *entries]
    return [*told[:-1], f"{told[-1].removesuffix(_COMMA).rstrip()}\n", "],\n"]


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
