"""Confluence and Jira on this machine, Cloud and Data Center, as their documentation describes them.

Sources: https://developer.atlassian.com/cloud/confluence/rest/v1, https://developer.atlassian.com/server/confluence/rest,
https://developer.atlassian.com/cloud/jira/platform/rest/v3, https://docs.atlassian.com/software/jira/docs/api/REST
"""

import base64
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from zoneinfo import ZoneInfo

from coderag.sources.atlassian.client import AtlassianClient, AtlassianLogin
from coderag.sources.confluence.connector import ConfluenceSource
from coderag.sources.http_client import RequestPolicy
from coderag.sources.jira.connector import JiraSource
from tests.loopback import LoopbackServer, Reply, Request

EMAIL = "ann@example.org"
SECRET = "ATATT3-secret-token"  # of these servers
LOGIN_PAGE = Reply(
    "<!DOCTYPE html><html><form>Login <input type=password></form></html>", headers={"Content-Type": "text/html"}
)

Rows = list[tuple[datetime, str, dict[str, Any]]]


class AtlassianServer(LoopbackServer):
    """What both have in common: credentials, zones, and pages by token or offset.

    Attributes:
        zone: Zone of the user's profile, as the server states it; None if it does not.
        query_zone: Zone in which times of a query are read.
        page_size: Largest page.
        expired: Tokens that are refused once.
        before_page: Called before each page of a search, with its number, for changes in between.
        secret: The credential that is accepted, or a text that nobody has.
    """

    def __init__(self, *, is_cloud: bool) -> None:
        super().__init__()
        self.is_cloud = is_cloud
        self.zone: str | None = "UTC"
        self.query_zone = "UTC"
        self.page_size = 50
        self.expired: set[str] = set()
        self.before_page: Callable[[int], None] | None = None
        self.searches = 0
        self.secret = SECRET
        self._loops = False
        self._refuses = False
        self._clock = datetime(2026, 1, 1, tzinfo=UTC)

    @property
    def request_count(self) -> int:
        return len(self.requests)

    def fail_next(
        self, status: int, headers: Mapping[str, str] | None = None, body: bytes = b"", *, times: int = 1
    ) -> None:
        """Answer the next requests with a status."""
        self.next(*[Reply(body, status, headers or {})] * times)

    def refuse_key(self, *, refuses: bool = True) -> None:
        """Refuse the credential, or accept it again."""
        self._refuses = refuses

    def loop_pages(self, *, loops: bool = True) -> None:
        """Answer requests for a next page with the first one."""
        self._loops = loops

    def tick(self) -> datetime:
        """Return the time of the next change."""
        self._clock += timedelta(seconds=7)
        return self._clock

    def respond(self, request: Request) -> Reply:
        basic = base64.b64encode(f"{EMAIL}:{self.secret}".encode()).decode()
        expected = f"Basic {basic}" if self.is_cloud else f"Bearer {self.secret}"
        if self._refuses or request.headers.get("authorization") != expected:
            return Reply({"message": f"wrong credential {self.secret}"}, 401)
        parts = urlsplit(request.path)
        return self.route(unquote(parts.path), dict(parse_qsl(parts.query)), request.body or {})

    def route(self, path: str, params: dict[str, str], body: dict[str, Any]) -> Reply:
        raise NotImplementedError

    def read_time(self, literal: str) -> datetime:
        """Read a time of a query; of an hour that occurs twice, the second."""
        return datetime.strptime(literal, "%Y-%m-%d %H:%M").replace(tzinfo=ZoneInfo(self.query_zone), fold=1)

    def cut(self, rows: Rows, limit: int, token: str | None, start: int) -> tuple[Rows, str | None, bool]:
        """Return the rows of a page, the token of the next one, and whether there is a next one."""
        self.searches += 1
        if self._loops and (token or start):
            page, token, _ = self.cut(rows, limit, None, 0)
            return page, token, True
        if token:
            rows = [row for row in rows if f"{row[0].isoformat()} {row[1]}" > token]
        rows = rows[start:]
        page = rows[: min(limit, self.page_size)]
        has_next = len(rows) > len(page)
        return page, f"{page[-1][0].isoformat()} {page[-1][1]}" if has_next and page else None, has_next

    def is_expired(self, token: str | None) -> bool:
        """Return whether a token has expired; the one of a new search has not."""
        is_expired = token in self.expired
        self.expired.discard(token or "")
        return is_expired

    def note_page(self) -> None:
        if self.before_page:
            self.before_page(self.searches)


