"""Tables of the server. A change here needs a revision in `storage/migrations`."""

from datetime import date, datetime
from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
)
from sqlalchemy import UniqueConstraint as Unique
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from coderag.server.storage.columns import ID_CHARS, Created, Id, UtcDateTime

_NAME_CHARS: Final = 200
_URL_CHARS: Final = 2_000
_DIGEST_CHARS: Final = 64
_WORD_CHARS: Final = 32

_NAMING: Final = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s",
    "pk": "pk_%(table_name)s",
}


def _refer(column: str) -> ForeignKey:
    return ForeignKey(column, ondelete="CASCADE")


class ServerTable(DeclarativeBase):
    """Base class of the tables."""

    metadata = MetaData(naming_convention=_NAMING)
    type_annotation_map = {datetime: UtcDateTime(), dict[str, Any]: JSON(), list[str]: JSON()}  # noqa: RUF012


class User(ServerTable):
    """An account of a person, or of a program (`kind` `service`). Removing one removes its keys and sessions."""

    __tablename__ = "users"
    __table_args__ = (Unique("oidc_issuer", "oidc_subject", name="uq_users_oidc"),)

    id: Mapped[Id]
    kind: Mapped[str] = mapped_column(String(_WORD_CHARS), default="person")
    name: Mapped[str] = mapped_column(String(_NAME_CHARS))
    email: Mapped[str | None] = mapped_column(String(_NAME_CHARS), unique=True)
    role: Mapped[str] = mapped_column(String(_WORD_CHARS))
    oidc_issuer: Mapped[str | None] = mapped_column(String(_URL_CHARS))
    oidc_subject: Mapped[str | None] = mapped_column(String(_NAME_CHARS))
    is_active: Mapped[bool] = mapped_column(default=True)
    created_at: Mapped[Created]
    seen_at: Mapped[datetime | None]


class Team(ServerTable):
    """A team; its members get its grants. Members of the group `oidc_group` join it when they sign in."""

    __tablename__ = "teams"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(String(_NAME_CHARS), unique=True)
    oidc_group: Mapped[str | None] = mapped_column(String(_NAME_CHARS))
    created_at: Mapped[Created]


class Membership(ServerTable):
    """Membership of an account in a team; `is_from_oidc` ones follow the provider's groups."""

    __tablename__ = "memberships"

    team_id: Mapped[str] = mapped_column(String(ID_CHARS), _refer("teams.id"), primary_key=True)
    user_id: Mapped[str] = mapped_column(String(ID_CHARS), _refer("users.id"), primary_key=True, index=True)
    is_from_oidc: Mapped[bool] = mapped_column(default=False)


class Credential(ServerTable):
    """Credential of a git server. `sealed` is encrypted by a key outside of the database."""

    __tablename__ = "credentials"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(String(_NAME_CHARS), unique=True)
    kind: Mapped[str] = mapped_column(String(_WORD_CHARS))
    host: Mapped[str] = mapped_column(String(_NAME_CHARS))
    details: Mapped[dict[str, Any]] = mapped_column(default=dict)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    created_at: Mapped[Created]


class HostedRepository(ServerTable):
    """A repository by git URL, mirrored below the server's data folder under its id."""

    __tablename__ = "repositories"

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(String(_NAME_CHARS), unique=True)
    url: Mapped[str] = mapped_column(String(_URL_CHARS))
    branch: Mapped[str] = mapped_column(String(_NAME_CHARS), default="")
    credential_id: Mapped[str | None] = mapped_column(ForeignKey("credentials.id", ondelete="RESTRICT"))
    team_id: Mapped[str | None] = mapped_column(ForeignKey("teams.id", ondelete="SET NULL"))
    interval_minutes: Mapped[int] = mapped_column(default=0)
    sealed_webhook_secret: Mapped[bytes | None] = mapped_column(LargeBinary)
    commit: Mapped[str] = mapped_column(String(_DIGEST_CHARS), default="")
    indexed_at: Mapped[datetime | None]
    next_sync_at: Mapped[datetime | None] = mapped_column(index=True)
    created_at: Mapped[Created]


