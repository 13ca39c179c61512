"""Completion of slash commands, paths and declaration names."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Final

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from coderag.errors import CodeRAGError
from coderag.interfaces.cli.commands.chat.slash_commands import COMMANDS
from coderag.interfaces.cli.output.streams import escape_controls

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.chat.session import ChatSession
    from coderag.stores.corpus import Corpus

_WORD: Final = re.compile(r"[\w./:#$@+~-]+$")
_CODE_WORD: Final = re.compile(r"[/_:#]|\w\.\w|[a-z][A-Z]")
"""Characters that mark identifiers: such words are completed while typing, others on Tab."""
_MIN_LETTERS = 2  # letters
_MAX_COMPLETIONS = 50


class PrefixIndex:
    """Case-insensitive prefix search over a set of texts.

    Args:
        meanings: The texts with their descriptions.
    """

    def __init__(self, meanings: Mapping[str, str]) -> None:
        self._meanings = meanings
        self._sorted = sorted((text.casefold(), text) for text in meanings)

    def find_by_prefix(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield texts with a prefix and their descriptions, in alphabetical order."""
        folded = prefix.casefold()
        for key, text in islice(self._sorted, bisect_left(self._sorted, (folded, "")), None):
            if not key.startswith(folded):
                return
            yield text, self._meanings[text]


class ChatCompleter(Completer):
    """Completer of chat input.

    Args:
        talk: The conversation.
    """

    def __init__(self, session: "ChatSession") -> None:
        self._talk = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield completions of the word before the cursor."""
        typed = document.text_before_cursor
        if typed.startswith("/") and "\n" not in typed:
            name, separator, argument = typed.partition(" ")
            if not separator:
                yield from _make_completions(name, ((command.name, command.help) for command in COMMANDS.values()))
                if "/" not in name[1:]:
                    return
            elif name in COMMANDS:
                yield from self._complete_argument(name, argument.lstrip())
                return
        word = _WORD.search(typed)
        if (
            word
            and len(word[0]) >= _MIN_LETTERS
            and (complete_event.completion_requested or _CODE_WORD.search(word[0]))
        ):
            yield from islice(_make_completions(word[0], self._name_index.find_by_prefix(word[0])), _MAX_COMPLETIONS)

    def _complete_argument(self, name: str, argument: str) -> Iterator[Completion]:
        choices = COMMANDS[name].list_choices
        if choices:
            try:
                yield from _make_completions(argument, choices(self._talk))
            except CodeRAGError:
                return

    @cached_property
    def _name_index(self) -> PrefixIndex:
        return PrefixIndex(collect_names(self._talk.context.query.corpus))


def collect_names(corpus: "Corpus") -> dict[str, str]:
    """Return all names, qualified names and paths of an index with their kinds."""
    names: dict[str, str] = {}
    for symbols in corpus.chunk_symbols:
        for symbol in symbols:
            kind = symbol["kind"].replace("_", " ")
            names.setdefault(symbol["qualified_name"], kind)
            names.setdefault(symbol["name"], kind)
    for path in corpus.paths:
        names[path] = "file"
    return names


def _make_completions(prefix: str, choices: Iterable[tuple[str, str]]) -> Iterator[Completion]:
    for text, meaning in choices:
        if text.casefold().startswith(prefix.casefold()):
            yield Completion(escape_controls(text), start_position=-len(prefix), display_meta=escape_controls(meaning))
