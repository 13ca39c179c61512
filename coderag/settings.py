"""Settings: arguments > environment (``CODERAG_*``) > ``.coderag.local.yaml`` > ``.coderag.yaml`` > defaults.

All sections are optional. Nested settings take ``__`` in the environment: ``CODERAG_EMBEDDING__PROVIDER=ollama``. In the
files ``${NAME}`` takes a value from the environment. This is the only module that reads the environment for settings.
"""

import os
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from coderag.errors import ConfigurationError
from coderag.key_destinations import refuse_steered_keys
from coderag.own_folder import came_with_repository, folder_elsewhere
from coderag.restrictions import Restriction, read_restricted
from coderag.roots import INDEX_FOLDER
from coderag.schema import ChunkStrategy
from coderag.settings_file import (
    ALL_EXPLAINED,
    SettingsFile,
    broken_variables,
    check_environment,
    is_readable_by_others,
    read_settings_files,
    variable_of,
)
from coderag.settings_names import COMMITTED_FILE, LOCAL_FILE

ENVIRONMENT_PREFIX = "CODERAG_"
MOST_RESULTS = 200
LEAST_TOKENS, MOST_TOKENS = 200, 1_000_000


def environment_key(*variables: str) -> str:
    """Return the key in the first of some environment variables that is set; empty if none is."""
    return next((key for name in variables if (key := os.environ.get(name, "").strip())), "")