class ConfluenceServer(AtlassianServer):
    """Spaces with contents.

    Attributes:
        contents: Rows by id, fully expanded; `files` has the bytes of attachments.
        unsearchable: Ids that no search returns, such as folders.
        broken_files: Ids and names of attachments whose download always fails.
        poisonous: Ids whose expansions fail the page that they are on.
    """

    def __init__(self, *, is_cloud: bool) -> None:
        super().__init__(is_cloud=is_cloud)
        self.spaces = {"DOCS": "Documentation"}
        self.contents: dict[str, dict[str, Any]] = {}
        self.files: dict[str, bytes] = {}
        self.unsearchable: set[str] = set()
        self.poisonous: set[str] = set()
        self.broken_files: set[str] = set()
        self.prefix = "/wiki" if is_cloud else ""

    def put(self, content_id: str, title: str = "", body: str = "", **more: Any) -> None:
        """Create or change a page: `modified`, `parents`, `users`, `groups`, `labels`, `space`, `kind`, `status`, `page`."""
        before = self.contents.get(content_id, {})
        modified: datetime = more.get("modified", datetime(2026, 1, 1, tzinfo=UTC))
        space = more.get("space", "DOCS")
        row: dict[str, Any] = {
            "id": content_id, "type": more.get("kind", "page"), "status": more.get("status", "current"),
            "title": title or f"Page {content_id}",
            "body": {"storage": {"value": body, "representation": "storage"}},
            "version": {"number": before.get("version", {}).get("number", 0) + 1, "when": _format(modified),
                        "by": {"displayName": "Ed Itor"}},
            "history": {"createdDate": before.get("history", {}).get("createdDate") or _format(modified),
                        "createdBy": {"displayName": "Ann Author"}},
            "space": {"key": space, "name": self.spaces.get(space, space)},
            "ancestors": [{"id": parent, "title": f"Page {parent}"} for parent in more.get("parents", ())],
            "metadata": {"labels": {"results": [{"name": label} for label in more.get("labels", ())]}},
            "restrictions": {"read": {"operation": "read", "restrictions": {
                "user": _page([{"accountId" if self.is_cloud else "username": user} for user in more.get("users", ())]),
                "group": _page([{"name": group} for group in more.get("groups", ())]),
            }}},
            "_links": {"webui": f"/spaces/{space}/pages/{content_id}"},
        }  # fmt: skip
        if row["type"] == "attachment":
            row["container"] = {"id": more["page"], "title": f"Page {more['page']}"}
            row["extensions"] = {"fileSize": len(self.files.get(content_id, b""))}
            row["_links"]["download"] = f"/download/attachments/{more['page']}/{quote(title)}?version=1"
            del row["restrictions"]
        self.contents[content_id] = row

    def add_item(self, title: str, text: str) -> str:
        content_id = str(1_000 + len(self.contents))
        self.put(content_id, title, f"<p>{text}</p>", modified=self.tick())
        return content_id

    def change_item(self, item_id: str, text: str) -> None:
        row = self.contents[item_id]
        parents = [ancestor["id"] for ancestor in row["ancestors"]]
        self.put(item_id, row["title"], f"<p>{text}</p>", modified=self.tick(), parents=parents)

    def delete_item(self, item_id: str) -> None:
        self.contents[item_id]["status"] = "trashed"

    def move_item(self, item_id: str) -> None:
        """Move a page below another one and on, which changes no version."""
        for parent in [id_ for id_ in self.contents if id_ != item_id][:2]:
            self.contents[item_id]["ancestors"] = [{"id": parent, "title": f"Page {parent}"}]

    def attach(self, content_id: str, page: str, name: str, data: bytes, **more: Any) -> None:
        """Attach a file to a page."""
        self.files[content_id] = data
        self.put(content_id, name, kind="attachment", page=page, **more)

    def route(self, path: str, params: dict[str, str], body: dict[str, Any]) -> Reply:
        path = path.removeprefix(self.prefix)
        if path == "/rest/api/content/search":
            self.note_page()
            return self._search(params)
        if path == "/rest/api/user/current":
            return Reply({"displayName": "Ann", "timeZone": self.zone})
        if path == "/api/v2/spaces" and self.is_cloud:
            key = params["keys"]
            return Reply({"results": [{"key": key, "name": self.spaces[key]}] if key in self.spaces else []})
        if (match := re.fullmatch(r"/rest/api/space/(\w+)", path)) and not self.is_cloud:
            name = self.spaces.get(match[1])
            return Reply({"key": match[1], "name": name}) if name else Reply({"message": "No space found"}, 404)
        if match := re.fullmatch(r"/rest/api/content/(\w+)/restriction/byOperation/read", path):
            return self._list_readers(match[1], int(params["start"]), int(params["limit"]))
        pattern = (
            r"/rest/api/content/\w+/child/attachment/(\w+)/download"
            if self.is_cloud
            else r"/download/attachments/\w+/(.+)"
        )
        if match := re.fullmatch(pattern, path):
            name = match[1]
            if name in self.broken_files:
                return Reply({"message": "cannot read the file"}, 500)
            ids = [id_ for id_, row in self.contents.items() if name in {id_, row["title"]} and id_ in self.files]
            return Reply(self.files[ids[0]], headers={"Content-Type": "text/plain"}) if ids else Reply({}, 404)
        return Reply({"message": f"no resource {path}"}, 404)

    def _search(self, params: dict[str, str]) -> Reply:
        cql, expand = params["cql"], set(params.get("expand", "").split(","))
        rows = self._select(cql)
        limit = min(int(params["limit"]), 50 if "body.storage" in expand else 200 if expand else 1000)
        if self.is_expired(params.get("cursor")):
            return Reply({"message": "the cursor has expired"}, 400)
        page, token, has_next = self.cut(rows, limit, params.get("cursor"), int(params.get("start", 0)))
        if "body.storage" in expand and any(content_id in self.poisonous for _, content_id, _ in page):
            return Reply({"message": "Could not find content with id"}, 404)
        link = f"/rest/api/content/search?next=true&cql={quote(cql)}&cursor={quote(token or '')}"
        results = [_expand(row, expand) for _, _, row in page]
        links = {"base": self.url + self.prefix} | ({"next": link} if has_next else {})
        return Reply({"results": results, "limit": limit, "size": len(page), "_links": links})

    def _select(self, cql: str) -> Rows:
        spaces, kinds, ids = (_find_list(cql, name) for name in ("space", "type", "id"))
        since = re.search(r'lastmodified >= "([^"]+)"', cql)
        start = self.read_time(since[1]) if since else None
        order = ("history", "createdDate") if "order by created asc" in cql else ("version", "when")
        rows = []
        for content_id, row in self.contents.items():
            modified = datetime.fromisoformat(row["version"]["when"])
            is_selected = all(
                (
                    not spaces or row["space"]["key"] in spaces,
                    not kinds or row["type"] in kinds,
                    not ids or content_id in ids,
                    start is None or modified >= start,
                    row["status"] == "current" and content_id not in self.unsearchable,
                )
            )
            if is_selected:
                rows.append((datetime.fromisoformat(row[order[0]][order[1]]), content_id, row))
        return sorted(rows, key=lambda row: row[:2])

    def _list_readers(self, content_id: str, start: int, limit: int) -> Reply:
        row = self.contents.get(content_id)
        if row is None or "restrictions" not in row:
            return Reply({"message": "not found"}, 404)
        restrictions = row["restrictions"]["read"]["restrictions"]
        return Reply(
            {
                "restrictions": {
                    kind: {"results": part["all"][start : start + limit]} for kind, part in restrictions.items()
                }
            }
        )


