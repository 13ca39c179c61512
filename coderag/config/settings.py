"""Settings: arguments > environment (``CODERAG_*``) > ``.coderag.local.yaml`` > ``.coderag.yaml`` > defaults.

Loading goes one way: load the files, restrict what an untrusted repository may say, merge, validate, and reject credentials
that would go where only a file of the repository says. Nested settings take ``__`` in the environment:
``CODERAG_EMBEDDING__PROVIDER=ollama``. In the files ``${NAME}`` takes a value from the environment.
"""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    Field,
    PrivateAttr,
    ValidationError,
)
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from coderag.config.credential_destinations import reject_redirected_credentials
from coderag.config.environment import ENVIRONMENT_PREFIX
from coderag.config.index_origin import find_fallback_folder, is_foreign_index
from coderag.config.open_secrets import reject_exposed_secrets
from coderag.config.repository_root import INDEX_FOLDER
from coderag.config.restrictions import Restriction, read_restricted
from coderag.config.sections import (
    ChatSettings,
    EmbeddingSettings,
    GraphSettings,
    IngestionSettings,
    LineageSettings,
    LLMSettings,
    PrivacySettings,
    RerankerSettings,
    SearchSettings,
    ServiceSettings,
    StorageSettings,
    SummarySettings,
    TelemetrySettings,
    WebSettings,
)
from coderag.config.settings_file import (
    SettingsFile,
    check_environment,
    find_broken_variables,
    read_settings_files,
)
from coderag.config.source_sections import SourceSections
from coderag.config.validation_errors import collect_environment_names, explain_error, is_given, suggest_fix
from coderag.errors import ConfigurationError


class Settings(BaseSettings):
    """All settings of one repository.

    Args:
        project: Name of the repository in results; empty takes the folder's name.

    Raises:
        ConfigurationError: From `Settings.load`, for an invalid value, key or file.
    """

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter="__", frozen=True, extra="forbid", populate_by_name=True
    )

    version: Literal[1] = Field(1, description="Version of this file's format.")
    project: str = Field("", description="Name of the repository; empty takes the folder's name.")
    sources: SourceSections = Field(
        {},
        description="Documentation and backlog systems to mirror, by name; `coderag sources add` writes them.",
    )
    ingestion: IngestionSettings = IngestionSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    llm: LLMSettings = LLMSettings()
    summaries: SummarySettings = SummarySettings()
    chat: ChatSettings = ChatSettings()
    reranker: RerankerSettings = RerankerSettings()
    search: SearchSettings = SearchSettings()
    storage: StorageSettings = StorageSettings()
    graph: GraphSettings = GraphSettings()
    lineage: LineageSettings = LineageSettings()
    privacy: PrivacySettings = PrivacySettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    service: ServiceSettings = ServiceSettings()
    web: WebSettings = WebSettings()

    _trusted: bool = PrivateAttr(default=True)
    _restrictions: tuple[Restriction, ...] = PrivateAttr(default=())

    @property
    def trusted(self) -> bool:
        """Return whether the repository is trusted to configure everything, including its own prompts."""
        return self._trusted

    @property
    def restrictions(self) -> tuple[Restriction, ...]:
        """Restrictions of an untrusted repository, in the order of its files."""
        return self._restrictions

    @property
    def restricted(self) -> tuple[str, ...]:
        """The restrictions as texts: file, line, setting and reason."""
        return tuple(map(str, self._restrictions))

    @classmethod
    def load(
        cls,
        root: Path,
        *,
        trusted: bool = True,
        **arguments: Any,  # noqa: ANN401  # checked by pydantic against the fields
    ) -> "Settings":
        """Load the settings of the repository at `root`.

        Args:
            root: Folder of the repository with ``.coderag.yaml`` and ``.coderag.local.yaml``.
            trusted: Whether its files may set everything; otherwise they may only restrict (docs/trust.md). Environment
                and arguments are always unrestricted.
            arguments: Values that override all others, as in the constructor.

        Raises:
            ConfigurationError: A file, key or value is invalid, or a credential would go to a server named only by the
                repository. The message has file, line and key.
        """
        files, restrictions = (read_settings_files(root), ()) if trusted else read_restricted(root, cls)
        for file in files:
            reject_exposed_secrets(file, cls)
        check_environment(ENVIRONMENT_PREFIX, collect_environment_names(cls))
        merged = SettingsFile.merge(files)
        try:
            settings = _build_file_settings(merged)(**arguments)
        except ValidationError as error:
            raise ConfigurationError(explain_error(error, files, arguments), hint=suggest_fix(error, cls)) from error
        except SettingsError as error:  # invalid JSON of a list or section in the environment
            names = " or ".join(find_broken_variables(ENVIRONMENT_PREFIX))
            hint = """Lists and sections are JSON there, such as ["*.sql", "data/"]."""
            raise ConfigurationError(f"environment variable {names}: not valid JSON", hint=hint) from error
        reject_redirected_credentials(settings, files, partial(is_given, arguments))
        return settings if trusted else _restrict_untrusted(settings, root, restrictions)


def _restrict_untrusted(settings: Settings, root: Path, left_out: tuple[Restriction, ...]) -> Settings:
    """Restrict the settings of an untrusted repository; a foreign index moves the index to the user's cache."""
    if not settings.storage.directory and is_foreign_index(root):
        elsewhere = str(find_fallback_folder(root))
        reason = f"came with the repository or another installation, and is ignored; the index is in {elsewhere}"
        left_out = (*left_out, Restriction(f"{INDEX_FOLDER}/", "", "", reason))
        storage = settings.storage.model_copy(update={"directory": elsewhere})
        settings = settings.model_copy(update={"storage": storage})
    settings._trusted = False
    settings._restrictions = left_out
    return settings


def _build_file_settings(values: Mapping[str, Any]) -> type[Settings]:
    """Make a Settings class that reads `values` with lower priority than arguments and environment."""

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
