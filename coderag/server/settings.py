"""Settings of the team server: arguments > environment (``CODERAG_SERVER_*``) > ``server.yaml`` > defaults."""

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from coderag.config.sections import TelemetrySettings
from coderag.config.validation_errors import collect_environment_names, suggest_fix
from coderag.errors import ConfigurationError
from coderag.system.machine_memory import read_memory_bytes

ENVIRONMENT_PREFIX: Final = "CODERAG_SERVER_"
FILE_NAME: Final = "server.yaml"
_HINT: Final = "Check server.yaml and CODERAG_SERVER_*."
_SECTION: Final = ConfigDict(frozen=True, extra="forbid")


class OidcSettings(BaseModel):
    """Sign-in with an OpenID Connect provider; off without an issuer."""

    model_config = _SECTION

    issuer: str = Field("", description="Issuer's URL, below which `/.well-known/openid-configuration` is.")
    client_id: str = Field("", description="Client id that the provider gave this server.")
    client_secret: SecretStr = Field(SecretStr(""), description="Client secret; empty for a public client.")
    scopes: tuple[str, ...] = Field(("openid", "profile", "email"), description="Scopes to ask for.")
    groups_claim: str = Field("groups", description="Claim with the groups that teams follow.")
    email_domains: tuple[str, ...] = Field((), description="Accept only verified e-mails of these domains; empty: all.")
    default_role: Literal["member", "viewer"] = Field("member", description="Role of an account at its first sign-in.")
    leeway_s: int = Field(60, ge=0, le=600, description="Seconds that clocks may differ.")


class SessionSettings(BaseModel):
    """Sessions of browsers, and tokens of agents."""

    model_config = _SECTION

    hours: float = Field(12.0, gt=0, le=720, description="Hours until a browser has to sign in again.")
    idle_minutes: float = Field(120.0, ge=30, description="Minutes without a request after which a session ends.")
    agent_token_minutes: float = Field(60.0, gt=0, le=1_440, description="Minutes that an agent's token lives.")


class AuditSettings(BaseModel):
    """Record of who did what."""

    model_config = _SECTION

    questions: Literal["hash", "text", "none"] = Field("hash", description="Form in which questions are recorded.")
    retention_days: int = Field(0, ge=0, description="Days after which entries are deleted; 0 keeps all.")
    counter_file: Path | None = Field(
        None, description="File that counts entries, to detect a deleted end; by default in the data folder."
    )


class LimitSettings(BaseModel):
    """Limits on requests; 0 is no limit."""

    model_config = _SECTION

    requests_per_minute: int = Field(1_200, ge=0, description="Requests a minute of one key or session.")
    account_requests_per_minute: int = Field(
        2_400, ge=0, description="Requests a minute of all keys and sessions of one account together."
    )
    team_requests_per_minute: int = Field(12_000, ge=0, description="Requests a minute of a team's members together.")
    requests_per_day: int = Field(0, ge=0, description="Requests a day of one account.")
    team_requests_per_day: int = Field(0, ge=0, description="Requests a day of a team's members together.")
    concurrent_requests: int = Field(128, ge=1, description="Requests at the same time, in one process.")
    account_concurrent_requests: int = Field(
        32,
        ge=1,
        description="Requests at the same time of one account, or of one address without an account, in one process.",
    )
    request_s: float = Field(120.0, gt=0, description="Seconds that a request may take.")


class RepositorySettings(BaseModel):
    """Fetching and indexing of repositories."""

    model_config = _SECTION

    max_megabytes: int = Field(5_000, ge=1, description="Maximum size of a repository with its history.")
    fetch_s: float = Field(1_800.0, gt=0, description="Seconds that a fetch may take.")
    allowed_hosts: tuple[str, ...] = Field(
        (), description="Hosts that may be fetched from although they have private addresses."
    )
    schemes: tuple[Literal["https", "ssh", "http"], ...] = Field(("https", "ssh"), description="Accepted URL schemes.")
    workers: int = Field(1, ge=0, le=64, description="Jobs at the same time, in one process.")
    max_open: int = Field(500, ge=1, description="Repositories open at the same time, in one process.")
    max_open_megabytes: int = Field(
        0,
        ge=0,
        description="Megabytes that open repositories take together, in one process; 0: half of the machine's memory.",
    )

    @property
    def max_open_bytes(self) -> int:
        """Bytes that open repositories take together."""
        return self.max_open_megabytes * 1_000_000 or read_memory_bytes() // 2


