"""Tasks of ClickUp as items: description, checklists, custom fields, dependencies and comments.

Sources: https://developer.clickup.com/reference/getfilteredteamtasks, https://developer.clickup.com/docs/customfields
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from coderag.schema.items import Item, ItemComment, ItemLink
from coderag.sources.json_values import get_objects, get_text, get_value, parse_epoch_ms

_Formatter = Callable[[Any, Sequence[Mapping[str, Any]]], str]


def find_task_key(task: Mapping[str, Any]) -> str:
    """Return the key of a task: its custom id, such as PROJ-45, or its id."""
    return get_text(task, "custom_id") or get_text(task, "id")


def build_item(task: Mapping[str, Any], comments: Sequence[Mapping[str, Any]], type_names: Mapping[str, str]) -> Item:
    """Build an item from a task, its comments, and the names of custom task types by id."""
    assignees = tuple(name for person in get_objects(task, "assignees") if (name := _find_name(person)))
    author = _find_name(get_value(task, "creator"))
    return Item(
        id=find_task_key(task),
        kind="ticket",
        title=get_text(task, "name"),
        text=_build_text(task),
        url=get_text(task, "url"),
        revision=get_text(task, "date_updated"),
        created=parse_epoch_ms(get_text(task, "date_created")),
        modified=parse_epoch_ms(get_text(task, "date_updated")),
        type=_find_type(task, type_names),
        status=get_text(task, "status", "status"),
        labels=tuple(name for tag in get_objects(task, "tags") if (name := get_text(tag, "name"))),
        people=({"assignee": assignees} if assignees else {}) | ({"author": (author,)} if author else {}),
        fields=dict(_iterate_fields(task)),
        links=tuple(_iterate_links(task)),
        comments=tuple(map(_build_comment, comments)),
    )


def _find_type(task: Mapping[str, Any], type_names: Mapping[str, str]) -> str:
    number = get_text(task, "custom_item_id")
    if number == "1":
        return "Milestone"
    return type_names.get(number, "") or ("Subtask" if get_text(task, "parent") else "Task")


def _build_text(task: Mapping[str, Any]) -> str:
    sections = [(get_text(task, "markdown_description") or get_text(task, "text_content")).strip()]
    for checklist in get_objects(task, "checklists"):
        lines = [f"## {get_text(checklist, 'name') or 'Checklist'}", ""]
        for item in get_objects(checklist, "items"):
            mark = "x" if item.get("resolved") is True else " "
            lines.append(f"{'  ' if get_text(item, 'parent') else ''}- [{mark}] {get_text(item, 'name')}")
        sections.append("\n".join(lines))
    return "\n\n".join(filter(None, sections))


def _find_name(person: object) -> str:
    return get_text(person, "username") or get_text(person, "email")


def _iterate_fields(task: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    folder = "" if get_value(task, "folder", "hidden") is True else get_text(task, "folder", "name")
    values = {
        "task id": get_text(task, "id") if get_text(task, "custom_id") else "",
        "list": get_text(task, "list", "name"),
        "folder": folder,
        "priority": get_text(task, "priority", "priority"),
        "points": get_text(task, "points"),
        "due date": _format_day(task.get("due_date")),
        "start date": _format_day(task.get("start_date")),
        "archived": "yes" if task.get("archived") is True else "",
    }
    yield from ((name, value) for name, value in values.items() if value)
    for custom_field in get_objects(task, "custom_fields"):
        name, value = get_text(custom_field, "name"), _format_custom_value(custom_field)
        if name and value and name not in values:
            yield name, value


def _format_day(value: object) -> str:
    moment = parse_epoch_ms(str(value)) if value is not None else None
    return f"{moment:%Y-%m-%d}" if moment else ""


def _format_custom_value(custom_field: Mapping[str, Any]) -> str:
    """Format the value of a custom field; empty without one."""
    value = custom_field.get("value")
    if value is None:
        return ""
    formatter: _Formatter = _FORMATTERS.get(get_text(custom_field, "type"), _format_other)
    return formatter(value, get_objects(custom_field, "type_config", "options"))


def _format_choice(value: object, options: Sequence[Mapping[str, Any]]) -> str:
    """Return the name of an option, which is given by position or by id."""
    names = (
        get_text(option, "name")
        for option in options
        if get_text(option, "orderindex") == str(value) or option.get("id") == value
    )
    return next(names, "")


def _format_labels(value: object, options: Sequence[Mapping[str, Any]]) -> str:
    labels = {get_text(option, "id"): get_text(option, "label") for option in options}
    members = value if isinstance(value, list) else []
    return ", ".join(label for member in members if (label := labels.get(str(member), "")))


def _format_other(value: object, _options: Sequence[Mapping[str, Any]]) -> str:
    if isinstance(value, list):  # users, tasks, attachments
        members = [_find_name(member) or get_text(member, "name") or get_text(member, "title") for member in value]
        return ", ".join(filter(None, members))
    if isinstance(value, dict):  # progress, places
        keys = ("percent_completed", "percent_complete", "current", "formatted_address")
        return next((text for key in keys if (text := get_text(value, key))), "")
    return str(value)


_FORMATTERS: dict[str, _Formatter] = {
    "drop_down": _format_choice,
    "labels": _format_labels,
    "date": lambda value, _: _format_day(value),
    "checkbox": lambda value, _: "yes" if str(value).lower() == "true" else "no",
}


def _iterate_links(task: Mapping[str, Any]) -> Iterator[ItemLink]:
    # Links name ids; where tasks have custom ids, only the address leads to the other task.
    prefix = "https://app.clickup.com/t/" if get_text(task, "custom_id") else ""
    for relation, target in _iterate_targets(task):
        if target and target != get_text(task, "id"):
            yield ItemLink(relation, prefix + target)


def _iterate_targets(task: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield relations and ids of other tasks; some are the task's own."""
    yield "parent", get_text(task, "parent")
    for dependency in get_objects(task, "dependencies"):
        waiting, blocking = get_text(dependency, "task_id"), get_text(dependency, "depends_on")
        yield "blocking", waiting
        yield "waiting on", blocking
    for link in get_objects(task, "linked_tasks"):
        yield "linked", get_text(link, "task_id")
        yield "linked", get_text(link, "link_id")
    for custom_field in get_objects(task, "custom_fields"):
        if get_text(custom_field, "type") in {"tasks", "list_relationship"}:
            for member in get_objects(custom_field, "value"):
                yield get_text(custom_field, "name") or "related", get_text(member, "id")


def _build_comment(comment: Mapping[str, Any]) -> ItemComment:
    author = _find_name(get_value(comment, "user"))
    return ItemComment(author, parse_epoch_ms(get_text(comment, "date")), get_text(comment, "comment_text").strip())
