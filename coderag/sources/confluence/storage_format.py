"""Conversion of Confluence's storage format to Markdown.

The format is XHTML with elements of its own for macros, links, images and tasks. Those become plain HTML, and `markdownify`
does the rest.

Source: https://confluence.atlassian.com/doc/confluence-storage-format-790796544.html
"""

import html
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, quote_plus

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag
    from markdownify import MarkdownConverter

_CDATA: Final = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.DOTALL)
_PANELS: Final = {"info": "Info", "note": "Note", "warning": "Warning", "tip": "Tip", "panel": ""}
_PASSIVE_MACROS: Final = frozenset({
    "anchor", "attachments", "change-history", "children", "chart", "contentbylabel", "gallery", "livesearch", "pagetree",
    "profile", "recently-updated", "toc", "toc-zone", "viewfile",
})  # fmt: skip
"""Macros that show what the system computes, and no text of the page's own."""

_BLANK_LINES: Final = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True)
class PageText:
    """Text of a page.

    Attributes:
        text: Markdown.
        links: Addresses that the page links to, in order.
        tickets: Keys of the Jira tickets that its macros name.
    """

    text: str
    links: tuple[str, ...] = ()
    tickets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PagePlace:
    """Place of a page, to resolve what it links to.

    Attributes:
        base_url: Address of the Confluence, without a slash at its end.
    """

    base_url: str
    space: str = ""
    page_id: str = ""

    def link_page(self, title: str, space: str = "") -> str:
        """Return the address of a page by title."""
        return f"{self.base_url}/display/{quote(space or self.space, safe='~')}/{quote_plus(title)}"

    def link_attachment(self, filename: str) -> str:
        """Return the address of an attachment of this page."""
        return f"{self.base_url}/download/attachments/{self.page_id}/{quote(filename)}"


def convert_storage(storage: str, place: PagePlace) -> PageText:
    """Convert a body in storage format. Malformed markup keeps its text."""
    from bs4 import BeautifulSoup  # noqa: PLC0415  # 80 ms

    escaped = _CDATA.sub(lambda match: html.escape(match[1], quote=False), storage)
    soup = BeautifulSoup(escaped, "html.parser")
    rewriter = _Rewriter(soup, place)
    try:
        rewriter.rewrite()
        text = _convert_html(soup)
    except RecursionError:  # nested more deeply than anybody writes
        text = soup.get_text("\n", strip=True)
    return PageText(text, tuple(dict.fromkeys(rewriter.links)), tuple(dict.fromkeys(rewriter.tickets)))


def _convert_html(soup: "BeautifulSoup") -> str:
    return _BLANK_LINES.sub("\n\n", _build_converter().convert_soup(soup)).strip()


@cache
def _build_converter() -> "MarkdownConverter":
    from markdownify import ATX, BACKSLASH, MarkdownConverter  # noqa: PLC0415  # as above

    class Converter(MarkdownConverter):
        """Markdownify with fences that no code can end, and table cells that a vertical bar does not split."""

        def convert_pre(self, el: "Tag", text: str, parent_tags: set[str]) -> str:
            if not text:
                return ""
            longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
            fence = "`" * (longest + 1)
            code = text.strip("\n")
            if "td" in parent_tags or "th" in parent_tags:  # a cell has one line
                return " ".join(f"`{line}`" for line in code.splitlines() if line.strip())
            return f"\n\n{fence}{el.get('data-language', '')}\n{code}\n{fence}\n\n"

        def convert_td(self, el: "Tag", text: str, parent_tags: set[str]) -> str:
            cell: str = super().convert_td(el, _escape_cell(text), parent_tags)  # type: ignore[misc]  # its stubs lack it
            return cell

        def convert_th(self, el: "Tag", text: str, parent_tags: set[str]) -> str:
            cell: str = super().convert_th(el, _escape_cell(text), parent_tags)  # type: ignore[misc]  # as above
            return cell

    return Converter(
        heading_style=ATX,
        bullets="-",
        newline_style=BACKSLASH,
        escape_asterisks=False,
        escape_underscores=False,
        table_infer_header=True,
    )


def _escape_cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