class JiraServer(AtlassianServer):
    """Projects with issues.

    Attributes:
        issues: Issues by key, fully expanded.
        search_comments: Comments that a search returns, of all.
    """

    def __init__(self, *, is_cloud: bool) -> None:
        super().__init__(is_cloud=is_cloud)
        self.issues: dict[str, dict[str, Any]] = {}
        self.projects = {"PROJ": "Project One"}
        self.api = "/rest/api/3" if is_cloud else "/rest/api/2"
        self.search_comments = 50
        self.total_lie = 0
        self.fields: list[dict[str, Any]] = [
            {"id": "summary", "schema": {"type": "string", "system": "summary"}},
            {"id": "customfield_10020", "name": "Sprint", "schema": {"custom": "com.pyxis.greenhopper.jira:gh-sprint"}},
            {"id": "customfield_10014", "name": "Epic Link", "schema": {"custom": "com.pyxis.greenhopper.jira:gh-epic-link"}},
            {"id": "customfield_10050", "name": "Acceptance Criteria",
             "schema": {"custom": "com.atlassian.jira.plugin.system.customfieldtypes:textarea"}},
            {"id": "customfield_10060", "name": "Reviewer",
             "schema": {"custom": "com.atlassian.jira.plugin.system.customfieldtypes:userpicker"}},
            {"id": "customfield_10070", "name": "Rank", "schema": {"custom": "com.pyxis.greenhopper.jira:gh-lexo-rank"}},
        ]  # fmt: skip

    def put(self, key: str, summary: str = "", **more: Any) -> None:
        """Create or change an issue: `updated`, `comments`, `histories`, and fields by name."""
        updated: datetime = more.pop("updated", datetime(2026, 1, 1, tzinfo=UTC))
        comments = [{"id": str(number), **comment} for number, comment in enumerate(more.pop("comments", ()))]
        histories = [{"id": str(number), **entry} for number, entry in enumerate(more.pop("histories", ()))]
        before = self.issues.get(key, {}).get("fields", {})
        stamp = self._stamp(updated)
        self.issues[key] = {
            "id": str(10_000 + len(self.issues)), "key": key, "comments": comments, "histories": histories,
            "fields": {
                "summary": summary or f"Issue {key}", "description": None, "updated": stamp,
                "created": before.get("created") or stamp, "issuetype": {"name": "Story"}, "status": {"name": "Open"},
                "project": {"key": key.split("-")[0], "name": self.projects.get(key.split("-")[0])}, **more,
            },
        }  # fmt: skip

    def add_item(self, title: str, text: str) -> str:
        key = f"PROJ-{len(self.issues) + 1}"
        self.put(key, title, updated=self.tick(), description=self.write_text(text))
        return key

    def change_item(self, item_id: str, text: str) -> None:
        title = self.issues[item_id]["fields"]["summary"]
        self.put(item_id, title, updated=self.tick(), description=self.write_text(text))

    def delete_item(self, item_id: str) -> None:
        del self.issues[item_id]
        self.put("GONE-1", updated=self.tick())  # a key is never used again

    def move_item(self, item_id: str) -> None:
        """Move an issue on its board and back, which changes its time only."""
        for _ in range(2):
            self.issues[item_id]["fields"]["updated"] = self._stamp(self.tick())

    def write_text(self, text: str) -> Any:
        """Write a rich text as the edition stores it."""
        if not self.is_cloud:
            return text
        return {"type": "doc", "content": [{"type": "paragraph", "content": [{"type": "text", "text": text}]}]}

    def _stamp(self, moment: datetime) -> str:
        local = moment.astimezone(ZoneInfo(self.zone or "UTC"))
        return f"{local:%Y-%m-%dT%H:%M:%S}.{local.microsecond // 1000:03}{local:%z}"

    def route(self, path: str, params: dict[str, str], body: dict[str, Any]) -> Reply:
        if path == (f"{self.api}/search/jql" if self.is_cloud else f"{self.api}/search"):
            self.note_page()
            return self._search(body)
        path = path.removeprefix(self.api)
        if path == "/myself":
            return Reply({"timeZone": self.zone})
        if path == "/field":
            return Reply(self.fields)
        if match := re.fullmatch(r"/project/(\w+)", path):
            name = self.projects.get(match[1])
            return Reply({"key": match[1], "name": name}) if name else Reply({"errorMessages": ["No project"]}, 404)
        if (match := re.fullmatch(r"/issue/([\w-]+)(?:/(comment|changelog))?", path)) and (
            issue := self.issues.get(match[1])
        ):
            return self._get_part(issue, match[2], params)
        return Reply({"errorMessages": ["Issue does not exist or you do not have permission to see it."]}, 404)

    def _get_part(self, issue: dict[str, Any], part: str | None, params: dict[str, str]) -> Reply:
        start, limit = int(params.get("startAt", 0)), int(params.get("maxResults", 50))
        if part == "comment":
            comments = issue["comments"]
            return Reply({"comments": comments[start : start + limit], "maxResults": limit, "total": len(comments)})
        if part == "changelog" and self.is_cloud:
            histories = issue["histories"]
            is_last = start + limit >= len(histories)
            return Reply({"values": histories[start : start + limit], "isLast": is_last, "total": len(histories)})
        return (
            Reply({"errorMessages": ["null for uri"]}, 404) if part else Reply(self._show(issue, "changelog", 10_000))
        )

    def _search(self, body: dict[str, Any]) -> Reply:
        projects = _find_list(body["jql"], "project")
        unknown = sorted(projects - self.projects.keys())
        if unknown:
            message = f"The value '{unknown[0]}' does not exist for the field 'project'."
            return Reply({"errorMessages": [message]}, 400)
        if self.is_expired(body.get("nextPageToken")):
            return Reply({"errorMessages": ["The provided next page token is invalid or expired."]}, 400)
        rows = self._select(body["jql"], projects)
        page, token, has_next = self.cut(rows, body["maxResults"], body.get("nextPageToken"), body.get("startAt", 0))
        only_keys = body["fields"] == ["key"]
        shown = [
            {"id": row["id"], "key": row["key"]} if only_keys else self._show(row, body.get("expand"), 40)
            for _, _, row in page
        ]
        if self.is_cloud:
            return Reply({"issues": shown, "isLast": not has_next} | ({"nextPageToken": token} if token else {}))
        total = len(rows) + self.total_lie
        return Reply(
            {
                "issues": shown,
                "startAt": body.get("startAt", 0),
                "maxResults": min(body["maxResults"], self.page_size),
                "total": total,
            }
        )

    def _select(self, jql: str, projects: set[str]) -> Rows:
        since = re.search(r'updated >= "([^"]+)"', jql)
        start = self.read_time(since[1]) if since else None
        order = "created" if "order by created asc" in jql else "updated"
        rows = []
        for key, issue in self.issues.items():
            is_selected = not projects or issue["fields"]["project"]["key"] in projects
            if is_selected and (start is None or datetime.fromisoformat(issue["fields"]["updated"]) >= start):
                rows.append((datetime.fromisoformat(issue["fields"][order]).astimezone(UTC), key, issue))
        return sorted(rows, key=lambda row: row[:2])

    def _show(self, issue: dict[str, Any], expand: Any, changes: int) -> dict[str, Any]:
        comments, histories = issue["comments"], issue["histories"]
        shown = comments[: self.search_comments]
        fields = issue["fields"] | {"comment": {"comments": shown, "maxResults": len(shown), "total": len(comments)}}
        result = {"id": issue["id"], "key": issue["key"], "fields": fields}
        if expand and "changelog" in expand:
            newest = histories[::-1][:changes] if self.is_cloud else histories
            result["changelog"] = {"histories": newest, "total": len(histories)}
        return result


