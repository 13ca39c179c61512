"""Complete slash commands, paths, and names of declarations."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from coderag.errors import CodeRAGError
from coderag.interfaces.cli._chat_commands import COMMANDS
from coderag.interfaces.cli._streams import visible

if TYPE_CHECKING:
    from coderag.interfaces.cli._chat_talk import Talk
    from coderag.stores.corpus import Corpus

_WORD: Final = re.compile(r"[\w./:#$@+~-]+$")
_OF_CODE: Final = re.compile(r"[/_:#]|\w\.\w|[a-z][A-Z]")
"""What no word of plain English has: such words are completed as they are typed, others when Tab is pressed."""
_LEAST = 2  # letters
_MOST = 50


class Beginnings:
    """Finds texts by how they begin, in whatever case.

    Args:
        meanings: The texts, and what each means.
    """

    def __init__(self, meanings: Mapping[str, str]) -> None:
        self._meanings = meanings
        self._sorted = sorted((text.casefold(), text) for text in meanings)

    def starting(self, beginning: str) -> Iterator[tuple[str, str]]:
        """Yield texts that begin so and what they mean, in order of the alphabet."""
        folded = beginning.casefold()
        for key, text in islice(self._sorted, bisect_left(self._sorted, (folded, "")), None):
            if not key.startswith(folded):
                return
            yield text, self._meanings[text]


class ChatCompleter(Completer):
    """Completes what is typed in a conversation.

    Args:
        talk: The conversation.
    """

    def __init__(self, talk: "Talk") -> None:
        self._talk = talk

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what the word before the cursor may become."""
        typed = document.text_before_cursor
        if typed.startswith("/") and "\n" not in typed:
            name, behind, argument = typed.partition(" ")
            if not behind:
                yield from _completions(name, ((command.name, command.help) for command in COMMANDS.values()))
                if "/" not in name[1:]:
                    return
            elif name in COMMANDS:
                yield from self._arguments(name, argument.lstrip())
                return
        found = _WORD.search(typed)
        if found and len(found[0]) >= _LEAST and (complete_event.completion_requested or _OF_CODE.search(found[0])):
            yield from islice(_completions(found[0], self._names.starting(found[0])), _MOST)

    def _arguments(self, name: str, argument: str) -> Iterator[Completion]:
        choices = COMMANDS[name].choices
        if choices:
            try:
                yield from _completions(argument, choices(self._talk))
            except CodeRAGError:
                return

    @cached_property
    def _names(self) -> Beginnings:
        return Beginnings(names_of(self._talk.context.query.corpus))


def names_of(corpus: "Corpus") -> dict[str, str]:
    """Return all names, qualified names, paths and names of files of an index, and what each is."""
    names: dict[str, str] = {}
    for symbols in corpus.chunk_symbols:
        for symbol in symbols:
            kind = symbol["kind"].replace("_", " ")
            names.setdefault(symbol["qualified_name"], kind)
            names.setdefault(symbol["name"], kind)
    for path in corpus.paths:
        names[path] = "file"
    return names


def _completions(beginning: str, choices: Iterable[tuple[str, str]]) -> Iterator[Completion]:
    for text, meaning in choices:
        if text.casefold().startswith(beginning.casefold()):
            yield Completion(visible(text), start_position=-len(beginning), display_meta=visible(meaning))
