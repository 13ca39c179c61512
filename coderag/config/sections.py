"""Models of the sections of ``.coderag.yaml``: every setting with its bounds, unit and description."""

from typing import Annotated, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    field_validator,
    model_validator,
)

from coderag.schema.vocabulary import ChunkStrategy

MAX_RESULTS = 200


MIN_TOKENS, MAX_TOKENS = 200, 1_000_000


class Section(BaseModel):
    """Base class of the sections: frozen, unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ChunkSettings(Section):
    """Chunking of files."""

    strategy: ChunkStrategy = Field(
        "declaration",
        description="Where files are cut: at declarations, at nodes of the syntax tree, or at any line with overlap.",
    )
    max_tokens: int = Field(
        800, ge=50, le=8_000, description="Largest chunk, in tokens; larger declarations are split."
    )
    min_tokens: int = Field(0, ge=0, le=2_000, description="Smaller neighbours are merged, in tokens.")
    window_tokens: int = Field(1_000, ge=50, le=8_000, description="Size of a window of 'window', in tokens.")
    window_overlap_tokens: int = Field(
        200, ge=0, le=4_000, description="How much of a window the next one repeats, in tokens."
    )

    @model_validator(mode="after")
    def _check_window_overlap(self) -> "ChunkSettings":
        if self.window_overlap_tokens >= self.window_tokens:
            raise ValueError("window_overlap_tokens must be smaller than window_tokens")
        return self


class IngestionSettings(Section):
    """Selection and processing of indexed files."""

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
    """Embedding model for chunks and questions (docs/models.md)."""

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
    """Language model for answers and summaries (docs/models.md). Without one, answers are extracted."""

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
    def _check_output_fits(self) -> "LLMSettings":
        if self.max_output_tokens >= self.context_window:
            raise ValueError("max_output_tokens must be smaller than context_window, which holds prompt and reply")
        return self


class ChatSettings(Section):
    """Storage of conversations, and approval of long prompts (docs/chat.md)."""

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
    """Summaries written by 'coderag enrich' with the language model of 'llm' (docs/summaries.md)."""

    batch: int = Field(8, ge=1, le=64, description="Pieces of code a request, at most.")
    commit_every: int = Field(200, ge=1, le=10_000, description="New summaries after which searches get to see them.")
    max_cost: float | None = Field(None, ge=0, description="What one run may cost, by the prices of 'llm'.")
    count_results: bool = Field(
        True, description="Whether to count what searches return, beside the index, to summarise that first."
    )


class RerankerSettings(Section):
    """Optional reranker of the first results (docs/reranking.md)."""

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
    candidates: int = Field(20, ge=2, le=MAX_RESULTS, description="First results that the model sees, at most.")
    budget_ms: int = Field(2_000, ge=1, le=600_000, description="Milliseconds after which the order stands as it was.")
    context_window: int = Field(8_192, ge=1_024, description="Of 'ollama': the model's context window, in tokens.")
    device: str = Field("cpu", description="Where 'cross-encoder' computes, such as cpu, cuda or mps.")


WEIGHTED_SIGNALS: Final = (
    "lexical", "dense", "cosine", "coverage", "callers", "callees", "definition", "literal", "length", "broad_coverage",
    "broad_length", "path_hints", "frames", "frame_files", "mentioned_path",
    "kind", "role",
    "file_lexical", "file_dense", "path", "file_name", "file_of_name", "file_size",
)  # fmt: skip
"""Features of the ranker, whose weights settings may change (docs/ranking.md)."""


SWITCHABLE_SIGNALS: Final = (
    *WEIGHTED_SIGNALS, "names", "docs", "barrel", "declarations_only", "legacy", "data", "hints", "language",
)  # fmt: skip
"""Names that can be switched off: features, channels and factors of files."""


class SearchSettings(Section):
    """Search and context assembly."""

    top_k: int = Field(10, ge=1, le=MAX_RESULTS, description="Results returned by default.")
    max_per_file: int = Field(
        5,
        ge=1,
        le=100,
        description="Results of one file on a page, at most; a context shows up to three times as many.",
    )
    token_budget: int = Field(
        8_000, ge=MIN_TOKENS, le=MAX_TOKENS, description="Size of an assembled context, in tokens."
    )
    expand_depth: int = Field(2, ge=0, le=5, description="How far related code is followed.")
    max_related: int = Field(10, ge=0, le=100, description="Related pieces of code, at most.")
    disabled_signals: tuple[str, ...] = Field((), description="Ranking signals to switch off, by name.")
    weights: dict[str, Annotated[float, Field(ge=0, le=10)]] = Field(
        {},
        description="Factors on the weights of the ranker's features by name, such as {dense: 1.5, length: 0}.",
    )
    rewrite: Literal["none", "queries", "hypothetical"] = Field(
        "none", description="What the language model of 'llm' adds to a question: other ways to ask, or code like it."
    )

    @field_validator("disabled_signals")
    @classmethod
    def _check_signals(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        unknown = [name for name in names if name not in SWITCHABLE_SIGNALS]
        if unknown:
            raise ValueError(
                f"there is no signal {unknown[0]!r} to switch off; there are: {', '.join(SWITCHABLE_SIGNALS)}"
            )
        return names

    @field_validator("weights")
    @classmethod
    def _check_weights(cls, weights: dict[str, float]) -> dict[str, float]:
        unknown = [name for name in weights if name not in WEIGHTED_SIGNALS]
        if unknown:
            raise ValueError(f"{unknown[0]!r} has no weight; these have one: {', '.join(WEIGHTED_SIGNALS)}")
        return weights


class StorageSettings(Section):
    """Location of the index and its cache."""

    directory: str = Field("", description="Folder of the index; empty means .coderag in the repository.")
    cache_bytes: int = Field(
        512_000_000, ge=0, description="Size of the cache of parsed files and remote vectors, in bytes; 0 is no cache."
    )
    url: str = Field(
        "",
        description="Object storage that machines share the index through, such as s3://bucket/prefix; empty is none.",
    )
    endpoint: str = Field("", description="Address of an S3 server other than AWS, such as https://minio.example.org.")
    region: str = Field("", description="Region of the bucket; empty takes AWS_REGION.")
    access_key_id: str = Field(
        "", description="Name of the access key; empty takes AWS_ACCESS_KEY_ID or the machine's role."
    )
    secret_access_key: SecretStr = Field(
        SecretStr(""), description="Secret of the access key, best as ${NAME}; empty takes AWS_SECRET_ACCESS_KEY."
    )
    timeout_s: float = Field(
        30.0, gt=0, le=3_600, description="Seconds that a request to object storage may take with its repetitions."
    )
    refresh_s: float = Field(60.0, ge=0, description="Seconds after which a search looks for a newer published index.")
    grace_s: float = Field(
        86_400.0,
        ge=1,
        description="Seconds that unused objects stay; the first machine that publishes fixes it for a store.",
    )
    max_copy_bytes: int = Field(
        4_000_000_000,
        ge=0,
        description="Size of the local copy of a published index, in bytes; older generations go first.",
    )


class GraphSettings(Section):
    """Property graph for Cypher queries. No server is needed."""

    store: Literal["embedded", "neo4j", "memgraph"] = Field(
        "embedded", description="'embedded' needs no server; the others are servers."
    )
    url: str = Field("", description="Address of the server, such as bolt://localhost:7687.")
    user: str = Field("", description="User of the server; empty where it asks for none.")
    password: SecretStr = Field(SecretStr(""), description="Password of the server, best as ${NAME}.")
    database: str = Field("", description="Database of the server; empty takes the one called like the server.")
    timeout_s: float = Field(30.0, gt=0, description="Seconds to wait for the server.")


class LineageSettings(Section):
    """History of the code: commits, blame and co-change (docs/history.md)."""

    enabled: bool = Field(True, description="Whether the git history of the repository is read.")
    since: str = Field(
        "", description="Oldest commits to read: a date such as 2020-01-01, or a revision; empty is all of them."
    )


class PrivacySettings(Section):
    """Data that may be sent to model servers, and people in what is shown."""

    obfuscate_paths: bool = Field(
        False,
        description="Replace the names of files and folders by keyed hashes in all that is sent to a model's server.",
    )
    redact_secrets: bool = Field(
        True, description="Replace keys, tokens and passwords in all that is sent to a model's server."
    )
    mask_people: bool = Field(
        False, description="Replace names of people by pseudonyms in what is indexed of tickets, pages and commits."
    )
    key: SecretStr = Field(
        SecretStr(""),
        description="Key of the hashes; empty takes privacy.key in the index's folder, made on first use.",
    )


class TelemetrySettings(Section):
    """OpenTelemetry spans of queries; needs the extra ``telemetry``."""

    traces: Literal["none", "otlp", "global"] = Field(
        "none",
        description="'otlp' sends them where the OTEL_* variables say; 'global' hands them to the program around CodeRAG.",
    )
    queries: bool = Field(False, description="Whether spans may hold the text of questions.")


class ServiceSettings(Section):
    """Warm service for the command line, agents and programs (docs/service.md)."""

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
    record_queries: bool = Field(
        True,
        description="Whether the service keeps the last 500 searches and questions of a repository beside its index.",
    )
    tools: Literal["all", "single"] = Field(
        "all", description="What agents get over MCP: all tools, or the one tool search_codebase."
    )


class WebSettings(Section):
    """Web interface."""

    projection: Literal["pca", "umap"] = Field(
        "pca",
        description="Method of the embedding map; UMAP takes several times as long and needs the extra ``umap``.",
    )