class Section(BaseModel):
    """Base of the sections: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ChunkSettings(Section):
    """How files are cut into chunks."""

    strategy: ChunkStrategy = Field(
        "declaration",
        description="Where files are cut: at declarations, at nodes of the syntax tree, or at any line with overlap.",
    )
    max_tokens: int = Field(
        800, ge=50, le=8_000, description="Largest chunk, in tokens; larger declarations are split."
    )
    min_tokens: int = Field(100, ge=0, le=2_000, description="Smaller neighbours are merged, in tokens.")
    window_tokens: int = Field(1_000, ge=50, le=8_000, description="Size of a window of 'window', in tokens.")
    window_overlap_tokens: int = Field(
        200, ge=0, le=4_000, description="How much of a window the next one repeats, in tokens."
    )

    @model_validator(mode="after")
    def _windows_advance(self) -> "ChunkSettings":
        if self.window_overlap_tokens >= self.window_tokens:
            raise ValueError("window_overlap_tokens must be smaller than window_tokens")
        return self


class IngestionSettings(Section):
    """What is indexed and how."""

    max_file_bytes: int = Field(1_000_000, ge=1_000, le=100_000_000, description="Larger files are skipped, in bytes.")
    exclude: tuple[str, ...] = Field((), description="Further patterns to exclude, in gitignore syntax.")
    generated: bool = Field(
        True, description="Whether code whose first lines say that a program wrote it is indexed; it ranks low."
    )
    chunk: ChunkSettings = ChunkSettings()
    workers: int | None = Field(
        None, ge=0, le=64, description="Processes that parse; empty is one a core, 0 parses in the caller's process."
    )
    transformations: tuple[str, ...] = Field(
        (),
        description="LlamaIndex TransformComponents to run on each chunk before embedding, as 'package.module:Class'.",
    )


class EmbeddingSettings(Section):
    """Which dense model embeds chunks and questions (docs/models.md)."""

    provider: Literal["embedded", "ollama", "openai", "voyage", "sentence-transformers", "model2vec"] = Field(
        "embedded",
        description="'embedded' needs nothing; 'openai' is any such endpoint.",
    )
    model: str = Field(
        "",
        description="Name of the model, or its folder where the provider reads one; empty takes the provider's default.",
    )
    base_url: str = Field("", description="Address of the server; empty takes the provider's default.")
    api_key: SecretStr = Field(
        SecretStr(""), description="Key of the server; empty takes the provider's usual variable at its own address."
    )
    api_key_file: str = Field("", description="File that holds the key and that only you may read.")
    dimension: int | None = Field(
        None, ge=1, le=65_536, description="Components of a vector, of a model that can give fewer; empty is all."
    )
    max_tokens: int | None = Field(
        None,
        ge=16,
        le=1_000_000,
        description="Longer texts are cut, in tokens; empty is what the model is known to read.",
    )
    tokenizer: str = Field(
        "",
        description="The model's tokenizer.json, to cut texts for an OpenAI-compatible server; empty counts as OpenAI does.",
    )
    query_prefix: str | None = Field(
        None, description="Put before each question; empty takes what the model is known to want."
    )
    text_prefix: str | None = Field(
        None, description="Put before each text that is embedded; empty takes what the model is known to want."
    )
    device: str = Field("cpu", description="Where 'sentence-transformers' computes, such as cpu, cuda or mps.")
    batch_size: int | None = Field(
        None, ge=1, le=2_048, description="Texts a request, at most; empty takes the provider's default."
    )
    concurrency: int | None = Field(
        None,
        ge=1,
        le=64,
        description="Requests side by side; empty is 4, and 1 for Ollama and servers on this machine.",
    )
    timeout_s: float = Field(60.0, gt=0, description="Seconds to wait for one request.")
    price_per_million_tokens: float | None = Field(
        None, ge=0, description="Price of a million tokens, for the cost that 'coderag index --plan' tells."
    )


class LLMSettings(Section):
    """Which language model writes answers and summaries (docs/models.md). Without one, answers are extracted."""

    provider: Literal["none", "ollama", "openai", "anthropic", "gemini"] = Field(
        "none",
        description="'none' extracts the answer from the evidence; 'openai' is OpenAI and every server that speaks like it.",
    )
    model: str = Field("", description="Model name; empty takes qwen2.5-coder of Ollama. The others need one.")
    base_url: str = Field("", description="Address of the server; empty takes the provider's own.")
    api_key: SecretStr = Field(
        SecretStr(""), description="Key of the server; empty takes the provider's usual variable at its own address."
    )
    api_key_file: str = Field("", description="File that holds the key and that only you may read.")
    timeout_s: float = Field(
        120.0, gt=0, description="Seconds to wait for the first and for each next piece of a reply."
    )
    context_window: int = Field(16_384, ge=1_024, description="The model's context window, in tokens.")
    max_output_tokens: int = Field(2_048, ge=64, le=100_000, description="Size of a reply, in tokens, at most.")
    temperature: float = Field(
        0.1, ge=0, le=2, description="Higher varies more. OpenAI, Anthropic and Gemini take their own unless it is set."
    )
    concurrency: int | None = Field(
        None, ge=1, le=64, description="Requests side by side; empty is 4, and 1 for servers on this machine."
    )
    price_per_million_input_tokens: float | None = Field(
        None,
        ge=0,
        description="Price of a million tokens of prompts, in your currency, for 'coderag enrich --max-cost'.",
    )
    price_per_million_output_tokens: float | None = Field(None, ge=0, description="Likewise of replies.")

    @model_validator(mode="after")
    def _prompts_have_room(self) -> "LLMSettings":
        if self.max_output_tokens >= self.context_window:
            raise ValueError("max_output_tokens must be smaller than context_window, which holds prompt and reply")
        return self


class ChatSettings(Section):
    """Where conversations are kept, and when a person is asked first (docs/chat.md)."""

    memory: Literal["sqlite", "postgres", "none"] = Field(
        "sqlite",
        description="'sqlite' keeps them beside the index, 'postgres' on a server, 'none' only while they go on.",
    )
    url: str = Field("", description="Of 'postgres': postgresql://user@host/database; a password best as ${NAME}.")
    history_tokens: int = Field(
        3_000, ge=200, le=100_000, description="What of the conversation a question carries, in tokens, at most."
    )
    confirm_tokens: int = Field(
        0, ge=0, description="Prompts longer than this, in tokens, are sent only after you agreed; 0 never asks."
    )


class SummarySettings(Section):
    """Summaries by the language model of 'llm', which 'coderag enrich' writes (docs/summaries.md)."""

    batch: int = Field(8, ge=1, le=64, description="Pieces of code a request, at most.")
    commit_every: int = Field(200, ge=1, le=10_000, description="New summaries after which searches get to see them.")
    max_cost: float | None = Field(None, ge=0, description="What one run may cost, by the prices of 'llm'.")
    count_results: bool = Field(
        True, description="Whether to count what searches return, beside the index, to summarise that first."
    )


class RerankerSettings(Section):
    """A model that orders the first results anew (docs/reranking.md). None is needed."""

    provider: Literal["none", "cross-encoder", "ollama"] = Field(
        "none", description="'none' leaves the order of the ranking signals; 'cross-encoder' computes in this process."
    )
    model: str = Field(
        "", description="Folder of a cross-encoder, or name of a model of Ollama's; empty takes qwen2.5-coder there."
    )
    base_url: str = Field("http://localhost:11434", description="Address of the Ollama server.")
    mode: Literal["pointwise", "listwise"] = Field(
        "pointwise", description="Of 'ollama': 'pointwise' scores text by text, 'listwise' orders all in one request."
    )
    candidates: int = Field(20, ge=2, le=MOST_RESULTS, description="First results that the model sees, at most.")
    budget_ms: int = Field(2_000, ge=1, le=600_000, description="Milliseconds after which the order stands as it was.")
    context_window: int = Field(8_192, ge=1_024, description="Of 'ollama': the model's context window, in tokens.")
    device: str = Field("cpu", description="Where 'cross-encoder' computes, such as cpu, cuda or mps.")


WEIGHTED: Final = (
    "lexical", "dense", "names", "dense_path", "docs",
    "definition", "file_of_name", "file_name", "folder_name", "coherence", "coverage", "file_size", "centrality", "length",
    "function",
)  # fmt: skip
"""The channels and the ranking signals that have a weight (docs/ranking.md)."""

SWITCHED: Final = (
    *WEIGHTED, "role", "barrel", "declarations_only", "legacy", "data",
    "frames", "frame_files", "mentions", "mentioned_path", "dense_file", "language",
)  # fmt: skip
"""What can be switched off by name: those, the factors, and what only reports of problems have (docs/reports.md)."""


class SearchSettings(Section):
    """How results are found and packed."""

    fusion: Literal["scores", "rrf"] = Field("scores", description="How the channels' results are combined.")
    rrf_k: int = Field(60, ge=1, le=1_000, description="Constant k of reciprocal rank fusion.")
    top_k: int = Field(10, ge=1, le=MOST_RESULTS, description="Results returned by default.")
    max_per_file: int = Field(
        3, ge=1, le=100, description="Results of one file, at most; a context shows up to four times as many."
    )
    token_budget: int = Field(
        8_000, ge=LEAST_TOKENS, le=MOST_TOKENS, description="Size of an assembled context, in tokens."
    )
    expand_depth: int = Field(2, ge=0, le=5, description="How far related code is followed.")
    max_related: int = Field(10, ge=0, le=100, description="Related pieces of code, at most.")
    disabled_signals: tuple[str, ...] = Field((), description="Ranking signals to switch off, by name.")
    weights: dict[str, Annotated[float, Field(ge=0, le=10)]] = Field(
        {},
        description="Factors on the weights of channels and ranking signals by name, such as {dense: 1.5, length: 0}.",
    )
    rewrite: Literal["none", "queries", "hypothetical"] = Field(
        "none", description="What the language model of 'llm' adds to a question: other ways to ask, or code like it."
    )

    @field_validator("disabled_signals")
    @classmethod
    def _known_signals(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in names if name not in SWITCHED]
        if unknown:
            raise ValueError(f"there is no signal {unknown[0]!r} to switch off; there are: {', '.join(SWITCHED)}")
        return names

    @field_validator("weights")
    @classmethod
    def _known_weights(cls, weights: dict[str, float]) -> dict[str, float]:
        unknown = [name for name in weights if name not in WEIGHTED]
        if unknown:
            raise ValueError(f"{unknown[0]!r} has no weight; these have one: {', '.join(WEIGHTED)}")
        return weights


class StorageSettings(Section):
    """Where the index lives."""

    directory: str = Field("", description="Folder of the index; empty means .coderag in the repository.")
    cache_bytes: int = Field(
        512_000_000, ge=0, description="Size of the cache of parsed files and remote vectors, in bytes; 0 is no cache."
    )


class GraphSettings(Section):
    """Where the code graph can be asked in Cypher. No server is needed."""

    store: Literal["embedded", "neo4j", "memgraph"] = Field(
        "embedded", description="'embedded' needs no server; the others are servers."
    )
    url: str = Field("", description="Address of the server, such as bolt://localhost:7687.")
    user: str = Field("", description="User of the server; empty where it asks for none.")
    password: SecretStr = Field(SecretStr(""), description="Password of the server, best as ${NAME}.")
    database: str = Field("", description="Database of the server; empty takes the one called like the server.")
    timeout_s: float = Field(30.0, gt=0, description="Seconds to wait for the server.")


class PrivacySettings(Section):
    """What servers of models may see."""

    obfuscate_paths: bool = Field(
        False,
        description="Replace the names of files and folders by keyed hashes in all that is sent to a model's server.",
    )
    redact_secrets: bool = Field(
        True, description="Replace keys, tokens and passwords in all that is sent to a model's server."
    )
    key: SecretStr = Field(
        SecretStr(""),
        description="Key of the hashes; empty takes privacy.key in the index's folder, made on first use.",
    )


class TelemetrySettings(Section):
    """Whether queries are written as OpenTelemetry spans, for which the extra ``telemetry`` is needed."""

    traces: Literal["none", "otlp", "global"] = Field(
        "none",
        description="'otlp' sends them where the OTEL_* variables say; 'global' hands them to the program around CodeRAG.",
    )
    queries: bool = Field(False, description="Whether spans may hold the text of questions.")


class ServiceSettings(Section):
    """The warm service behind the command line, agents and programs (docs/service.md)."""

    autostart: bool = Field(
        False, description="Whether a command that finds no service starts one, for the commands after it."
    )
    idle_minutes: float = Field(
        30.0, gt=0, le=10_080, description="Minutes without a request after which a service in the background ends."
    )
    max_repositories: int = Field(
        8, ge=1, le=1_000, description="Repositories kept open; beyond, the least recently used one is closed."
    )
    watch: bool = Field(True, description="Whether the service follows the edits of the repositories that it has open.")
    request_s: float = Field(120.0, gt=0, le=3_600, description="Seconds that a request may take.")
    requests_per_minute: int = Field(
        1_200, ge=1, le=1_000_000, description="Requests that one client may make in a minute."
    )
    tools: Literal["all", "single"] = Field(
        "all", description="What agents get over MCP: all tools, or the one tool search_codebase."
    )


class Settings(BaseSettings):
    """All settings of one repository.

    Args:
        project: Name of the repository in results; empty takes the folder's name.

    Raises:
        ConfigurationError: From `Settings.load`, when a value, key or file cannot be used.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter="__", frozen=True, extra="forbid", populate_by_name=True
    )

    version: Literal[1] = Field(1, description="Version of this file's format.")
    project: str = Field("", description="Name of the repository; empty takes the folder's name.")
    ingestion: IngestionSettings = IngestionSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    llm: LLMSettings = LLMSettings()
    summaries: SummarySettings = SummarySettings()
    chat: ChatSettings = ChatSettings()
    reranker: RerankerSettings = RerankerSettings()
    search: SearchSettings = SearchSettings()
    storage: StorageSettings = StorageSettings()
    graph: GraphSettings = GraphSettings()
    repos: Section = Section()
    docs: Section = Section()
    backlog: Section = Section()
    privacy: PrivacySettings = PrivacySettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    service: ServiceSettings = ServiceSettings()

    _trusted: bool = PrivateAttr(default=True)
    _restrictions: tuple[Restriction, ...] = PrivateAttr(default=())

    @property
    def trusted(self) -> bool:
        """Whether they are of a repository that may configure everything: also its own prompts are used then."""
        return self._trusted

    @property
    def restrictions(self) -> tuple[Restriction, ...]:
        """What of a repository that is not trusted is not used, in the order of its files."""
        return self._restrictions

    @property
    def restricted(self) -> tuple[str, ...]:
        """The same, each as a line: file, line, setting and the reason."""
        return tuple(map(str, self._restrictions))

    @classmethod
    def load(
        cls,
        root: Path,
        *,
        trusted: bool = True,
        **arguments: Any,  # noqa: ANN401  # checked by pydantic against the fields
    ) -> "Settings":
        """Return the settings of the repository at `root`.

        Args:
            root: The repository's folder; ``.coderag.yaml`` and ``.coderag.local.yaml`` are looked for in it.
            trusted: Whether its files may say everything; else only what restricts (docs/trust.md). The environment and
                the arguments always may.
            arguments: Values that win over all others, as in the constructor.

        Raises:
            ConfigurationError: A file, key or value cannot be used, or a key would go where only a file of the repository
                says; the message says which file, line and key.
        """
        files, left_out = (read_settings_files(root), ()) if trusted else read_restricted(root, cls)
        for file in files:
            _refuse_open_secrets(file)
        check_environment(ENVIRONMENT_PREFIX, _known_names(cls))
        merged = SettingsFile.merge(files)
        try:
            settings = _with_file_source(merged)(**arguments)
        except ValidationError as error:
            raise ConfigurationError(_explain(error, files, arguments), hint=_advice(error)) from error
        except SettingsError as error:  # a list or a whole section given as broken JSON in the environment
            names = " or ".join(broken_variables(ENVIRONMENT_PREFIX))
            hint = """Lists and sections are JSON there, such as ["*.sql", "data/"]."""
            raise ConfigurationError(f"environment variable {names}: not valid JSON", hint=hint) from error
        refuse_steered_keys(settings, files, partial(_is_given, arguments))
        return settings if trusted else _of_stranger(settings, root, left_out)


