"""Work items of Azure DevOps as items: fields, rich text, relations, comments and state history.

Sources: https://learn.microsoft.com/rest/api/azure/devops/wit,
https://learn.microsoft.com/azure/devops/boards/work-items/guidance/work-item-field
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

from coderag.schema.items import Item, ItemComment, ItemLink, StatusChange
from coderag.sources.document_text import convert_html
from coderag.sources.json_values import get_objects, get_text, get_value, parse_time

_RICH_TEXTS = {
    "System.Description": "",
    "Microsoft.VSTS.TCM.ReproSteps": "Repro steps",
    "Microsoft.VSTS.TCM.SystemInfo": "System info",
    "Microsoft.VSTS.TCM.Steps": "Steps",
    "Microsoft.VSTS.Common.AcceptanceCriteria": "Acceptance criteria",
    "Microsoft.VSTS.Common.Resolution": "Resolution",
    "Microsoft.VSTS.CMMI.Symptom": "Symptom",
    "Microsoft.VSTS.CMMI.ProposedFix": "Proposed fix",
    "Microsoft.VSTS.CMMI.ImpactAssessmentHtml": "Impact assessment",
}
"""Fields of rich text and their headings; the description has none."""
_PEOPLE = {
    "System.AssignedTo": "assignee",
    "System.CreatedBy": "author",
    "System.ChangedBy": "editor",
    "Microsoft.VSTS.Common.ResolvedBy": "resolver",
    "Microsoft.VSTS.Common.ClosedBy": "closer",
}
_FIELDS = {
    "System.AreaPath": "area path",
    "System.IterationPath": "iteration path",
    "System.Reason": "reason",
    "Microsoft.VSTS.Common.Priority": "priority",
    "Microsoft.VSTS.Common.Severity": "severity",
    "Microsoft.VSTS.Common.ValueArea": "value area",
    "Microsoft.VSTS.Scheduling.StoryPoints": "story points",
    "Microsoft.VSTS.Scheduling.Effort": "effort",
    "Microsoft.VSTS.Scheduling.TargetDate": "target date",
    "Microsoft.VSTS.Scheduling.DueDate": "due date",
    "Microsoft.VSTS.Build.FoundIn": "found in build",
    "Microsoft.VSTS.Build.IntegrationBuild": "integrated in build",
}
_STANDARD_FIELD = re.compile(r"(?:System|Microsoft|WEF_\w+)\.|WEF_")
_HTML_TAG = re.compile(r"<(?:div|p|br|span|ul|ol|li|table|a|b|i|h\d|pre)\b[^<>]*>", re.IGNORECASE)
_WORK_ITEM_URL = re.compile(r"/_apis/wit/workitems/(\d+)$", re.IGNORECASE)
_GIT_ARTIFACT = re.compile(r"vstfs:///Git/(Commit|PullRequestId)/([^/]+)/([^/]+)/([^/]+)$", re.IGNORECASE)
_ARTIFACT_PAGES = {"commit": "commit", "pullrequestid": "pullrequest"}


def build_item(
    content: Mapping[str, Any],
    organization_url: str,
    comments: Sequence[Mapping[str, Any]],
    updates: Sequence[Mapping[str, Any]],
) -> Item:
    """Build an item from a work item, its comments and its updates.

    Raises:
        SourceError: The library that converts HTML is not installed.
    """
    fields: dict[str, Any] = content["fields"] if isinstance(content.get("fields"), dict) else {}
    item_id = get_text(content, "id")
    formats = content.get("multilineFieldsFormat")
    project = quote(get_text(fields, "System.TeamProject"), safe="")
    return Item(
        id=item_id,
        kind="ticket",
        title=get_text(fields, "System.Title"),
        text=_build_text(fields, formats if isinstance(formats, dict) else {}),
        url=f"{organization_url}/{project}/_workitems/edit/{item_id}",
        revision=get_text(content, "rev"),
        created=parse_time(get_text(fields, "System.CreatedDate")),
        modified=parse_time(get_text(fields, "System.ChangedDate")),
        type=get_text(fields, "System.WorkItemType"),
        status=get_text(fields, "System.State"),
        labels=tuple(tag for part in get_text(fields, "System.Tags").split(";") if (tag := part.strip())),
        people={role: (name,) for key, role in _PEOPLE.items() if (name := _find_name(fields.get(key)))},
        fields=dict(_iterate_fields(fields)),
        links=tuple(_iterate_links(content, organization_url)),
        comments=tuple(_build_comment(comment) for comment in comments if comment.get("isDeleted") is not True),
        status_changes=tuple(_iterate_status_changes(updates)),
    )


def _build_text(fields: Mapping[str, Any], formats: Mapping[str, Any]) -> str:
    sections = []
    for key, heading in _RICH_TEXTS.items():
        if text := _convert_rich_text(get_text(fields, key), str(formats.get(key, ""))):
            sections.append(f"## {heading}\n\n{text}" if heading else text)
    return "\n\n".join(sections)


def _convert_rich_text(text: str, text_format: str) -> str:
    return text.strip() if text_format.lower() == "markdown" else convert_html(text)


def _find_name(identity: object) -> str:
    """Return the display name of an identity: an object, or in older versions ``Ann <ann@example.org>``."""
    if isinstance(identity, str):
        return identity.partition(" <")[0].strip()
    return get_text(identity, "displayName") or get_text(identity, "uniqueName")


def _iterate_fields(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, name in _FIELDS.items():
        if value := get_text(fields, key):
            yield name, value
    for key, value in fields.items():  # of the process, such as Custom.RequestType
        if _STANDARD_FIELD.match(key) or key in _RICH_TEXTS:
            continue
        text = _find_name(value) if isinstance(value, dict) else get_text(fields, key)
        if isinstance(value, bool):
            text = "yes" if value else "no"
        if text:
            yield key.rpartition(".")[2], convert_html(text) if _HTML_TAG.search(text) else text


def _iterate_links(content: Mapping[str, Any], organization_url: str) -> Iterator[ItemLink]:
    for relation in get_objects(content, "relations"):
        kind, url = get_text(relation, "rel"), get_text(relation, "url")
        name = (get_text(relation, "attributes", "name") or kind.rpartition(".")[2]).lower()
        if match := _WORK_ITEM_URL.search(url):
            yield ItemLink(name, match[1])
        elif match := _GIT_ARTIFACT.match(unquote(url)):
            page = _ARTIFACT_PAGES[match[1].lower()]
            project, repository = (quote(part, safe="") for part in match.group(2, 3))
            yield ItemLink(name, f"{organization_url}/{project}/_git/{repository}/{page}/{quote(match[4], safe='')}")
        elif url and kind != "AttachedFile":
            yield ItemLink("hyperlink" if kind == "Hyperlink" else name, url)


def _build_comment(comment: Mapping[str, Any]) -> ItemComment:
    text = _convert_rich_text(get_text(comment, "text"), get_text(comment, "format"))
    return ItemComment(_find_name(comment.get("createdBy")), parse_time(get_text(comment, "createdDate")), text)


def _iterate_status_changes(updates: Sequence[Mapping[str, Any]]) -> Iterator[StatusChange]:
    for update in updates:
        fields = update.get("fields")
        before, after = (get_text(fields, "System.State", key) for key in ("oldValue", "newValue"))
        if before and after and before != after:
            # The date of the latest update itself is a placeholder in the year 9999.
            changed = get_text(fields, "System.ChangedDate", "newValue") or get_text(update, "revisedDate")
            yield StatusChange(_find_name(get_value(update, "revisedBy")), parse_time(changed), before, after)
