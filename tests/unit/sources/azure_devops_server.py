"""Azure DevOps on this machine, as documented: queries with limits and time zones, batches, comments, updates.

Sources: https://learn.microsoft.com/rest/api/azure/devops/wit, https://learn.microsoft.com/azure/devops/boards/queries/wiql-syntax
"""

import base64
import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.loopback import LoopbackServer, Reply, Request

TOKEN = "pat-6v7hq2zk"
ACCOUNT_ZONE = timezone(timedelta(hours=-8))  # of times without a zone
ANN = {"displayName": "Ann", "uniqueName": "ann@x.example"}


class AzureDevOpsServer(LoopbackServer):
    """One organisation with the project ``Fabrikam Fiber``.

    Attributes:
        now: Time of the server.
        max_results: Results that a query may have.
    """

    def __init__(self) -> None:
        super().__init__()
        self.token = TOKEN
        self.now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        self.max_results = 20_000
        self.items: dict[int, dict[str, Any]] = {}
        self.comments: dict[int, list[dict[str, Any]]] = {}
        self.updates: dict[int, list[dict[str, Any]]] = {}
        self.hidden: set[int] = set()  # listed, but not readable

    def put(self, number: int, title: str = "", relations: list[dict[str, Any]] | None = None, **fields: Any) -> None:
        """Create or change a work item now; ``State`` stands for ``System.State``, and so on."""
        old = self.items.get(number, {"rev": 0, "fields": {}})
        names = {key if "." in key else f"System.{key}": value for key, value in fields.items()}
        before = old["fields"].get("System.State", "")
        content = {
            "System.TeamProject": "Fabrikam Fiber", "System.WorkItemType": "Bug", "System.State": "New",
            "System.CreatedDate": "2026-01-01T00:00:00Z", "System.CreatedBy": ANN, "System.CommentCount": 0,
            "System.AreaPath": "Fabrikam Fiber", **old["fields"], **names, "System.ChangedDate": self._format_now(),
        }  # fmt: skip
        content |= {"System.Title": title} if title else {}
        self.items[number] = {
            "id": number, "rev": old["rev"] + 1, "fields": content,
            "relations": relations if relations is not None else old.get("relations", []),
        }  # fmt: skip
        changes = {"System.ChangedDate": {"newValue": self._format_now()}}
        if before != content["System.State"]:
            changes["System.State"] = (
                {"oldValue": before, "newValue": content["System.State"]}
                if before
                else {"newValue": content["System.State"]}
            )
        update = {"id": old["rev"] + 1, "revisedBy": ANN, "revisedDate": "9999-01-01T00:00:00Z", "fields": changes}
        self.updates.setdefault(number, []).append(update)

    def comment(self, number: int, text: str, **values: Any) -> None:
        comments = self.comments.setdefault(number, [])
        comments.append(
            {"id": len(comments) + 1, "text": text, "createdBy": ANN, "createdDate": self._format_now(), **values}
        )
        self.put(number, CommentCount=len(comments))

    def respond(self, request: Request) -> Reply:
        expected = f"Basic {base64.b64encode(f':{self.token}'.encode()).decode()}"
        if request.headers.get("authorization") != expected:
            return Reply({"message": "Access Denied: The Personal Access Token used has expired."}, 401)
        parts = urlsplit(request.path)
        path, query = unquote(parts.path), {key: values[0] for key, values in parse_qs(parts.query).items()}
        if "api-version" not in query:
            return Reply({"message": "No api-version was supplied"}, 400)
        path = path.removeprefix("/contoso/")
        if path == "_apis/projects/Fabrikam Fiber":
            return Reply({"id": "p1", "name": "Fabrikam Fiber"})
        if path == "_apis/wit/wiql":
            return self._answer_query(request.body["query"], query.get("timePrecision") == "true")
        if path == "_apis/wit/workitemsbatch":
            return self._answer_batch(request.body)
        if match := re.fullmatch(r"Fabrikam Fiber/_apis/wit/workItems/(\d+)/(comments|updates)", path):
            return self._answer_list(int(match[1]), match[2], query)
        return Reply({"message": f"TF401232: no {path}"}, 404)

    def _answer_query(self, wiql: str, has_time: bool) -> Reply:
        projects = re.search(r"\[System.TeamProject\] IN \(([^)]*)\)", wiql)
        assert projects, wiql
        found = [item for item in self.items.values() if f"'{item['fields']['System.TeamProject']}'" in projects[1]]
        if match := re.search(r"\[System.Id\] > (\d+)", wiql):
            found = [item for item in found if item["id"] > int(match[1])]
        if match := re.search(r"\[System.Id\] <= (\d+)", wiql):
            found = [item for item in found if item["id"] <= int(match[1])]
        if match := re.search(r"\[System.ChangedDate\] >= '([^']*)'", wiql):
            start = datetime.fromisoformat(match[1])
            if "T" in match[1] and not has_time:
                return Reply({"message": "You cannot supply a time with the date in a query of date precision."}, 400)
            start = start if start.tzinfo else start.replace(tzinfo=ACCOUNT_ZONE)
            found = [i for i in found if datetime.fromisoformat(i["fields"]["System.ChangedDate"]) >= start]
        if match := re.search(r"\[System.AreaPath\] UNDER '((?:[^']|'')*)'", wiql):
            area = match[1].replace("''", "'")
            found = [i for i in found if f"{i['fields']['System.AreaPath']}\\".startswith(f"{area}\\")]
        if len(found) > self.max_results:
            text = f"VS402337: The number of work items returned exceeds the size limit of {self.max_results}."
            return Reply({"message": text, "typeKey": "WorkItemTrackingQueryResultSizeLimitExceededException"}, 400)
        work_items = [{"id": item["id"], "url": f"{self.url}/_apis/wit/workItems/{item['id']}"} for item in found]
        return Reply({"queryType": "flat", "asOf": self._format_now(), "workItems": work_items})

    def _answer_batch(self, body: dict[str, Any]) -> Reply:
        ids = body["ids"]
        if len(ids) > 200:
            return Reply(
                {"message": f"VS403474: You requested {len(ids)} work items which exceeds the limit of 200"}, 400
            )
        if "fields" in body and "$expand" in body:
            return Reply({"message": "The expand parameter can not be used with the fields parameter."}, 400)
        values = [self.items.get(number) if number not in self.hidden else None for number in ids]
        if None in values and body.get("errorPolicy", "Fail").lower() != "omit":
            return Reply({"message": "TF401232: Work item does not exist, or you do not have permissions."}, 404)
        if "fields" in body:
            values = [value and {"id": value["id"], "rev": value["rev"], "fields": {}} for value in values]
        return Reply({"count": len(values), "value": values})

    def _answer_list(self, number: int, part: str, query: dict[str, str]) -> Reply:
        if number not in self.items:
            return Reply({"message": f"TF401232: Work item {number} does not exist"}, 404)
        top = int(query["$top"])
        if part == "updates":
            skip = int(query.get("$skip", 0))
            return Reply({"value": self.updates[number][skip : skip + top]})
        start = int(query.get("continuationToken", 0))
        page = self.comments.get(number, [])[start : start + top]
        more = {"continuationToken": str(start + top)} if start + top < len(self.comments.get(number, [])) else {}
        return Reply({"totalCount": len(self.comments.get(number, [])), "comments": page, **more})

    def _format_now(self) -> str:
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
