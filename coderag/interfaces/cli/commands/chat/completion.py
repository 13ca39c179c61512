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
from coderag.interfaces.cli.commands.chat.slash_commands import COMMANDS
from coderag.interfaces.cli.output.streams import escape_controls

if TYPE_CHECKING:
    from coderag.interfaces.cli.commands.chat.session import ChatSession
    from coderag.stores.corpus import Corpus

_WORD: Final = re.compile(r"[\w./:#$@+~-]+$")
_CODE_WORD: Final = re.compile(r"[/_:#]|\w\.\w|[a-z][A-Z]")
"""What no word of plain English has: such words are completed as they are typed, others when Tab is pressed."""
_MIN_LETTERS = 2  # letters
_MAX_COMPLETIONS = 50


class PrefixIndex:
    """Finds texts by how they begin, in whatever case.

    Args:
        meanings: The texts, and what each means.
    """

    def __init__(self, meanings: Mapping[str, str]) -> None:
        self._meanings = meanings
        self._sorted = sorted((text.casefold(), text) for text in meanings)

    def find_by_prefix(self, prefix: str) -> Iterator[tuple[str, str]]:
        """Yield texts that begin so and what they mean, in order of the alphabet."""
        folded = prefix.casefold()
        for key, text in islice(self._sorted, bisect_left(self._sorted, (folded, "")), None):
            if not key.startswith(folded):
                return
            yield text, self._meanings[text]


class ChatCompleter(Completer):
    """Completes what is typed in a conversation.

    Args:
        talk: The conversation.
    """

    def __init__(self, session: "ChatSession") -> None:
        self._talk = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Yield what the word before the cursor may become."""
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


def _make_completions(prefix: str, choices: Iterable[tuple[str, str]]) -> Iterator[Completion]:
    for text, meaning in choices:
        if text.casefold().startswith(prefix.casefold()):
            yield Completion(escape_controls(text), start_position=-len(prefix), display_meta=escape_controls(meaning))
