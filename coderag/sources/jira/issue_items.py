"""Conversion of Jira's issues to items."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from coderag.schema.items import PRIVATE, PUBLIC, Item, ItemComment, ItemLink, StatusChange
from coderag.sources.atlassian.times import parse_time
from coderag.sources.jira.document_format import convert_document
from coderag.sources.jira.issue_fields import CustomField, CustomValues, find_name, format_value, read_custom_values

_ROLES: Final = ("assignee", "reporter", "creator")
_NAMED_FIELDS: Final = {
    "project": "project",
    "priority": "priority",
    "resolution": "resolution",
    "components": "components",
    "fixVersions": "fix versions",
    "versions": "affected versions",
    "duedate": "due date",
}


def build_issue(
    issue: Mapping[str, Any],
    fields: Mapping[str, CustomField],
    comments: Iterable[Mapping[str, Any]],
    histories: Iterable[Mapping[str, Any]],
    base_url: str,
) -> Item:
    """Build the item of an issue.

    An issue with a security level is private. A comment that only a role or group may read is left out, since an item has the
    same readers throughout.

    Args:
        comments: All its comments.
        histories: All entries of its changelog.
    """
    values: Mapping[str, Any] = issue.get("fields") or {}
    custom = read_custom_values(values, fields)
    people = {role: (name,) for role in _ROLES if (name := find_name(values.get(role)))}
    named = {label: text for name, label in _NAMED_FIELDS.items() if (text := format_value(values.get(name)))}
    epic = _find_epic(values, custom)
    texts = {**named, **custom.fields, **({"epic": epic} if epic else {})}
    return Item(
        id=str(issue["key"]),
        kind="ticket",
        title=str(values.get("summary") or ""),
        text=_build_text(values, custom),
        url=f"{base_url}/browse/{issue['key']}",
        revision=find_revision(issue),
        created=parse_time(values.get("created")),
        modified=parse_time(values.get("updated")),
        type=format_value(values.get("issuetype")),
        status=format_value(values.get("status")),
        labels=tuple(map(str, values.get("labels") or ())),
        people={**custom.people, **people},
        fields=texts,
        links=tuple(_find_links(values, epic)),
        comments=tuple(_build_comment(comment) for comment in comments if not comment.get("visibility")),
        status_changes=tuple(_find_status_changes(histories)),
        access=PRIVATE if values.get("security") else PUBLIC,
    )


def find_revision(issue: Mapping[str, Any]) -> str:
    """Return the revision of an issue; Jira counts none, so it is the time of the last change."""
    return str((issue.get("fields") or {}).get("updated") or "")


def find_former_keys(key: str, histories: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the keys that a moved issue had before."""
    keys = {
        str(change[side])
        for _, change in _find_changes(histories, "key")
        for side in ("fromString", "toString")
        if change.get(side)
    }
    return sorted(keys - {key})


def _build_text(values: Mapping[str, Any], custom: CustomValues) -> str:
    sections = [convert_document(values.get("description"))]
    if environment := convert_document(values.get("environment")):
        sections.append(f"## Environment\n\n{environment}")
    sections += [f"## {name}\n\n{text}" for name, text in custom.sections.items()]
    return "\n\n".join(filter(None, sections))


def _find_epic(values: Mapping[str, Any], custom: CustomValues) -> str:
    """Return the key of the epic: a field of its own on Data Center, a parent that is an epic on Cloud."""
    if custom.epic:
        return custom.epic
    parent = values.get("parent")
    if not isinstance(parent, Mapping):
        return ""
    kind = (parent.get("fields") or {}).get("issuetype") or {}
    is_epic = kind.get("hierarchyLevel") == 1 or str(kind.get("name", "")).casefold() == "epic"
    return str(parent.get("key", "")) if is_epic else ""


def _find_links(values: Mapping[str, Any], epic: str) -> Iterable[ItemLink]:
    if epic:
        yield ItemLink("epic", epic)
    parent = values.get("parent")
    if isinstance(parent, Mapping) and parent.get("key") and parent["key"] != epic:
        yield ItemLink("parent", str(parent["key"]))
    for subtask in values.get("subtasks") or ():
        yield ItemLink("subtask", str(subtask.get("key")))
    for link in values.get("issuelinks") or ():
        kind = link.get("type") or {}
        for side, direction in (("outwardIssue", "outward"), ("inwardIssue", "inward")):
            if isinstance(link.get(side), Mapping):
                yield ItemLink(str(kind.get(direction) or kind.get("name") or "relates to"), str(link[side].get("key")))


def _build_comment(comment: Mapping[str, Any]) -> ItemComment:
    return ItemComment(
        find_name(comment.get("author")), parse_time(comment.get("created")), convert_document(comment.get("body"))
    )


def _find_status_changes(histories: Iterable[Mapping[str, Any]]) -> Sequence[StatusChange]:
    changes = [
        StatusChange(
            find_name(history.get("author")),
            parse_time(history.get("created")),
            str(change.get("fromString") or ""),
            str(change.get("toString") or ""),
        )
        for history, change in _find_changes(histories, "status")
    ]
    # Cloud sends the newest first, Data Center the oldest.
    return sorted(changes, key=lambda change: change.changed.timestamp() if change.changed else 0.0)


def _find_changes(
    histories: Iterable[Mapping[str, Any]], field: str
) -> Iterable[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    for history in histories:
        for change in history.get("items") or ():
            if str(change.get("field", "")).casefold() == field:
                yield history, change
