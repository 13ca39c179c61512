"""Exit codes and HTTP statuses of errors: one table for all interfaces.

A test rejects error classes without a row; at run time they take the row of their nearest base.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from coderag.errors import (
    AmbiguousNameError,
    AuthenticationError,
    CodeRAGError,
    ConfigurationError,
    DatabaseUnavailableError,
    DuplicateNameError,
    ForbiddenRootError,
    GitFetchError,
    GitUnavailableError,
    HistoryError,
    IndexLockedError,
    IndexModelError,
    IndexNotFoundError,
    IndexVersionError,
    IngestionError,
    InvalidQueryError,
    InvalidValueError,
    ModelAuthenticationError,
    ModelError,
    ModelUnavailableError,
    ObjectStorageError,
    ObjectStorageUnavailableError,
    PermissionDeniedError,
    ProviderUnavailableError,
    PublishConflictError,
    QuotaExceededError,
    RetrievalError,
    ServerError,
    ServiceBusyError,
    ServiceError,
    SourceAuthenticationError,
    SourceError,
    SourceUnavailableError,
    StorageFullError,
    StoreError,
    UnknownNameError,
    UnknownRepositoryError,
    UnknownRevisionError,
    UnsupportedLanguageError,
)


@dataclass(frozen=True, slots=True)
class ErrorRow:
    """Exit code and HTTP status of an error class.

    Attributes:
        exit_code: Exit code of the command line.
        meaning: Description of the exit code in the help.
        status: HTTP status.
    """

    exit_code: int
    meaning: str
    status: int


ERROR_TABLE: Final[Mapping[type[CodeRAGError], ErrorRow]] = MappingProxyType(
    {
        CodeRAGError: ErrorRow(1, "other error", 500),
        InvalidQueryError: ErrorRow(2, "invalid command line or query", 422),
        UnknownNameError: ErrorRow(2, "invalid command line or query", 404),
        UnknownRepositoryError: ErrorRow(2, "invalid command line or query", 404),
        AmbiguousNameError: ErrorRow(2, "invalid command line or query", 409),
        ConfigurationError: ErrorRow(3, "invalid settings, or a file that cannot be written", 409),
        IngestionError: ErrorRow(4, "the folder cannot be used or indexed", 422),
        ForbiddenRootError: ErrorRow(4, "the folder cannot be used or indexed", 403),
        UnsupportedLanguageError: ErrorRow(4, "the folder cannot be used or indexed", 422),
        StoreError: ErrorRow(10, "the index on disk cannot be read or written", 503),
        IndexNotFoundError: ErrorRow(11, "no index yet", 404),
        IndexVersionError: ErrorRow(12, "the index has another format", 409),
        IndexModelError: ErrorRow(13, "the index has another embedding model", 409),
        IndexLockedError: ErrorRow(14, "another process is writing the index", 423),
        StorageFullError: ErrorRow(15, "no space left", 507),
        ObjectStorageError: ErrorRow(16, "object storage cannot be used", 502),
        ObjectStorageUnavailableError: ErrorRow(17, "object storage is unreachable", 503),
        PublishConflictError: ErrorRow(18, "another machine has published meanwhile", 409),
        RetrievalError: ErrorRow(20, "the query failed", 422),
        HistoryError: ErrorRow(25, "the history cannot be read", 409),
        UnknownRevisionError: ErrorRow(2, "invalid command line or query", 404),
        ModelError: ErrorRow(30, "a model failed", 502),
        ModelAuthenticationError: ErrorRow(31, "the API key of a model is missing or was rejected", 424),
        ModelUnavailableError: ErrorRow(32, "a model is unreachable", 503),
        SourceError: ErrorRow(35, "a documentation or backlog source failed", 502),
        SourceAuthenticationError: ErrorRow(36, "the credential of a source is missing or was rejected", 424),
        SourceUnavailableError: ErrorRow(37, "a source is unreachable", 503),
        ServiceError: ErrorRow(40, "the service is unavailable", 503),
        ServiceBusyError: ErrorRow(41, "the service is overloaded", 429),
        ServerError: ErrorRow(45, "the team server failed", 500),
        AuthenticationError: ErrorRow(46, "the key or session is not accepted", 401),
        PermissionDeniedError: ErrorRow(47, "the role or grant does not allow it", 403),
        InvalidValueError: ErrorRow(2, "invalid command line or query", 422),
        DuplicateNameError: ErrorRow(48, "the name is taken", 409),
        QuotaExceededError: ErrorRow(41, "the service is overloaded", 429),
        DatabaseUnavailableError: ErrorRow(49, "the database does not answer", 503),
        GitFetchError: ErrorRow(50, "a repository cannot be fetched", 502),
        GitUnavailableError: ErrorRow(51, "a git server is unreachable", 503),
        ProviderUnavailableError: ErrorRow(52, "the sign-in provider does not answer", 503),
    }
)

SUCCESS: Final = 0
USAGE_ERROR: Final = ERROR_TABLE[InvalidQueryError].exit_code
PARTIAL_INDEX: Final = 5
BELOW_THRESHOLD: Final = 6
INTERNAL_ERROR: Final = 70
OUTPUT_ERROR: Final = 74
INTERRUPTED: Final = 130

OTHER_CODES: Final[Mapping[int, str]] = MappingProxyType(
    {
        SUCCESS: "success, even without results",
        PARTIAL_INDEX: "indexed, but some files failed",
        BELOW_THRESHOLD: "a threshold was missed",
        INTERNAL_ERROR: "internal error",
        OUTPUT_ERROR: "the output cannot be written",
        INTERRUPTED: "interrupted",
    }
)
"""Exit codes without a `CodeRAGError`. 70 and 74 are from ``sysexits.h``, 130 is the shell's for Ctrl-C."""


def find_error_row(error: CodeRAGError) -> ErrorRow:
    """Return the row of the error's class or its nearest base."""
    return next(ERROR_TABLE[kind] for kind in type(error).__mro__ if kind in ERROR_TABLE)


def list_exit_codes() -> dict[int, str]:
    """Return all exit codes in ascending order, with their descriptions."""
    codes = {row.exit_code: row.meaning for row in ERROR_TABLE.values()} | dict(OTHER_CODES)
    return dict(sorted(codes.items()))
