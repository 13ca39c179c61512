"""Microsoft Graph on this machine, as documented: change feeds with tokens, downloads from another host, site pages.

Sources: https://learn.microsoft.com/graph/api/driveitem-delta, https://learn.microsoft.com/graph/api/driveitem-get-content,
https://learn.microsoft.com/graph/api/sitepage-get
"""

import re
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.loopback import LoopbackServer, Reply, Request

TOKEN = "eyJ0-graph-token"
SITE_ID = "contoso.sharepoint.com,1a,2b"


class DownloadServer(LoopbackServer):
    """The host of pre-authenticated addresses: it refuses requests with a credential, and addresses that have expired."""

    def __init__(self) -> None:
        super().__init__()
        self.contents: dict[str, bytes] = {}
        self.expired: set[str] = set()

    def respond(self, request: Request) -> Reply:
        entry_id = parse_qs(urlsplit(request.path).query)["id"][0]
        if "authorization" in request.headers or entry_id in self.expired:
            return Reply({}, 401)
        return Reply(self.contents[entry_id], headers={"Content-Type": "application/octet-stream"})


class GraphServer(LoopbackServer):
    """One site with document libraries.

    Attributes:
        page_size: Entries on a page of a change feed.
        permissions: Permissions by file; a file without any answers with those of `default_permissions`.
    """

    def __init__(self, downloads: DownloadServer) -> None:
        super().__init__()
        self.token = TOKEN
        self.downloads = downloads
        self.page_size = 2
        self.drives: dict[str, str] = {"b!docs": "Documents"}
        self.entries: dict[str, dict[str, dict[str, Any]]] = {"b!docs": {}}
        self.permissions: dict[str, list[dict[str, Any]] | None] = {}
        self.default_permissions: list[dict[str, Any]] = []
        self.pages: dict[str, dict[str, Any]] = {}
        self.with_download_url = True
        self._log: list[tuple[str, str]] = []  # drive and entry of each change
        self._oldest = 0

    def put(self, name: str, data: bytes, entry_id: str = "", drive: str = "b!docs", **more: Any) -> str:
        """Create or change a file; return its id."""
        entry_id = entry_id or f"01{len(self._log):06}"
        version = len(self._log) + 1
        entry = {
            "id": entry_id, "name": name, "size": len(data), "file": {"mimeType": "text/plain"},
            "eTag": f'"{{{entry_id}}},{version}"', "webUrl": f"https://contoso.sharepoint.com/Docs/{name}",
            "createdDateTime": "2026-01-02T03:04:05Z", "lastModifiedDateTime": "2026-01-02T03:04:05.678Z",
            "createdBy": {"user": {"displayName": "Ann"}}, "lastModifiedBy": {"user": {"displayName": "Bo"}},
            "parentReference": {"driveId": drive, "path": f"/drives/{drive}/root:/Plans"}, **more,
        }  # fmt: skip
        if self.with_download_url:
            entry["@microsoft.graph.downloadUrl"] = (
                f"{self.downloads.url}/download.aspx?id={entry_id}&tempauth=secret-t"
            )
        self.entries.setdefault(drive, {})[entry_id] = entry
        self.downloads.contents[entry_id] = data
        self._log.append((drive, entry_id))
        return entry_id

    def change(self, entry_id: str, drive: str = "b!docs", **values: Any) -> None:
        self.entries[drive][entry_id] |= values
        self._log.append((drive, entry_id))

    def delete(self, entry_id: str, drive: str = "b!docs") -> None:
        """Delete a file; its entry then has neither name nor address."""
        entry = self.entries[drive][entry_id]
        facets = {name: {} for name in ("file", "folder") if name in entry}
        self.entries[drive][entry_id] = {"id": entry_id, "deleted": {"state": "deleted"}, **facets}
        self._log.append((drive, entry_id))

    def expire_tokens(self) -> None:
        self._oldest = len(self._log) + 1
        self._log.append(("", ""))

    def put_page(self, page_id: str, title: str, html: str, version: int = 1) -> None:
        self.pages[page_id] = {
            "id": page_id, "name": f"{title}.aspx", "title": title, "eTag": f'"{{{page_id}}},{version}"',
            "webUrl": f"https://contoso.sharepoint.com/SitePages/{title}.aspx", "description": "",
            "lastModifiedDateTime": "2026-01-02T03:04:05Z", "publishingState": {"level": "published"},
            "canvasLayout": {
                "horizontalSections": [
                    {"columns": [{"webparts": [{"@odata.type": "#microsoft.graph.textWebPart", "innerHtml": html}]}]}
                ]
            },
        }  # fmt: skip

    def respond(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return _refuse(401, "InvalidAuthenticationToken", "Access token is empty.")
        parts = urlsplit(request.path)
        path, query = unquote(parts.path).removeprefix("/v1.0/"), parse_qs(parts.query)
        if path == "sites/contoso.sharepoint.com:/sites/team":
            return Reply({"id": SITE_ID, "name": "team", "displayName": "The Team"})
        if path == f"sites/{SITE_ID}/drives":
            return Reply({"value": [{"id": key, "name": name} for key, name in self.drives.items()]})
        if match := re.fullmatch(r"drives/([^/]+)/root/delta", path):
            return self._answer_delta(match[1], query)
        if match := re.fullmatch(r"drives/([^/]+)/items/([^/]+)(/content|/permissions|)", path):
            return self._answer_item(*match.groups())
        if match := re.fullmatch(rf"sites/{SITE_ID}/pages(?:/([\w-]+))?/microsoft.graph.sitePage", path):
            return self._answer_page(match[1], query)
        return _refuse(404, "itemNotFound", "Item not found")

    def _answer_delta(self, drive: str, query: dict[str, list[str]]) -> Reply:
        if drive not in self.drives:
            return _refuse(404, "itemNotFound", "The resource could not be found.")
        begin, end, offset = 0, len(self._log), 0
        address = f"{self.url}/v1.0/drives/{drive}/root/delta"
        if "token" in query:
            begin, end, offset = (int(number) for number in query["token"][0].split(","))
            if begin < self._oldest and end < self._oldest:
                reply = _refuse(410, "resyncChangesApplyDifferences", "Resync required.")
                return Reply(reply.body, 410, {"Location": f"{address}?token=0,{len(self._log)},0"})
            if offset < 0:  # a delta link: what came after it
                begin, end, offset = end, len(self._log), 0
        changed = list(dict.fromkeys(entry for owner, entry in self._log[begin:end] if owner == drive))
        found = [self.entries[drive][entry] for entry in changed]
        if begin == 0:  # the first listing has the top folder, and nothing that is gone
            found = [
                {"id": "root", "name": "root", "root": {}, "folder": {}},
                *(e for e in found if "deleted" not in e),
            ]
        page = found[offset : offset + self.page_size]
        more = offset + self.page_size < len(found)
        link = f"{address}?token={begin},{end},{offset + self.page_size if more else -1}"
        return Reply({"value": page, f"@odata.{'next' if more else 'delta'}Link": link})

    def _answer_item(self, drive: str, entry_id: str, part: str) -> Reply:
        entry = self.entries.get(drive, {}).get(entry_id)
        if entry is None or "deleted" in entry:
            return _refuse(404, "itemNotFound", "The resource could not be found.")
        if part == "/content":
            return Reply(status=302, headers={"Location": f"{self.downloads.url}/content?id={entry_id}&sig=secret-t"})
        if part == "/permissions":
            permissions = self.permissions.get(entry_id, self.default_permissions)
            return (
                _refuse(403, "accessDenied", "Access denied") if permissions is None else Reply({"value": permissions})
            )
        return Reply(entry)

    def _answer_page(self, page_id: str | None, query: dict[str, list[str]]) -> Reply:
        if page_id is None:
            names = query["$select"][0].split(",")
            return Reply({"value": [{name: page.get(name) for name in names} for page in self.pages.values()]})
        page = self.pages.get(page_id)
        if page is None:
            return _refuse(404, "itemNotFound", "Item not found")
        return Reply(page if query.get("$expand") == ["canvasLayout"] else {**page, "canvasLayout": None})


class FixedToken:
    """Provides a token that does not change."""

    def __init__(self, token: str = TOKEN) -> None:
        self._token = token

    def build_headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token}"}

    def close(self) -> None:
        pass


def _refuse(status: int, code: str, message: str) -> Reply:
    return Reply({"error": {"code": code, "message": message, "innerError": {"request-id": "1"}}}, status)
