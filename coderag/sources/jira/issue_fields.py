"""Fields of a Jira, by what they mean: their ids differ from one installation to the next.

Source: https://developer.atlassian.com/cloud/jira/platform/rest/v3/api-group-issue-fields
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from coderag.sources.jira.document_format import convert_document

_PREFIX: Final = "com.atlassian.jira.plugin.system.customfieldtypes:"
_AGILE: Final = "com.pyxis.greenhopper.jira:"
SPRINT: Final = f"{_AGILE}gh-sprint"
EPIC_LINK: Final = f"{_AGILE}gh-epic-link"
_LONG_TEXT: Final = f"{_PREFIX}textarea"
_PEOPLE: Final = frozenset({f"{_PREFIX}userpicker", f"{_PREFIX}multiuserpicker", f"{_PREFIX}people"})
_SHORT: Final = frozenset({
    *(
        _PREFIX + name
        for name in (
            "cascadingselect", "datepicker", "datetime", "float", "grouppicker", "labels", "multicheckboxes", "multiselect",
            "multiversion", "radiobuttons", "select", "textfield", "url", "version",
        )
    ),
    f"{_AGILE}jsw-story-points",
    f"{_AGILE}gh-epic-label",
})  # fmt: skip
# Data Center sends sprints as text, such as "...Sprint@1f[id=1,rapidViewId=2,state=ACTIVE,name=Sprint 7,startDate=...]".
_SPRINT_NAME: Final = re.compile(
    r"[\[,]name=(.*?)(?:,(?:startDate|goal|endDate|completeDate|sequence|activatedDate)=|\]$)"
)


@dataclass(frozen=True, slots=True)
class CustomField:
    """A custom field: its name for people, and its type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class CustomValues:
    """Values of the custom fields of an issue.

    Attributes:
        sections: Long texts by the name of their field, as Markdown.
        epic: Key of the epic.
    """

    fields: dict[str, str]
    people: dict[str, tuple[str, ...]]
    sections: dict[str, str]
    epic: str = ""


def parse_custom_fields(entries: Iterable[Mapping[str, Any]]) -> dict[str, CustomField]:
    """Parse the reply of ``/field``: custom fields by id."""
    fields = {}
    for entry in entries:
        schema = entry.get("schema")
        kind = schema.get("custom") if isinstance(schema, Mapping) else None
        if kind and entry.get("id"):
            fields[str(entry["id"])] = CustomField(str(entry.get("name") or entry["id"]), str(kind))
    return fields


def read_custom_values(values: Mapping[str, Any], fields: Mapping[str, CustomField]) -> CustomValues:
    """Read the custom fields of an issue; those of unknown types are left out."""
    texts: dict[str, str] = {}
    people: dict[str, tuple[str, ...]] = {}
    sections: dict[str, str] = {}
    epic = ""
    for field_id, field in fields.items():
        value = values.get(field_id)
        if value in (None, "", []):
            continue
        if field.type == SPRINT:
            texts["sprint"] = ", ".join(_find_sprints(value))
        elif field.type == EPIC_LINK:
            epic = str(value)
        elif field.type == _LONG_TEXT:
            sections[field.name] = convert_document(value)
        elif field.type in _PEOPLE:
            people[field.name.casefold()] = tuple(
                filter(None, map(find_name, value if isinstance(value, list) else [value]))
            )
        elif field.type in _SHORT:
            texts[field.name.casefold()] = format_value(value)
    return CustomValues(
        {name: text for name, text in texts.items() if text},
        {role: names for role, names in people.items() if names},
        {name: text for name, text in sections.items() if text},
        epic,
    )


def find_name(user: object) -> str:
    """Return the name of a user; empty if there is none."""
    if not isinstance(user, Mapping):
        return ""
    return str(user.get("displayName") or user.get("name") or user.get("accountId") or "")


def format_value(value: object) -> str:
    """Format a value: an option, a version, a number, or a list of them."""
    if isinstance(value, list):
        return ", ".join(filter(None, map(format_value, value)))
    if isinstance(value, Mapping):
        text = str(value.get("value") or value.get("name") or "")
        child = format_value(value["child"]) if value.get("child") else ""
        return f"{text} / {child}" if child else text
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


def _find_sprints(value: object) -> list[str]:
    names = []
    for sprint in value if isinstance(value, list) else [value]:
        if isinstance(sprint, Mapping):
            names.append(str(sprint.get("name") or ""))
        elif match := _SPRINT_NAME.search(str(sprint)):
            names.append(match[1])
    return list(filter(None, names))