def _of_stranger(settings: Settings, root: Path, left_out: tuple[Restriction, ...]) -> Settings:
    """Return the settings of a repository that is not trusted, with the index elsewhere if it brought one."""
    if not settings.storage.directory and came_with_repository(root):
        elsewhere = str(folder_elsewhere(root))
        reason = f"came with the repository or another installation, and is not believed; the index is in {elsewhere}"
        left_out = (*left_out, Restriction(f"{INDEX_FOLDER}/", "", "", reason))
        storage = settings.storage.model_copy(update={"directory": elsewhere})
        settings = settings.model_copy(update={"storage": storage})
    settings._trusted = False
    settings._restrictions = left_out
    return settings


def _with_file_source(values: Mapping[str, Any]) -> type[Settings]:
    """Return Settings that read `values` below the arguments and the environment."""

    class FileSettings(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[Any, ...]:
            def from_files() -> dict[str, Any]:
                return dict(values)

            del settings_cls, dotenv_settings, file_secret_settings
            return init_settings, env_settings, from_files

    return FileSettings


def _refuse_open_secrets(file: SettingsFile) -> None:
    """Refuse a key or password that stands in a file which git keeps, or which others on this machine can read.

    Raises:
        ConfigurationError: Naming the file, its line and the setting, never the secret.
    """
    written = next((keys for keys in _secret_keys(Settings) if file.has_written(keys)), None)
    if written is None:
        return
    name = ".".join(written)
    place = f"{file.path.name}, line {file.line_of(written)}: {name}"
    if file.path.name == COMMITTED_FILE:
        key_file = f", or name a file that holds it in {name}_file" if written[-1] == "api_key" else ""
        hint = f"Write ${{NAME}} to take it from the environment, move it to {LOCAL_FILE}{key_file}."
        raise ConfigurationError(f"{place}: a secret does not belong in this file, which git keeps", hint=hint)
    if is_readable_by_others(file.path):
        raise ConfigurationError(f"{place}: others can read this file", hint=f"Run `chmod 600 {file.path}`.")


def _secret_keys(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the settings that are secrets."""
    for name, field in model.model_fields.items():
        if field.annotation is SecretStr:
            yield (*above, name)
        elif isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _secret_keys(field.annotation, (*above, name))


def _known_names(model: type[BaseModel], prefix: str = ENVIRONMENT_PREFIX) -> set[str]:
    """Return every environment variable that means a setting."""
    names = set()
    for name, field in model.model_fields.items():
        names.add(prefix + name.upper())
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            names |= _known_names(field.annotation, f"{prefix}{name.upper()}__")
    return names


_FAULTS: Final = {
    "extra_forbidden": "no such key",
    "model_type": "expected a section, of lines 'key: value'",
    "dict_type": "expected a section, of lines 'key: value'",
    "tuple_type": 'expected a list, such as ["a", "b"]',
}
"""What is said of a fault where pydantic speaks of Python's types."""


def _explain(error: ValidationError, files: list[SettingsFile], arguments: Mapping[str, Any]) -> str:
    """Say for each fault where it is (argument, variable, or file and line), which key it is, and what is wrong."""
    faults = []
    for fault in error.errors():
        keys = tuple(str(key) for key in fault["loc"])
        what = _FAULTS.get(fault["type"]) or fault["msg"].lower()
        faults.append(f"{_place(keys, files, arguments)}: {what}")
    return "; ".join(faults)


def _advice(error: ValidationError) -> str:
    """Return the key that a misspelt one is most like, or where all are explained."""
    for fault in error.errors():
        *above, name = map(str, fault["loc"])
        known = _keys_of(Settings, above) if fault["type"] == "extra_forbidden" else ()
        if near := get_close_matches(name, known, n=1):
            return f"Did you mean {'.'.join([*above, *near])}?"
    return ALL_EXPLAINED


def _keys_of(model: type[BaseModel], section: list[str]) -> list[str]:
    """Return the keys that a section has; none if it is no section of fixed ones."""
    for key in section:
        field = model.model_fields.get(key)
        if field is None or not (isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel)):
            return []
        model = field.annotation
    return list(model.model_fields)


def _place(keys: tuple[str, ...], files: list[SettingsFile], arguments: Mapping[str, Any]) -> str:
    """Return which of the sources has the value of a key: the one that wins."""
    name = ".".join(keys)
    if _reaches(arguments, keys):
        return f"argument {name}"
    if variable := variable_of(ENVIRONMENT_PREFIX, keys):
        return f"environment variable {variable}: {name}"
    place = next((f"{file.path.name}, line {line}: " for file in reversed(files) if (line := file.line_of(keys))), "")
    return f"{place}{name}"


def _is_given(arguments: Mapping[str, Any], keys: tuple[str, ...]) -> bool:
    """Whether a setting stands in the arguments or has a variable of its own."""
    return _reaches(arguments, keys) or ENVIRONMENT_PREFIX + "__".join(keys).upper() in os.environ


def _reaches(values: Any, keys: tuple[str, ...]) -> bool:  # noqa: ANN401  # as deep as the values go
    """Whether nested values have something at a key, or a plain value where it would be in a section."""
    for key in keys:
        if not isinstance(values, Mapping):
            return True
        if key not in values:
            return False
        values = values[key]
    return True
