"""Exceptions of CodeRAG.

::

    CodeRAGError
    ├── ConfigurationError            settings that cannot be used: file, line and key are in the message
    ├── InvalidQueryError             an empty or over-long question
    │   ├── UnknownNameError          no declaration, file or package has that name
    │   │   └── UnknownRepositoryError  no repository that the caller may see has it
    │   └── AmbiguousNameError        several have it
    ├── IngestionError                a repository that cannot be indexed
    │   ├── ForbiddenRootError        a folder outside the allowed ones
    │   └── UnsupportedLanguageError  a language without a query file
    ├── StoreError                    the index on disk
    │   ├── IndexNotFoundError        nothing indexed yet
    │   ├── IndexVersionError         written in another format
    │   ├── IndexModelError           made with another embedding model
    │   ├── IndexLockedError          another process is writing
    │   ├── StorageFullError          no space left on the device
    │   └── ObjectStorageError        object storage that cannot be used
    │       ├── ObjectStorageUnavailableError  unreachable or overloaded (retryable)
    │       └── PublishConflictError  another machine has published meanwhile (retryable)
    ├── RetrievalError                a query that failed inside
    ├── ModelError                    embedding models, LLMs, rerankers
    │   ├── ModelAuthenticationError  key missing or refused
    │   └── ModelUnavailableError     unreachable or overloaded (retryable)
    ├── HistoryError                  a history that cannot be read: no git, no repository, no commits
    │   └── UnknownRevisionError      no commit has that name
    ├── SourceError                   a documentation or backlog system that cannot be used
    │   ├── SourceAuthenticationError a credential missing or refused
    │   └── SourceUnavailableError    unreachable or overloaded (retryable)
    ├── ServiceError                  the warm service cannot be started, reached or used
    │   └── ServiceBusyError          it has too much to do (retryable)
    └── ServerError                   the team server
        ├── AuthenticationError       a key, token or session that is missing, wrong or over
        ├── PermissionDeniedError     a role, grant or scope that does not allow it
        ├── InvalidValueError         a value that cannot be taken
        ├── DuplicateNameError        a name that is taken
        ├── QuotaExceededError        a quota or rate that is used up (retryable)
        ├── DatabaseUnavailableError  the database is away (retryable)
        ├── GitFetchError             a repository that cannot be fetched
        │   └── GitUnavailableError   its git server is unreachable or overloaded (retryable)
        └── ProviderUnavailableError  the OpenID Connect provider is away (retryable)

The message says what failed (component, path or id); ``hint`` says what the reader can do. ``interfaces/_errors.py`` maps
each class to an exit code and an HTTP status.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from coderag.schema.graph import GraphDeclaration


class CodeRAGError(Exception):
    """Base class of all errors of CodeRAG.

    Attributes:
        hint: Advice, one sentence; empty if there is none.
        retryable: Whether the same call may succeed later.
    """

    retryable = False

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def replace_text(self, old: str, new: str) -> None:
        """Replace a text in the message and the hint, such as a folder that the reader may not see."""
        self.args = tuple(part.replace(old, new) if isinstance(part, str) else part for part in self.args)
        self.hint = self.hint.replace(old, new)


def find_error_class(name: str) -> type[CodeRAGError] | None:
    """Find an error class by name, for errors from another process; None if it is unknown."""
    candidate = globals().get(name)
    return candidate if isinstance(candidate, type) and issubclass(candidate, CodeRAGError) else None


class ConfigurationError(CodeRAGError):
    """Invalid settings."""


class InvalidQueryError(CodeRAGError):
    """Invalid query."""


class UnknownNameError(InvalidQueryError):
    """No declaration has the name."""


class UnknownRepositoryError(UnknownNameError):
    """No repository has the name, or the caller may not see it."""


class AmbiguousNameError(InvalidQueryError):
    """Several declarations have the name.

    Attributes:
        candidates: The declarations, most used first.
    """

    def __init__(self, message: str, *, hint: str = "", candidates: "Sequence[GraphDeclaration]" = ()) -> None:
        super().__init__(message, hint=hint)
        self.candidates = tuple(candidates)


class IngestionError(CodeRAGError):
    """The repository cannot be indexed."""


class ForbiddenRootError(IngestionError):
    """The folder is outside the allowed ones."""


class UnsupportedLanguageError(IngestionError):
    """The language has no query file."""


class StoreError(CodeRAGError):
    """The index on disk cannot be read or written."""


class IndexNotFoundError(StoreError):
    """There is no index yet."""


class IndexVersionError(StoreError):
    """The index was written in another format."""


class IndexModelError(StoreError):
    """The index was built with another embedding model."""


class IndexLockedError(StoreError):
    """Another process is writing the index."""

    retryable = True


class StorageFullError(StoreError):
    """No space is left where the index lives."""


class ObjectStorageError(StoreError):
    """Object storage cannot be used, or holds something unusable."""


class ObjectStorageUnavailableError(ObjectStorageError):
    """Object storage is unreachable, overloaded or too slow."""

    retryable = True


class PublishConflictError(ObjectStorageError):
    """Another machine has published a generation that the local one does not build on."""

    retryable = True


class RetrievalError(CodeRAGError):
    """A query failed internally."""


class ModelError(CodeRAGError):
    """An embedding model, an LLM or a reranker failed."""


class ModelAuthenticationError(ModelError):
    """A key is missing or was refused."""


class ModelUnavailableError(ModelError):
    """A model is unreachable, overloaded or missing."""

    retryable = True


class HistoryError(CodeRAGError):
    """The history of a repository cannot be read.

    Attributes:
        state: Reason, see `coderag.schema.lineage.LineageCoverage`; ``failed`` for a command of git that failed.
    """

    def __init__(self, message: str, *, hint: str = "", state: str = "failed") -> None:
        super().__init__(message, hint=hint)
        self.state = state


class UnknownRevisionError(HistoryError):
    """No commit has that name."""


class SourceError(CodeRAGError):
    """A documentation or backlog system cannot be used, or replied with something unusable."""


class SourceAuthenticationError(SourceError):
    """A credential of a source is missing or was refused."""


class SourceUnavailableError(SourceError):
    """A source is unreachable or overloaded."""

    retryable = True


class ServiceError(CodeRAGError):
    """The warm service cannot be started, reached or used."""


class ServiceBusyError(ServiceError):
    """The service has too much to do, or a limit of requests is reached."""

    retryable = True


class ServerError(CodeRAGError):
    """The team server cannot do what was asked."""


class AuthenticationError(ServerError):
    """The key, token or session is missing, wrong, expired or revoked."""


class PermissionDeniedError(ServerError):
    """The caller's role, grants or scopes do not allow the action."""


class InvalidValueError(ServerError):
    """A value of the request cannot be used."""


class DuplicateNameError(ServerError):
    """The name is taken."""


class QuotaExceededError(ServerError):
    """A quota or rate limit is used up.

    Attributes:
        wait_s: Seconds until a request may succeed.
    """

    retryable = True

    def __init__(self, message: str, *, hint: str = "", wait_s: float = 60.0) -> None:
        super().__init__(message, hint=hint)
        self.wait_s = wait_s


class DatabaseUnavailableError(ServerError):
    """The database does not answer."""

    retryable = True


class GitFetchError(ServerError):
    """A repository cannot be fetched from its git server."""


class GitUnavailableError(GitFetchError):
    """The git server of a repository is unreachable, too slow or overloaded."""

    retryable = True


class ProviderUnavailableError(ServerError):
    """The OpenID Connect provider does not answer, or sends something unusable."""

    retryable = True