def open_confluence(
    server: ConfluenceServer, secret: str = SECRET, waits: list[float] | None = None, **options: Any
) -> ConfluenceSource:
    """Open a connector to a server; waits are noted instead of slept."""
    options = {"spaces": ("DOCS",)} | options
    return ConfluenceSource(
        _connect(server, "Confluence", server.prefix, secret, waits), is_cloud=server.is_cloud, **options
    )


def open_jira(server: JiraServer, secret: str = SECRET, waits: list[float] | None = None, **options: Any) -> JiraSource:
    """Open a connector to a server; waits are noted instead of slept."""
    options = {"projects": ("PROJ",)} | options
    return JiraSource(_connect(server, "Jira", "", secret, waits), is_cloud=server.is_cloud, **options)


def _connect(
    server: AtlassianServer, name: str, prefix: str, secret: str, waits: list[float] | None
) -> AtlassianClient:
    login = AtlassianLogin(server.url + prefix, EMAIL if server.is_cloud else "", secret, server.is_cloud)
    noted = [] if waits is None else waits
    return AtlassianClient(login, name, RequestPolicy(attempts=3, timeout_s=5, sleep=noted.append))


def _expand(row: dict[str, Any], expand: Iterable[str]) -> dict[str, Any]:
    optional = {"body", "version", "history", "space", "ancestors", "metadata", "restrictions", "container"}
    names = {path.split(".")[0] for path in expand}
    return {name: value for name, value in row.items() if name not in optional or name in names}


def _page(results: list[dict[str, str]]) -> dict[str, Any]:
    return {"results": results[:200], "all": results, "start": 0, "limit": 200, "size": len(results[:200])}


def _find_list(query: str, name: str) -> set[str]:
    match = re.search(rf"\b{name} in \(([^)]*)\)", query)
    return {value.strip().strip('"') for value in match[1].split(",")} if match else set()


def _format(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
