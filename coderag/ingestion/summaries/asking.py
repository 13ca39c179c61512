"""Have a language model write sentences: what it is asked, and what of its reply is kept."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from coderag.config.sections import LLMSettings
from coderag.errors import ConfigurationError, ModelError
from coderag.ingestion.summaries.replies import read_reply
from coderag.ingestion.summaries.subjects import Level, Piece
from coderag.models.protocols import LanguageModel
from coderag.prompting import Prompt, Prompts
from coderag.schema.prompts import ModelPrompt
from coderag.stores.summary_cache import SummaryEntry
from coderag.text.path_masking import MaskedPaths
from coderag.text.token_counts import estimate_tokens

REPLY_TOKENS: Final = 45
"""About what a line of a reply takes."""

_PROMPTS: Final[Mapping[Level, str]] = {
    "chunk": "summarize",
    "file": "summarize_file",
    "folder": "summarize_folder",
}
_LONGEST: Final = 6_000  # characters of a piece that are shown: a large chunk's beginning and end
_END: Final = 0.2  # share of that which is its end
_CHARACTERS_A_TOKEN: Final = 2  # at least, of nearly all code: so a piece fits a small context window
_MARGIN: Final = 0.8  # of the context window, because tokens are only estimated
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Guard:
    """What keeps the text of a repository from steering the model.

    Attributes:
        fence: Returns a text, given with its language, so that the model takes it for data.
        findings: Returns how a text addresses a language model, a phrase each.
    """

    fence: Callable[[str, str], str]
    findings: Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Batch:
    """Pieces of one level that are asked for together, and the prompt that does."""

    pieces: Sequence[Piece]
    prompt: ModelPrompt
    tokens: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a batch.

    Attributes:
        faults: What went wrong, by subject.
        error: Why there was no reply at all, if that is so.
    """

    written: Sequence[SummaryEntry] = ()
    faults: Mapping[str, str] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    error: ModelError | None = None


class SentenceWriter:
    """Writes sentences with a language model. Without one it only makes the prompts.

    Args:
        model: The model.
        prompts: Of the repository.
        guard: Keeps the repository's text apart.
        settings: Section ``llm``.
        most: Pieces of a batch, at most.
        paths: How the model sees paths; None shows them as they are.
    """

    def __init__(
        self,
        model: LanguageModel | None,
        prompts: Prompts,
        guard: Guard,
        settings: LLMSettings,
        most: int,
        paths: MaskedPaths | None = None,
    ) -> None:
        self._model = model
        self._prompts = prompts
        self._guard = guard
        self._settings = settings
        self._paths = paths
        window = model.context_window if model else settings.context_window
        self._most = max(1, min(most, settings.max_output_tokens // REPLY_TOKENS))
        self._room = max(256, int(_MARGIN * window) - self._most * REPLY_TOKENS)
        self._longest = min(_LONGEST, self._room * _CHARACTERS_A_TOKEN)

    @property
    def model_name(self) -> str:
        """Name of the model; empty without one."""
        return self._model.name if self._model else ""

    def maker(self, level: Level) -> str:
        """Return who the sentences of a level are kept as made by: the prompt and the model."""
        return f"{self.prompt_key(level)} {self.model_name}"

    def prompt_key(self, level: Level) -> str:
        """Return what tells the prompt of a level from all others."""
        return self._prompt(level).key

    def batches(self, pieces: Iterable[Piece]) -> Iterator[Batch]:
        """Yield pieces of one level in batches that the model can read."""
        some: list[Piece] = []
        tokens = 0
        for piece in pieces:
            more = estimate_tokens(self._rendered(1, piece).encode("utf-8", "replace"))
            if some and (len(some) >= self._most or tokens + more > self._room):
                yield self.batch(some)
                some, tokens = [], 0
            some.append(piece)
            tokens += more
        if some:
            yield self.batch(some)

    def batch(self, pieces: Sequence[Piece]) -> Batch:
        """Return pieces of one level with their prompt."""
        shown = "\n\n".join(self._rendered(number, piece) for number, piece in enumerate(pieces, 1))
        prompt = self._prompt(pieces[0].level).render(pieces=shown)
        return Batch(pieces, prompt, estimate_tokens(prompt.text.encode("utf-8", "replace")))

    async def write(self, batch: Batch) -> Outcome:
        """Return what the model wrote of a batch; an error of the model is part of what came of it."""
        if self._model is None:
            raise ConfigurationError("no language model is configured", hint=NO_MODEL_HINT)
        try:
            completion = await self._model.complete(batch.prompt)
        except ModelError as error:
            return Outcome(faults={piece.subject: str(error) for piece in batch.pieces}, error=error)
        rules = self._prompt(batch.pieces[0].level).template
        reply = read_reply(completion.text, len(batch.pieces), rules, self._guard.findings)
        shares = completion.input_tokens // len(batch.pieces), completion.output_tokens // len(batch.pieces)
        subjects = {number: piece.subject for number, piece in enumerate(batch.pieces, 1)}
        return Outcome(
            written=[
                SummaryEntry(subjects[number], self._unmasked(sentence), *shares)
                for number, sentence in reply.sentences.items()
            ],
            faults={subjects[number]: fault for number, fault in reply.faults.items()},
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
        )

    def expected_cost(self, batch: Batch) -> float | None:
        """Return about what a request will cost, as `cost`."""
        return self.cost(batch.tokens, REPLY_TOKENS * len(batch.pieces))

    def cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """Return what so many tokens cost by the prices of the settings; None if those do not tell."""
        prices = self._settings.price_per_million_input_tokens, self._settings.price_per_million_output_tokens
        if prices == (None, None):
            return None
        return (input_tokens * (prices[0] or 0.0) + output_tokens * (prices[1] or 0.0)) / _MILLION

    def _prompt(self, level: Level) -> Prompt:
        return self._prompts.load(_PROMPTS[level])

    def _rendered(self, number: int, piece: Piece) -> str:
        piece = self._masked(piece)
        return f"{number}. {piece.title}\n{self._guard.fence(_shortened(piece.text, self._longest), piece.language)}"

    def _masked(self, piece: Piece) -> Piece:
        """Return a piece whose paths are masked; code stays as it is."""
        if self._paths is None:
            return piece
        text = piece.text if piece.level == "chunk" else self._paths.hide(piece.text)
        return replace(piece, title=self._paths.hide(piece.title), text=text)

    def _unmasked(self, sentence: str) -> str:
        return self._paths.unmask(sentence) if self._paths else sentence


NO_MODEL_HINT: Final = (
    "Set llm.provider, for example to ollama, in .coderag.yaml (docs/models.md), or import summaries with --from."
)


def _shortened(text: str, longest: int) -> str:
    """Return a text of at most about so many characters: its beginning, and a little of its end."""
    if len(text) <= longest:
        return text
    end = int(longest * _END)
    head, tail = text[: longest - end].rpartition("\n")[0], text[-end:].partition("\n")[2]
    left_out = text.count("\n") - head.count("\n") - tail.count("\n") - 1
    return f"{head or text[: longest - end]}\n[... {max(left_out, 1)} lines left out ...]\n{tail or text[-end:]}"
