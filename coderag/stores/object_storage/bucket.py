"""Prefix of an S3 bucket, with conditional writes. This module owns `obstore`."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from coderag.config.sections import StorageSettings
from coderag.errors import (
    ConfigurationError,
    ObjectStorageError,
    ObjectStorageUnavailableError,
)

if TYPE_CHECKING:
    from obstore import PutMode
    from obstore.store import ClientConfig, RetryConfig, S3Config, S3Store

_MAX_RETRIES: Final = 10
_URL_HINT: Final = "Write it as s3://bucket/prefix."
_find_status = re.compile(r"status code: (\d{3})").search
_CREDENTIALS_HINT: Final = (
    "Check storage.access_key_id and storage.secret_access_key, or AWS_ACCESS_KEY_ID and its secret."
)
_find_role_request = re.compile(r"Error performing \w+ \S+/latest/(?:api/token|meta-data)").search
"""Finds a failed request for the role of the machine: the client's last resort, when nothing else has credentials."""
_find_code = re.compile(r"<Code>(\w+)</Code>").search
_match_bucket = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]").fullmatch

ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class ObjectInfo:
    """Object of a bucket.

    Attributes:
        key: Key below the prefix.
        size: Size in bytes.
        modified: Time of the last write, by the clock of the store.
    """

    key: str
    size: int
    modified: datetime