class _Rewriter:
    """Replaces Confluence's elements by HTML, innermost first."""

    def __init__(self, soup: "BeautifulSoup", place: PagePlace) -> None:
        self.links: list[str] = []
        self.tickets: list[str] = []
        self._soup = soup
        self._place = place
        self._rewriters: dict[str, Callable[[Tag], None]] = {
            "ac:structured-macro": self._rewrite_macro,
            "ac:macro": self._rewrite_macro,
            "ac:link": self._rewrite_link,
            "ac:image": self._rewrite_image,
            "ac:task-list": self._rewrite_task_list,
            "ac:task": self._rewrite_task,
            "ac:emoticon": self._rewrite_emoticon,
            "ac:adf-extension": self._rewrite_adf_extension,
            "ac:placeholder": _remove,
            "ac:parameter": _leave,  # read by its macro
            "time": self._rewrite_time,
            "a": self._note_link,
        }

    def rewrite(self) -> None:
        """Rewrite the whole document."""
        for tag in reversed(self._soup.find_all(list(self._rewriters))):  # document order, so inner ones first
            if tag.parent is not None and not tag.decomposed:
                self._rewriters[tag.name](tag)
        self.links.reverse()
        self.tickets.reverse()

    def _rewrite_macro(self, macro: "Tag") -> None:
        name = str(macro.get("ac:name", ""))
        parameters = {str(child.get("ac:name", "")): child for child in macro.find_all("ac:parameter", recursive=False)}
        title = parameters["title"].get_text(" ", strip=True) if "title" in parameters else ""
        plain = macro.find("ac:plain-text-body", recursive=False)
        if plain is not None:
            language = parameters["language"].get_text(strip=True) if "language" in parameters else ""
            self._replace_by_code(macro, plain.get_text(), language, title)
        elif name in _PANELS:
            self._replace_by_panel(macro, title or _PANELS[name], _PANELS[name])
        elif name == "status":
            macro.replace_with(self._create("code", title or "status"))
        elif name == "jira":
            self._replace_by_ticket(macro, parameters)
        elif name in {"include", "excerpt-include"}:
            self._replace_by_include(macro, parameters)
        elif name in _PASSIVE_MACROS:
            macro.decompose()
        else:  # expand, excerpt, section, column, details and those of other vendors
            self._replace_by_body(macro, title)

    def _replace_by_code(self, macro: "Tag", code: str, language: str, title: str) -> None:
        block = self._create("pre", code)
        block["data-language"] = language if re.fullmatch(r"[\w+#.-]+", language) and language != "none" else ""
        if title:
            macro.insert_before(self._create_paragraph(title))
        macro.replace_with(block)

    def _replace_by_panel(self, macro: "Tag", title: str, kind: str) -> None:
        panel = self._create("blockquote")
        label = title if not kind or title == kind else f"{kind}: {title}"
        if label:
            panel.append(self._create_paragraph(label))
        self._move_body(macro, panel)
        macro.replace_with(panel)

    def _replace_by_body(self, macro: "Tag", title: str) -> None:
        block = self._create("div")
        body = macro.find("ac:rich-text-body", recursive=False)
        if title and body is not None:
            block.append(self._create_paragraph(title))
        self._move_body(macro, block)
        macro.replace_with(block)

    def _replace_by_ticket(self, macro: "Tag", parameters: "dict[str, Tag]") -> None:
        key = parameters["key"].get_text(strip=True) if "key" in parameters else ""
        if key:
            self.tickets.append(key)
            macro.replace_with(key)
        elif "jqlQuery" in parameters:
            macro.replace_with(self._create("code", parameters["jqlQuery"].get_text(strip=True)))
        else:
            macro.decompose()

    def _replace_by_include(self, macro: "Tag", parameters: "dict[str, Tag]") -> None:
        page = macro.find("ri:page")
        named = parameters.get("") or parameters.get("default-parameter")
        title = str(page.get("ri:content-title", "")) if page is not None else named.get_text() if named else ""
        space = str(page.get("ri:space-key", "")) if page is not None else ""
        paragraph = self._create("p", "Includes ")
        paragraph.append(self._create_link(self._place.link_page(title, space), title))
        macro.replace_with(paragraph)

    def _rewrite_link(self, link: "Tag") -> None:
        body = link.find(["ac:link-body", "ac:plain-text-link-body"], recursive=False)
        text = body.get_text(" ", strip=True) if body is not None else ""
        anchor = str(link.get("ac:anchor", ""))
        user, page = link.find("ri:user"), link.find(["ri:page", "ri:blog-post"])
        attachment, address = link.find("ri:attachment"), link.find("ri:url")
        if user is not None:
            name = user.get("ri:account-id") or user.get("ri:username") or user.get("ri:userkey") or ""
            link.replace_with(f"@{text or name}")
        elif attachment is not None:
            filename = str(attachment.get("ri:filename", ""))
            link.replace_with(self._create_link(self._place.link_attachment(filename), text or filename))
        elif page is not None:
            title = str(page.get("ri:content-title", ""))
            target = self._place.link_page(title, str(page.get("ri:space-key", "")))
            link.replace_with(self._create_link(f"{target}#{quote(anchor)}" if anchor else target, text or title))
        elif address is not None:
            target = str(address.get("ri:value", ""))
            link.replace_with(self._create_link(target, text or target))
        else:  # to an anchor of the same page, or to a page that is gone
            link.replace_with(text or anchor)

    def _rewrite_image(self, image: "Tag") -> None:
        attachment, address = image.find("ri:attachment"), image.find("ri:url")
        source = self._place.link_attachment(str(attachment.get("ri:filename", ""))) if attachment is not None else ""
        source = source or (str(address.get("ri:value", "")) if address is not None else "")
        caption = image.find("ac:caption")
        name = str(attachment.get("ri:filename", "")) if attachment is not None else ""
        element = self._create("img")
        element["src"] = source
        element["alt"] = str(image.get("ac:alt", "")) or (caption.get_text(" ", strip=True) if caption else "") or name
        image.replace_with(element)

    def _rewrite_task_list(self, tasks: "Tag") -> None:
        tasks.name = "ul"

    def _rewrite_task(self, task: "Tag") -> None:
        status, body = task.find("ac:task-status", recursive=False), task.find("ac:task-body", recursive=False)
        is_done = status is not None and status.get_text(strip=True) == "complete"
        entry = self._create("li", "[x] " if is_done else "[ ] ")
        if body is not None:
            body.name = "span"
            entry.append(body.extract())
        task.replace_with(entry)

    def _rewrite_emoticon(self, emoticon: "Tag") -> None:
        emoticon.replace_with(str(emoticon.get("ac:emoji-fallback", "") or f":{emoticon.get('ac:name', '')}:"))

    def _rewrite_adf_extension(self, extension: "Tag") -> None:
        """Keep the fallback, which has the same text as the node of the new editor."""
        content = extension.find("ac:adf-fallback") or extension.find("ac:adf-content")
        block = self._create("div")
        if content is not None:
            block.append(content.extract())
        extension.replace_with(block)

    def _rewrite_time(self, time: "Tag") -> None:
        time.replace_with(str(time.get("datetime", "")) or time.get_text())

    def _note_link(self, link: "Tag") -> None:
        if re.match(r"\s*(?:javascript|vbscript|data):", str(link.get("href", "")), re.IGNORECASE):
            del link["href"]
        elif str(link.get("href", "")).startswith(("http://", "https://")):
            self.links.append(str(link["href"]))

    def _create(self, name: str, text: str = "") -> "Tag":
        element = self._soup.new_tag(name)
        if text:
            element.string = text
        return element

    def _create_paragraph(self, text: str) -> "Tag":
        paragraph = self._create("p")
        paragraph.append(self._create("strong", text))
        return paragraph

    def _create_link(self, target: str, text: str) -> "Tag":
        link = self._create("a", text)
        link["href"] = target
        if target.startswith(("http://", "https://")):
            self.links.append(target)
        return link

    def _move_body(self, macro: "Tag", target: "Tag") -> None:
        body = macro.find("ac:rich-text-body", recursive=False)
        if body is not None:
            for child in list(body.children):
                target.append(child.extract())


def _remove(tag: "Tag") -> None:
    tag.decompose()


def _leave(_tag: Any) -> None:  # noqa: ANN401  # any element
    """Leave an element to the one around it."""