class RepositorySource(ServerTable):
    """A source of documentation or backlog items of a repository; `kind` is one of the two words.

    `sealed_settings` are its settings as in ``.coderag.yaml``, with their credentials; None if that file has them. `items`
    and `error` are those of the last synchronisation, `synced_at` is the time of the last one that got to its end. With
    `needs_reset` the next one begins with an empty mirror.
    """

    __tablename__ = "sources"
    __table_args__ = (Unique("repository_id", "name"),)

    id: Mapped[Id]
    repository_id: Mapped[str] = mapped_column(String(ID_CHARS), _refer("repositories.id"))
    name: Mapped[str] = mapped_column(String(_NAME_CHARS))
    kind: Mapped[str] = mapped_column(String(_WORD_CHARS))
    sealed_settings: Mapped[bytes | None] = mapped_column(LargeBinary)
    synced_at: Mapped[datetime | None]
    items: Mapped[int] = mapped_column(default=0)
    error: Mapped[str] = mapped_column(Text, default="")
    needs_reset: Mapped[bool] = mapped_column(default=False)


class Grant(ServerTable):
    """Level of a team on a repository or a source: exactly one of the two is set."""

    __tablename__ = "grants"
    __table_args__ = (
        CheckConstraint("(repository_id IS NULL) <> (source_id IS NULL)", name="one_subject"),
        Unique("team_id", "repository_id", name="uq_grants_repository"),
        Unique("team_id", "source_id", name="uq_grants_source"),
    )

    id: Mapped[Id]
    team_id: Mapped[str] = mapped_column(String(ID_CHARS), _refer("teams.id"))
    repository_id: Mapped[str | None] = mapped_column(String(ID_CHARS), _refer("repositories.id"), index=True)
    source_id: Mapped[str | None] = mapped_column(String(ID_CHARS), _refer("sources.id"), index=True)
    level: Mapped[int] = mapped_column(Integer)
    created_at: Mapped[Created]


class ApiKey(ServerTable):
    """An API key, or an agent's token (`kind` `agent`). Only a digest of its secret is stored.

    `repository_ids` binds it to repositories; None binds it to none. Agent tokens end with the key that made them.
    """

    __tablename__ = "api_keys"

    id: Mapped[Id]
    user_id: Mapped[str] = mapped_column(String(ID_CHARS), _refer("users.id"), index=True)
    parent_id: Mapped[str | None] = mapped_column(String(ID_CHARS), _refer("api_keys.id"))
    kind: Mapped[str] = mapped_column(String(_WORD_CHARS), default="key")
    name: Mapped[str] = mapped_column(String(_NAME_CHARS))
    prefix: Mapped[str] = mapped_column(String(_WORD_CHARS), unique=True)
    digest: Mapped[str] = mapped_column(String(_DIGEST_CHARS))
    scopes: Mapped[list[str]]
    repository_ids: Mapped[list[str] | None] = mapped_column(JSON(none_as_null=True))
    created_at: Mapped[Created]
    expires_at: Mapped[datetime | None]
    used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class BrowserSession(ServerTable):
    """Session of a signed-in browser, by the digest of its cookie."""

    __tablename__ = "browser_sessions"

    id: Mapped[Id]
    digest: Mapped[str] = mapped_column(String(_DIGEST_CHARS), unique=True)
    previous_digest: Mapped[str | None] = mapped_column(String(_DIGEST_CHARS), unique=True)
    user_id: Mapped[str] = mapped_column(String(ID_CHARS), _refer("users.id"), index=True)
    address: Mapped[str] = mapped_column(String(_NAME_CHARS), default="")
    created_at: Mapped[Created]
    rotated_at: Mapped[Created]
    expires_at: Mapped[datetime]