class Bucket:
    """Prefix of an S3 bucket.

    Credentials that the settings lack come from the standard environment variables of AWS, or from the machine's role.

    Args:
        settings: Settings with the address and the credentials.

    Raises:
        ConfigurationError: The address is invalid, or the extra is not installed.
    """

    def __init__(self, settings: StorageSettings) -> None:
        self._name, prefix = _parse_url(settings.url)
        self._timeout_s = settings.timeout_s
        store_class = _load_store_class()
        config: S3Config = {}
        if settings.access_key_id:
            config["access_key_id"] = settings.access_key_id
        if secret := settings.secret_access_key.get_secret_value():
            config["secret_access_key"] = secret
        if settings.endpoint:
            config["endpoint"] = _check_endpoint(settings.endpoint)
        if settings.region:
            config["region"] = settings.region
        client: ClientConfig = {"timeout": timedelta(seconds=settings.timeout_s), "allow_http": True}
        retries: RetryConfig = {
            "max_retries": _MAX_RETRIES,
            "retry_timeout": timedelta(seconds=settings.timeout_s),
        }
        self._store: S3Store = store_class(
            self._name, prefix=prefix or None, config=config, client_options=client, retry_config=retries
        )

    def get(self, key: str) -> tuple[bytes, str] | None:
        """Return the content and the ETag of an object; None if it is missing.

        Raises:
            ObjectStorageError: The bucket cannot be read.
        """
        import obstore  # noqa: PLC0415 - an extra

        def read() -> tuple[bytes, str]:
            result = obstore.get(self._store, key)
            return bytes(result.bytes()), result.meta["e_tag"] or ""

        return self._map_errors(read, f"read {key}", absent=None)

    def put(self, key: str, content: bytes) -> None:
        """Write an object, whether or not it exists. Raises `ObjectStorageError`."""
        self._write(key, content, "overwrite")

    def create(self, key: str, content: bytes) -> bool:
        """Write an object unless it exists (``If-None-Match: *``); return whether it was written."""
        return self._write(key, content, "create")

    def replace(self, key: str, content: bytes, etag: str) -> bool:
        """Replace an object if it still has an ETag (``If-Match``); return whether it was written."""
        return self._write(key, content, {"e_tag": etag})

    def stat(self, key: str) -> ObjectInfo | None:
        """Return size and time of an object; None if it is missing."""
        import obstore  # noqa: PLC0415 - an extra

        def read() -> ObjectInfo:
            meta = obstore.head(self._store, key)
            return ObjectInfo(key, meta["size"], meta["last_modified"])

        return self._map_errors(read, f"read {key}", absent=None)

    def list(self, prefix: str) -> Iterator[ObjectInfo]:
        """List the objects of a folder below the prefix, with all subfolders."""
        import obstore  # noqa: PLC0415 - an extra

        pages = iter(obstore.list(self._store, prefix))
        while page := self._map_errors(lambda: next(pages, ()), f"list {prefix}", absent=()):
            yield from (ObjectInfo(meta["path"], meta["size"], meta["last_modified"]) for meta in page)

    def delete(self, keys: Iterable[str]) -> None:
        """Delete objects; missing ones are ignored."""
        import obstore  # noqa: PLC0415 - an extra

        listed = list(keys)
        if listed:
            self._map_errors(lambda: obstore.delete(self._store, listed), "delete objects", absent=None)

    def _write(self, key: str, content: bytes, mode: "PutMode") -> bool:
        import obstore  # noqa: PLC0415 - an extra
        from obstore.exceptions import AlreadyExistsError, PreconditionError  # noqa: PLC0415

        def write() -> bool:
            try:
                obstore.put(self._store, key, content, mode=mode, use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

        # A missing object has no ETag that could match; some stores reply 404 instead of 412.
        absent = False if isinstance(mode, dict) else None
        if (is_written := self._map_errors(write, f"write {key}", absent=absent)) is None:
            raise self._make_missing_error()
        return is_written

    def _map_errors(self, call: Callable[[], ResultT], action: str, *, absent: Any) -> ResultT | Any:  # noqa: ANN401
        from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError  # noqa: PLC0415

        try:
            return call()
        except FileNotFoundError as error:
            if _read_code(error) == "NoSuchBucket":
                raise self._make_missing_error() from None
            return absent
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise self._make_access_error(action, f"access denied ({_read_code(error) or 'no details'})") from None
        except (BaseError, OSError, ValueError) as error:
            if _find_role_request(str(error)):
                details = "there are no credentials in the settings and the environment, and this machine has no role"
                raise self._make_access_error(action, details) from None
            raise self._make_error(error, action) from None  # its text may hold addresses with signatures

    def _make_missing_error(self) -> ObjectStorageError:
        message = f"There is no bucket {self._name}"
        return ObjectStorageError(message, hint="Create it, or correct storage.url.")

    def _make_access_error(self, action: str, details: str) -> ObjectStorageError:
        return ObjectStorageError(f"Cannot {action} in bucket {self._name}: {details}", hint=_CREDENTIALS_HINT)

    def _make_error(self, error: BaseException, action: str) -> ObjectStorageError:
        text, code = str(error), _read_code(error)
        status = int(match[1]) if (match := _find_status(text)) else 0
        if code == "NoSuchBucket":
            return self._make_missing_error()
        message = f"Cannot {action} in bucket {self._name}"
        if status in (429, 503) or code in ("SlowDown", "Throttling", "TooManyRequests"):
            details = f"the store is overloaded ({code or status})"
            return ObjectStorageUnavailableError(f"{message}: {details}", hint="Try again later.")
        if "timed out" in text or "timeout" in text.lower().partition("retry_timeout")[0]:
            details = f"no reply within {self._timeout_s:g} s"
            hint = "Check storage.endpoint and the network, or raise storage.timeout_s."
            return ObjectStorageUnavailableError(f"{message}: {details}", hint=hint)
        if status >= 500:
            return ObjectStorageUnavailableError(f"{message}: the store failed ({code or status})")
        if status:
            return ObjectStorageError(f"{message}: the store refused it ({code or status})")
        hint = "Check storage.endpoint, the network and the credentials."
        return ObjectStorageUnavailableError(f"{message}: the store cannot be reached", hint=hint)


def _load_store_class() -> "type[S3Store]":
    try:
        from obstore.store import S3Store  # noqa: PLC0415 - an extra
    except ImportError as error:
        hint = 'Install it with `pip install "coderag-engine[s3]"`, or remove storage.url.'
        raise ConfigurationError("storage.url needs the extra s3, which is not installed", hint=hint) from error
    return S3Store


def _parse_url(url: str) -> tuple[str, str]:
    """Split an address into bucket and prefix; the message never holds the address, which may contain a key."""
    try:
        parts = urlsplit(url)
        name, port = parts.netloc, parts.port
    except ValueError:
        raise ConfigurationError("storage.url is not an address", hint=_URL_HINT) from None
    if parts.scheme != "s3":
        scheme = f"begins with {parts.scheme!r}, not 's3'" if parts.scheme else "has no 's3://'"
        raise ConfigurationError(f"storage.url {scheme}", hint=_URL_HINT)
    if "@" in name or parts.query or parts.fragment:
        raise ConfigurationError("storage.url may not hold a user name, a key or a query", hint=_URL_HINT)
    if port is not None or not _match_bucket(name):
        message = f"storage.url: {name!r} is not a valid name of a bucket"
        raise ConfigurationError(message, hint=f"{_URL_HINT} A server goes into storage.endpoint.")
    return name, parts.path.strip("/")


def _check_endpoint(endpoint: str) -> str:
    from coderag.config.server_addresses import parse_server_address  # noqa: PLC0415 - only here

    return parse_server_address(endpoint, "storage.endpoint")


def _read_code(error: BaseException) -> str:
    """Return the error code in a reply of the store; empty if it has none."""
    return match[1] if (match := _find_code(str(error))) else ""
