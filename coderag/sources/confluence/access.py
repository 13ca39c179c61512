"""Readers of Confluence pages: restrictions of a page and of every page above it.

A reader must be allowed by each of them. What cannot be read is private. A page without any restriction is for everyone who may
use the source: the permissions of its space are those of the account, which the source's owner chose.

Source: https://support.atlassian.com/confluence-cloud/docs/manage-permissions-on-the-page-level
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from coderag.errors import SourceAuthenticationError, SourceError
from coderag.schema.items import PRIVATE, PUBLIC, ItemAccess
from coderag.sources.atlassian.client import AtlassianClient, AtlassianStatusError

RESTRICTIONS: Final = "restrictions.read.restrictions.user,restrictions.read.restrictions.group"
"""What a search expands for `AccessResolver.note`, beside ``ancestors``."""

_MAX_IDS: Final = 100  # of one search
_MAX_READERS: Final = 200  # of one page of restrictions
_MAX_READER_PAGES: Final = 100


@dataclass(frozen=True, slots=True)
class _Node:
    """A page: its own readers, None if those are unknown, and the pages above it."""

    own: ItemAccess | None
    ancestors: tuple[str, ...]


class AccessResolver:
    """Resolves the readers of pages, asking for each page above them once.

    Args:
        client: Client of the Confluence.
        search_path: Path of the search by CQL.
    """

    def __init__(self, client: AtlassianClient, search_path: str) -> None:
        self._client = client
        self._search_path = search_path
        self._nodes: dict[str, _Node] = {}

    def note(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Note the restrictions of rows of a search, and ask for those of the pages above them, many at a time."""
        rows = list(rows)
        for row in rows:
            if row.get("type") != "attachment":
                self._nodes[str(row.get("id"))] = self._parse_node(row)
        containers = {find_container(row) for row in rows if row.get("type") == "attachment"} - {""}
        self._fetch(containers)
        pages = {str(row.get("id")) for row in rows} | containers
        self._fetch({ancestor for page in pages if page in self._nodes for ancestor in self._nodes[page].ancestors})

    def resolve(self, page_id: str) -> ItemAccess:
        """Return the readers of a page."""
        node = self._nodes.get(page_id)
        if node is None:
            return PRIVATE
        access = PUBLIC
        for own in (node.own, *(self._find_own(ancestor) for ancestor in node.ancestors)):
            if own is None:
                return PRIVATE
            access = intersect_access(access, own)
        return access

    def _find_own(self, page_id: str) -> ItemAccess | None:
        node = self._nodes.get(page_id)
        return node.own if node else None

    def _fetch(self, page_ids: Iterable[str]) -> None:
        missing = sorted(set(page_ids) - self._nodes.keys())
        for begin in range(0, len(missing), _MAX_IDS):
            ids = missing[begin : begin + _MAX_IDS]
            params = {"cql": f"id in ({','.join(ids)})", "limit": _MAX_IDS, "expand": f"ancestors,{RESTRICTIONS}"}
            try:
                rows = self._client.get(self._search_path, params).get("results") or []
            except AtlassianStatusError:  # an id that the search does not accept, such as a folder's
                rows = []
            for row in rows:
                self._nodes[str(row.get("id"))] = self._parse_node(row)
            for page_id in ids:
                if page_id not in self._nodes:
                    self._nodes[page_id] = _Node(self._read_own(page_id), ())

    def _parse_node(self, row: Mapping[str, Any]) -> _Node:
        page_id = str(row.get("id"))
        ancestors = row.get("ancestors")
        try:
            own = parse_readers(row["restrictions"]["read"]["restrictions"])
        except (KeyError, TypeError):
            own = None
        if own is None:  # not expanded, or more than one page of readers
            own = self._read_own(page_id)
        if ancestors is None and row.get("type") == "page":
            return _Node(None, ())
        return _Node(
            own, tuple(str(ancestor.get("id")) for ancestor in ancestors or () if isinstance(ancestor, Mapping))
        )

    def _read_own(self, page_id: str) -> ItemAccess | None:
        """Read all readers of one page; None if the account may not."""
        path = f"rest/api/content/{page_id}/restriction/byOperation/read"
        users: list[str] = []
        groups: list[str] = []
        for number in range(_MAX_READER_PAGES):
            params = {
                "expand": "restrictions.user,restrictions.group",
                "start": number * _MAX_READERS,
                "limit": _MAX_READERS,
            }
            try:
                restrictions = self._client.get(path, params)["restrictions"]
                page = _parse_page(restrictions)
                is_full = any(len(restrictions[kind]["results"]) >= _MAX_READERS for kind in ("user", "group"))
            except (AtlassianStatusError, SourceAuthenticationError, KeyError, TypeError):
                return None
            users += page.users
            groups += page.groups
            if not is_full:
                return _build_access(users, groups)
        message = f"{self._client.describe(path)}: the pages of its readers do not end"
        raise SourceError(message)


def find_container(row: Mapping[str, Any]) -> str:
    """Return the id of the page of an attachment; empty if the row does not say."""
    container = row.get("container")
    return str(container.get("id", "")) if isinstance(container, dict) else ""


def parse_readers(restrictions: Mapping[str, Any]) -> ItemAccess | None:
    """Parse an expanded restriction; None if it is incomplete.

    Raises:
        KeyError, TypeError: It is not expanded.
    """
    for kind in ("user", "group"):
        part = restrictions[kind]
        size, limit = int(part.get("size", len(part["results"]))), int(part.get("limit") or _MAX_READERS)
        if len(part["results"]) >= limit or size > len(part["results"]):
            return None
    page = _parse_page(restrictions)
    return _build_access(page.users, page.groups)


def intersect_access(first: ItemAccess, second: ItemAccess) -> ItemAccess:
    """Return the readers that both allow. A user is not matched with a group, since its members are unknown."""
    if first.is_public:
        return second
    if second.is_public:
        return first
    users = tuple(user for user in first.users if user in second.users)
    return ItemAccess(users=users, groups=tuple(group for group in first.groups if group in second.groups))


def _parse_page(restrictions: Mapping[str, Any]) -> ItemAccess:
    users = [
        str(user[key])
        for user in restrictions["user"]["results"]
        for key in ("accountId", "username", "email")
        if user.get(key)
    ]
    groups = [str(group["name"]) for group in restrictions["group"]["results"] if group.get("name")]
    has_nameless = len(restrictions["user"]["results"]) + len(restrictions["group"]["results"]) > 0
    # An unnamed reader still restricts the page: an empty name keeps the list from reading as unrestricted.
    return ItemAccess(users=tuple(users or ([""] if has_nameless and not groups else [])), groups=tuple(groups))


def _build_access(users: Iterable[str], groups: Iterable[str]) -> ItemAccess:
    access = ItemAccess(users=tuple(dict.fromkeys(users)), groups=tuple(dict.fromkeys(groups)))
    if not access.users and not access.groups:
        return PUBLIC
    return ItemAccess(users=tuple(filter(None, access.users)), groups=access.groups)