class ServerSettings(BaseSettings):
    """Settings of the team server."""

    model_config = SettingsConfigDict(
        env_prefix=ENVIRONMENT_PREFIX, env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    data: Path = Field(Path("coderag-server"), description="Folder of the database, keys, mirrors and indexes.")
    database_url: SecretStr = Field(
        SecretStr(""), description="Database as `postgresql://USER:PASSWORD@HOST/NAME`; empty: SQLite in the folder."
    )
    public_url: str = Field("", description="Address that users see, such as `https://code.example.org`.")
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8_080, ge=0, le=65_535, description="Port to listen on; 0 takes a free one.")
    trusted_proxies: tuple[str, ...] = Field(
        (), description="Addresses of proxies whose `X-Forwarded-For` and `-Proto` are believed."
    )
    metrics_token: SecretStr = Field(
        SecretStr(""), description="Token with which Prometheus reads `/metrics`; empty: only operators read it."
    )
    tls_cert: Path | None = Field(None, description="Certificate, to serve TLS without a proxy.")
    tls_key: Path | None = Field(None, description="Key of the certificate.")
    key_file: Path | None = Field(None, description="Master key; by default in the data folder.")
    oidc: OidcSettings = OidcSettings()
    sessions: SessionSettings = SessionSettings()
    audit: AuditSettings = AuditSettings()
    limits: LimitSettings = LimitSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
    repositories: RepositorySettings = RepositorySettings()

    @property
    def url(self) -> str:
        """URL of the database."""
        return self.database_url.get_secret_value() or f"sqlite:///{self.data.absolute() / 'server.sqlite'}"

    @property
    def repositories_folder(self) -> Path:
        """Folder of mirrors and indexes, one folder a repository, named by its id."""
        return self.data.absolute() / "repositories"

    @classmethod
    def load(cls, file: Path | None = None, **arguments: Any) -> "ServerSettings":  # noqa: ANN401  # checked by pydantic
        """Load the settings.

        Args:
            file: Settings file; None takes ``server.yaml`` in the current folder, if there is one.
            arguments: Values that override all others.

        Raises:
            ConfigurationError: The file cannot be read, or a value is invalid.
        """
        values = _read_file(file or Path(FILE_NAME), is_required=file is not None)
        _check_environment(cls)
        try:
            return cls(_file_values=values, **arguments)  # type: ignore[call-arg]  # taken out below
        except SettingsError as error:
            raise ConfigurationError(str(error), hint=_HINT) from error
        except ValidationError as error:
            suggestion = suggest_fix(error, cls)
            hint = suggestion if suggestion.startswith("Did you mean") else _HINT
            raise ConfigurationError(_format_error(error), hint=hint) from error

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources: arguments, environment, file."""
        del settings_cls, dotenv_settings, file_secret_settings
        arguments = dict(init_settings())
        values = arguments.pop("_file_values", {})
        return (lambda: arguments), env_settings, (lambda: values)  # type: ignore[return-value]  # callables will do


def _read_file(path: Path, *, is_required: bool) -> dict[str, Any]:
    try:
        values = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except FileNotFoundError as error:
        if is_required:
            raise ConfigurationError(f"{path}: no such file", hint="Check --config.") from error
        return {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"{path}: cannot be read: {error}", hint="Check the file.") from error
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path}: is not a mapping of settings", hint="Write `name: value` lines.")
    return values


def _check_environment(model: type[BaseSettings]) -> None:
    """Check that every variable of the server names a setting.

    Raises:
        ConfigurationError: One does not.
    """
    known = collect_environment_names(model, ENVIRONMENT_PREFIX)
    for name in sorted(os.environ):
        if name.upper().startswith(ENVIRONMENT_PREFIX) and name.upper() not in known:
            matches = get_close_matches(name.upper(), known, 1)
            hint = f"Did you mean {matches[0]}?" if matches else _HINT
            raise ConfigurationError(f"the variable {name} is no setting of the server", hint=hint)


def _format_error(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]  # an input may be a secret
    message = "no such setting" if first["type"] == "extra_forbidden" else first["msg"]
    return f"{'.'.join(map(str, first['loc']))}: {message}"
