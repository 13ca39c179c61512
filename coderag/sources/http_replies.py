"""Replies of JSON APIs: waits that they ask for, error messages, and their JSON objects."""

import json
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

_MAX_SNIFFED_BYTES = 512
_MESSAGE_KEYS = ("error", "message", "err", "error_description", "detail")


def find_wait_s(status: int, headers: Mapping[str, str]) -> float | None:
    """Return the seconds that a reply asks to wait; None if it asks for nothing.

    ``Retry-After`` counts in seconds or as a date, which is compared with the reply's own ``Date``. With status 429 and
    without it, ``X-RateLimit-Reset`` (Unix seconds) counts.

    Source: RFC 9110, section 10.2.3; https://developer.clickup.com/docs/rate-limits
    """
    value = headers.get("retry-after", "").strip()
    if value:
        try:
            if not value.isdigit():
                value = str((_parse_date(value) - _parse_now(headers)).total_seconds())
            return max(0.0, float(value))
        except (ValueError, OverflowError):
            return None
    reset = headers.get("x-ratelimit-reset", "").strip()
    if status == 429 and reset.isdigit():
        return max(0.0, float(reset) - time.time())
    return None


def is_html(content_type: str, body: bytes) -> bool:
    """Return whether a reply is an HTML page, by its type or its beginning."""
    head = body[:_MAX_SNIFFED_BYTES].lstrip().lower()
    return "html" in content_type.lower() or head.startswith((b"<!doctype html", b"<html"))


def parse_object(body: bytes) -> dict[str, Any] | None:
    """Parse a JSON object; None if the body is anything else. Lone surrogates become question marks."""
    try:
        content = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:  # the standard library accepts lone surrogates, which texts cut in the middle have
            content = orjson.loads(json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
    return content if isinstance(content, dict) else None


def find_message(body: bytes) -> str:
    """Return the message and code of an error reply; empty if it is no JSON object."""
    content = parse_object(body)
    if content is None:
        return ""
    for key in _MESSAGE_KEYS:
        if isinstance(inner := content.get(key), dict):  # Microsoft Graph
            content = inner
            break
    parts = [content.get("code"), content.get("ECODE"), *(content.get(key) for key in _MESSAGE_KEYS)]
    return ": ".join(str(part) for part in parts if isinstance(part, str | int) and part)


def _parse_date(value: str) -> datetime:
    moment = parsedate_to_datetime(value)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _parse_now(headers: Mapping[str, str]) -> datetime:
    """Return the server's time, since this machine's clock may differ."""
    try:
        return _parse_date(headers.get("date", ""))
    except ValueError:
        return datetime.now(UTC)