class SignInAttempt(ServerTable):
    """A sign-in at the OpenID Connect provider that has begun, usable once."""

    __tablename__ = "sign_in_attempts"

    state_digest: Mapped[str] = mapped_column(String(_DIGEST_CHARS), primary_key=True)
    sealed: Mapped[bytes] = mapped_column(LargeBinary)
    expires_at: Mapped[datetime]


class SignInFailures(ServerTable):
    """Failed sign-ins from an address or on a key prefix, which slow the next ones."""

    __tablename__ = "sign_in_failures"

    subject: Mapped[str] = mapped_column(String(_NAME_CHARS), primary_key=True)
    count: Mapped[int] = mapped_column(default=0)
    failed_at: Mapped[datetime]


class Job(ServerTable):
    """A job that fetches and indexes a repository. A worker holds it by a lease that it renews.

    `source_errors` says by their names which sources were not synchronised completely, and why.
    """

    __tablename__ = "jobs"
    __table_args__ = (Index("ix_jobs_queue", "state", "team_id", "created_at"),)

    id: Mapped[Id]
    repository_id: Mapped[str] = mapped_column(String(ID_CHARS), _refer("repositories.id"), index=True)
    team_id: Mapped[str | None] = mapped_column(ForeignKey("teams.id", ondelete="SET NULL"))
    reason: Mapped[str] = mapped_column(String(_WORD_CHARS))
    state: Mapped[str] = mapped_column(String(_WORD_CHARS), default="queued")
    attempts: Mapped[int] = mapped_column(default=0)
    worker: Mapped[str] = mapped_column(String(_NAME_CHARS), default="")
    leased_until: Mapped[datetime | None]
    not_before: Mapped[datetime | None]
    progress: Mapped[dict[str, Any]] = mapped_column(default=dict)
    error: Mapped[str] = mapped_column(Text, default="")
    source_errors: Mapped[dict[str, Any]] = mapped_column(default=dict)
    commit: Mapped[str] = mapped_column(String(_DIGEST_CHARS), default="")
    created_at: Mapped[Created]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]


class WebhookDelivery(ServerTable):
    """A delivery that was taken, so that a repeated one does nothing."""

    __tablename__ = "webhook_deliveries"

    repository_id: Mapped[str] = mapped_column(String(ID_CHARS), _refer("repositories.id"), primary_key=True)
    delivery: Mapped[str] = mapped_column(String(_NAME_CHARS), primary_key=True)
    received_at: Mapped[Created]


class DailyUsage(ServerTable):
    """Requests of a key, account or team on one day, for quotas."""

    __tablename__ = "usage"

    day: Mapped[date] = mapped_column(primary_key=True)
    subject: Mapped[str] = mapped_column(String(_NAME_CHARS), primary_key=True)
    requests: Mapped[int] = mapped_column(BigInteger, default=0)


class AuditEntry(ServerTable):
    """A line of the audit record. `mac` covers the line and the one before it; no row is ever changed.

    It refers to no other table, so that it outlives what it names.
    """

    __tablename__ = "audit_entries"

    sequence: Mapped[int] = mapped_column(
        BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False
    )
    time: Mapped[datetime] = mapped_column(index=True)
    actor_id: Mapped[str] = mapped_column(String(ID_CHARS), index=True)
    actor: Mapped[str] = mapped_column(String(_NAME_CHARS))
    credential_id: Mapped[str] = mapped_column(String(ID_CHARS))
    address: Mapped[str] = mapped_column(String(_NAME_CHARS))
    action: Mapped[str] = mapped_column(String(_NAME_CHARS), index=True)
    repository_id: Mapped[str] = mapped_column(String(ID_CHARS), index=True)
    outcome: Mapped[str] = mapped_column(String(_WORD_CHARS))
    detail: Mapped[str] = mapped_column(Text)
    mac: Mapped[str] = mapped_column(String(_DIGEST_CHARS))
