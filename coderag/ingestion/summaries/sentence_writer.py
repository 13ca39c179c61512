"""Summary requests to a language model: prompts, batches and checked replies."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from coderag.config.sections import LLMSettings
from coderag.errors import ConfigurationError, ModelError
from coderag.ingestion.summaries.reply_parser import parse_reply
from coderag.ingestion.summaries.targets import Level, SummaryTarget
from coderag.models.protocols import LanguageModel
from coderag.prompting import Prompt, Prompts
from coderag.schema.prompts import ModelPrompt
from coderag.stores.summary_cache import SummaryEntry
from coderag.text.path_masking import MaskedPaths
from coderag.text.token_counts import estimate_tokens

TOKENS_PER_SENTENCE: Final = 45
"""Approximate tokens of a line in a reply."""

_PROMPTS: Final[Mapping[Level, str]] = {
    "chunk": "summarize",
    "file": "summarize_file",
    "folder": "summarize_folder",
}
_MAX_TARGET_CHARS: Final = 6_000  # the start and the end of a large chunk are sent
_TAIL_SHARE: Final = 0.2  # share of the end
_MIN_CHARS_PER_TOKEN: Final = 2  # a lower bound for nearly all code, so that a target fits a small context window
_WINDOW_SHARE: Final = 0.8  # of the context window: token counts are estimates
_MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class PromptGuard:
    """Protection against prompt injection by the text of a repository.

    Attributes:
        fence: Fences a text, given with its language, so that the model treats it as data.
        find_injections: Returns the phrases of a text that address a language model.
    """

    fence: Callable[[str, str], str]
    find_injections: Callable[[str], Sequence[str]]


@dataclass(frozen=True, slots=True)
class SummaryBatch:
    """Summary targets of one level in one request, with its prompt."""

    targets: Sequence[SummaryTarget]
    prompt: ModelPrompt
    tokens: int


@dataclass(frozen=True, slots=True)
class BatchOutcome:
    """Result of one request.

    Attributes:
        faults: Reasons for missing sentences, by subject.
        error: The model's error, if there was no reply.
    """

    sentences: Sequence[SummaryEntry] = ()
    faults: Mapping[str, str] = field(default_factory=dict)
    input_tokens: int = 0
    output_tokens: int = 0
    error: ModelError | None = None


class SentenceWriter:
    """Writes summaries with a language model. Without a model it only builds prompts.

    Args:
        model: The model.
        prompts: Prompts of the repository.
        guard: Marks the repository's text as data.
        settings: Section ``llm``.
        max_batch_size: Maximum number of targets in a batch.
        paths: Masks paths in prompts; None keeps them.
    """

    def __init__(
        self,
        model: LanguageModel | None,
        prompts: Prompts,
        guard: PromptGuard,
        settings: LLMSettings,
        max_batch_size: int,
        paths: MaskedPaths | None = None,
    ) -> None:
        self._model = model
        self._prompts = prompts
        self._guard = guard
        self._settings = settings
        self._paths = paths
        window = model.context_window if model else settings.context_window
        self._max_batch_size = max(1, min(max_batch_size, settings.max_output_tokens // TOKENS_PER_SENTENCE))
        self._max_prompt_tokens = max(256, int(_WINDOW_SHARE * window) - self._max_batch_size * TOKENS_PER_SENTENCE)
        self._max_target_chars = min(_MAX_TARGET_CHARS, self._max_prompt_tokens * _MIN_CHARS_PER_TOKEN)

    @property
    def model_name(self) -> str:
        """Name of the model; empty without a model."""
        return self._model.name if self._model else ""

    def get_maker_key(self, level: Level) -> str:
        """Return the cache key of a level's sentences: the prompt and the model."""
        return f"{self.get_prompt_key(level)} {self.model_name}"

    def get_prompt_key(self, level: Level) -> str:
        """Return the key of a level's prompt."""
        return self._load_prompt(level).key

    def build_batches(self, targets: Iterable[SummaryTarget]) -> Iterator[SummaryBatch]:
        """Yield batches of targets of one level that fit the model's context window."""
        batch_targets: list[SummaryTarget] = []
        tokens = 0
        for target in targets:
            target_tokens = estimate_tokens(self._render_target(1, target).encode("utf-8", "replace"))
            if batch_targets and (
                len(batch_targets) >= self._max_batch_size or tokens + target_tokens > self._max_prompt_tokens
            ):
                yield self.build_batch(batch_targets)
                batch_targets, tokens = [], 0
            batch_targets.append(target)
            tokens += target_tokens
        if batch_targets:
            yield self.build_batch(batch_targets)

    def build_batch(self, targets: Sequence[SummaryTarget]) -> SummaryBatch:
        """Build the batch of some targets of one level."""
        rendered = "\n\n".join(self._render_target(number, target) for number, target in enumerate(targets, 1))
        prompt = self._load_prompt(targets[0].level).render(pieces=rendered)
        return SummaryBatch(targets, prompt, estimate_tokens(prompt.text.encode("utf-8", "replace")))

    async def write(self, batch: SummaryBatch) -> BatchOutcome:
        """Send a batch and return the sentences; an error of the model is part of the outcome."""
        if self._model is None:
            raise ConfigurationError("no language model is configured", hint=NO_MODEL_HINT)
        try:
            completion = await self._model.complete(batch.prompt)
        except ModelError as error:
            return BatchOutcome(faults={target.subject: str(error) for target in batch.targets}, error=error)
        rules = self._load_prompt(batch.targets[0].level).template
        reply = parse_reply(completion.text, len(batch.targets), rules, self._guard.find_injections)
        token_shares = completion.input_tokens // len(batch.targets), completion.output_tokens // len(batch.targets)
        subjects = {number: target.subject for number, target in enumerate(batch.targets, 1)}
        return BatchOutcome(
            sentences=[
                SummaryEntry(subjects[number], self._unmask_sentence(sentence), *token_shares)
                for number, sentence in reply.sentences.items()
            ],
            faults={subjects[number]: fault for number, fault in reply.faults.items()},
            input_tokens=completion.input_tokens,
            output_tokens=completion.output_tokens,
        )

    def estimate_cost(self, batch: SummaryBatch) -> float | None:
        """Estimate the cost of a request, in the unit of `compute_cost`."""
        return self.compute_cost(batch.tokens, TOKENS_PER_SENTENCE * len(batch.targets))

    def compute_cost(self, input_tokens: int, output_tokens: int) -> float | None:
        """Compute the cost of tokens by the prices of the settings; None without prices."""
        prices = self._settings.price_per_million_input_tokens, self._settings.price_per_million_output_tokens
        if prices == (None, None):
            return None
        return (input_tokens * (prices[0] or 0.0) + output_tokens * (prices[1] or 0.0)) / _MILLION

    def _load_prompt(self, level: Level) -> Prompt:
        return self._prompts.load(_PROMPTS[level])

    def _render_target(self, number: int, target: SummaryTarget) -> str:
        target = self._mask_target(target)
        text = _shorten_text(target.text, self._max_target_chars)
        return f"{number}. {target.title}\n{self._guard.fence(text, target.language)}"

    def _mask_target(self, target: SummaryTarget) -> SummaryTarget:
        """Return a target with masked paths; code is not masked."""
        if self._paths is None:
            return target
        text = target.text if target.level == "chunk" else self._paths.mask_text(target.text)
        return replace(target, title=self._paths.mask_text(target.title), text=text)

    def _unmask_sentence(self, sentence: str) -> str:
        return self._paths.unmask_text(sentence) if self._paths else sentence


NO_MODEL_HINT: Final = (
    "Set llm.provider, for example to ollama, in .coderag.yaml (docs/models.md), or import summaries with --from."
)


def _shorten_text(text: str, max_chars: int) -> str:
    """Shorten a text to about `max_chars` characters: its start, and some of its end."""
    if len(text) <= max_chars:
        return text
    tail_chars = int(max_chars * _TAIL_SHARE)
    head, tail = text[: max_chars - tail_chars].rpartition("\n")[0], text[-tail_chars:].partition("\n")[2]
    n_omitted_lines = text.count("\n") - head.count("\n") - tail.count("\n") - 1
    marker = f"[... {max(n_omitted_lines, 1)} lines left out ...]"
    return f"{head or text[: max_chars - tail_chars]}\n{marker}\n{tail or text[-tail_chars:]}"
