"""ClickUp on this machine, as documented: pages of 100 tasks, filters in milliseconds, comments by 25, a rate of requests.

Sources: https://developer.clickup.com/reference/getfilteredteamtasks,
https://developer.clickup.com/docs/task-comments-pagination, https://developer.clickup.com/docs/rate-limits
"""

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.loopback import LoopbackServer, Reply, Request

TOKEN = "pk_4711_XK2VHQ"
ANN = {"id": 1, "username": "Ann", "email": "ann@x.example"}


class ClickUpServer(LoopbackServer):
    """Workspace 9 with space 1, folder 5 and the lists 7 (of the folder) and 8 (of the space).

    Attributes:
        now_ms: Time of the server, which each change moves on.
        page_size: Tasks on a page.
        has_last_page: Whether replies say which page is the last.
        newest_first: Whether ``reverse`` means the newest first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.token = TOKEN
        self.now_ms = 1_767_000_000_000
        self.page_size = 100
        self.has_last_page = True
        self.newest_first = False
        self.tasks: dict[str, dict[str, Any]] = {}
        self.comments: dict[str, list[dict[str, Any]]] = {}
        self.replies: dict[str, list[dict[str, Any]]] = {}

    def put(self, task_id: str, name: str = "", list_id: str = "7", tick_ms: int = 1_000, **values: Any) -> None:
        self.now_ms += tick_ms
        old = self.tasks.get(task_id, {})
        self.tasks[task_id] = {
            "id": task_id, "custom_id": None, "name": name, "markdown_description": "", "text_content": "",
            "status": {"status": "to do", "type": "open"}, "date_created": str(self.now_ms), "creator": ANN,
            "assignees": [], "tags": [], "parent": None, "priority": None, "checklists": [], "custom_fields": [],
            "dependencies": [], "linked_tasks": [], "url": f"https://app.clickup.com/t/{task_id}", "archived": False,
            "list": {"id": list_id, "name": f"List {list_id}"}, "space": {"id": "1"}, "points": None,
            "folder": {"id": "5", "name": "Folder", "hidden": list_id == "8"},
            **old, **({"name": name} if name else {}), **values, "date_updated": str(self.now_ms),
        }  # fmt: skip

    def comment(self, task_id: str, text: str, **values: Any) -> str:
        self.now_ms += 1_000
        comment_id = str(900 + sum(map(len, self.comments.values())))
        comment = {"id": comment_id, "comment_text": text, "user": ANN, "date": str(self.now_ms), "reply_count": 0}
        self.comments.setdefault(task_id, []).insert(0, comment | values)
        return comment_id

    def respond(self, request: Request) -> Reply:
        if request.headers.get("authorization") != self.token:
            return Reply({"err": "Token invalid", "ECODE": "OAUTH_025"}, 401)
        parts = urlsplit(request.path)
        path, query = parts.path.removeprefix("/api/v2/"), parse_qs(parts.query)
        if match := re.fullmatch(r"team/9/task|list/(\w+)/task", path):
            return self._answer_tasks(query, match[1])
        if match := re.fullmatch(r"task/([\w-]+)(/comment)?", path):
            return self._answer_task(match[1], query, wants_comments=match[2] is not None)
        if match := re.fullmatch(r"comment/(\w+)/reply", path):
            return Reply({"comments": self.replies.get(match[1], [])})
        fixed = {
            "team": {"teams": [{"id": "9", "name": "Acme"}]},
            "team/9/space": {"spaces": [{"id": "1"}]},
            "team/9/custom_item": {"custom_items": [{"id": 1001, "name": "Bug"}]},
            "space/1": {"id": "1"}, "folder/5": {"id": "5"}, "list/7": {"id": "7"}, "list/8": {"id": "8"},
            "space/1/folder": {"folders": [{"id": "5"}]},
            "space/1/list": {"lists": [{"id": "8"}]},
            "folder/5/list": {"lists": [{"id": "7"}]},
            "user": {"user": ANN},
        }  # fmt: skip
        return Reply(fixed[path]) if path in fixed else Reply({"err": "Not found", "ECODE": "ITEM_013"}, 404)

    def _answer_tasks(self, query: dict[str, list[str]], list_id: str | None) -> Reply:
        def has(name: str) -> bool:
            return query.get(name) == ["true"]

        after = int(query.get("date_updated_gt", ["0"])[0])
        tasks = [
            task
            for task in self.tasks.values()
            if int(task["date_updated"]) > after
            and (task["parent"] is None or has("subtasks"))
            and (task["status"]["type"] != "closed" or has("include_closed"))
            and task["archived"] == has("archived")
            and task["list"]["id"] in (query.get("list_ids[]", [task["list"]["id"]]) if list_id is None else [list_id])
            and task["space"]["id"] in query.get("space_ids[]", [task["space"]["id"]])
            and ("5" in query.get("project_ids[]", ["5"]))
            and (task["list"]["id"] == "7" or "project_ids[]" not in query)
        ]
        if query.get("order_by") == ["updated"]:
            newest_first = has("reverse") == self.newest_first
            tasks.sort(key=lambda task: int(task["date_updated"]), reverse=newest_first)
        start = int(query.get("page", ["0"])[0]) * self.page_size
        page = tasks[start : start + self.page_size]
        last = {"last_page": start + self.page_size >= len(tasks)} if self.has_last_page else {}
        return Reply({"tasks": page, **last})

    def _answer_task(self, key: str, query: dict[str, list[str]], *, wants_comments: bool) -> Reply:
        is_custom = query.get("custom_task_ids") == ["true"] and query.get("team_id") == ["9"]
        matches = [task for task in self.tasks.values() if task["custom_id" if is_custom else "id"] == key]
        if not matches:
            return Reply({"err": "Task not found, deleted", "ECODE": "ITEM_013"}, 404)
        if not wants_comments:
            return Reply(matches[0])
        comments = self.comments.get(key, [])
        if "start_id" in query and "start" in query:
            ids = [comment["id"] for comment in comments]
            comments = comments[ids.index(query["start_id"][0]) + 1 :]
        return Reply({"comments": comments[:25]})
