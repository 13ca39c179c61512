"""Measure the pages of a running web interface: ``python -m tools.web.measure [FOLDER]``, after ``coderag index``.

Prints for each page: first paint, time until its data is there, requests, bytes, the largest reply, and tasks that block
for more than 50 ms. Then the time of searches as you type. It needs Chromium and Playwright.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page, Response

_PAGES: Final = {
    "dashboard": "text=Coverage",
    "code": "[role=tree]",
    "search": "[data-search]",
    "graph": "canvas",
    "map": "canvas",
    "ask": "#question",
    "settings": "text=Settings in force",
}
"""Pages with the selector of what shows that their data is there."""

_TYPED: Final = "where are the search weights loaded"
_TIMEOUT_MS: Final = 120_000
_OBSERVE: Final = """
window.longTasks = [];
new PerformanceObserver((list) => window.longTasks.push(...list.getEntries().map((entry) => entry.duration)))
  .observe({ type: "longtask", buffered: true });
"""


@dataclass(frozen=True, slots=True)
class PageFigures:
    """Figures of one page, loaded with an empty cache.

    Attributes:
        paint_ms: Milliseconds until the first contentful paint.
        ready_ms: Milliseconds until its data is there.
        requests: Number of requests.
        bytes: Bytes of all replies, as transferred.
        largest_reply: Bytes of the largest reply, decompressed.
        long_tasks_ms: Sum of the tasks that block for more than 50 ms.
    """

    page: str
    paint_ms: float
    ready_ms: float
    requests: int
    bytes: int
    largest_reply: int
    long_tasks_ms: float


def measure_page(context: "BrowserContext", name: str, address: str, selector: str) -> PageFigures:
    """Load a page with an empty cache and return its figures."""
    page = context.new_page()
    page.add_init_script(_OBSERVE)
    network = page.context.new_cdp_session(page)
    sizes: list[float] = []
    network.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})
    replies: list[Response] = []
    page.on("response", lambda reply: replies.append(reply))  # noqa: PLW0108  # Playwright takes no built-in method
    start = time.perf_counter()
    page.goto(address)
    page.locator(selector).first.wait_for()
    ready_ms = (time.perf_counter() - start) * 1e3
    page.wait_for_timeout(1_000)
    figures = PageFigures(
        page=name,
        paint_ms=page.evaluate("performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"),
        ready_ms=ready_ms,
        requests=len(replies),
        bytes=int(sum(sizes)),
        largest_reply=max((len(reply.body()) for reply in replies if _has_ended(reply)), default=0),
        long_tasks_ms=page.evaluate("window.longTasks.reduce((sum, ms) => sum + ms, 0)"),
    )
    page.close()
    return figures


def _has_ended(reply: "Response") -> bool:
    return "event-stream" not in reply.headers.get("content-type", "")


def measure_typing(context: "BrowserContext", address: str) -> list[float]:
    """Type a query letter by letter and return the milliseconds of each search."""
    page: Page = context.new_page()
    times: list[float] = []

    def note_time(request: Any) -> None:  # noqa: ANN401  # of Playwright
        if "/search/preview" in request.url:
            times.append(request.timing["responseEnd"])

    page.on("requestfinished", note_time)
    page.goto(address)
    page.locator("[data-search]").wait_for()
    for letter in _TYPED:
        page.locator("[data-search]").press_sequentially(letter)
        page.wait_for_timeout(250)
    page.wait_for_timeout(1_000)
    page.close()
    return times


def run(folder: Path, rounds: int) -> dict[str, Any]:
    """Measure all pages of a repository, the median of some rounds."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415  # a tool's own need

    command = [sys.executable, "-m", "coderag", "web", "-C", str(folder), "--json"]
    reply = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    query = f"?repo={quote(str(folder.resolve()), safe='')}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"],
        )
        context = browser.new_context(viewport={"width": 1280, "height": 850})
        context.set_default_timeout(_TIMEOUT_MS)
        page = context.new_page()
        page.goto(reply["url"])
        page.get_by_role("navigation", name="Pages", exact=True).wait_for()
        page.close()
        pages = [
            _take_median(
                [measure_page(context, name, f"{reply['address']}/{name}{query}", selector) for _ in range(rounds)]
            )
            for name, selector in _PAGES.items()
        ]
        typing_ms = measure_typing(context, f"{reply['address']}/search{query}")
        browser.close()
    return {"pages": [asdict(figures) for figures in pages], "typing_ms": sorted(typing_ms)}


def _take_median(rounds: list[PageFigures]) -> PageFigures:
    return sorted(rounds, key=lambda figures: figures.ready_ms)[len(rounds) // 2]


def main() -> None:
    """Print the figures as a table, or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="an indexed repository")
    parser.add_argument("--rounds", type=int, default=3, help="loads of each page; the median is printed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    figures = run(options.folder, options.rounds)
    if options.json:
        print(json.dumps(figures, indent=1))
        return
    print(f"{'page':<10} {'paint':>8} {'ready':>8} {'requests':>8} {'kB':>8} {'largest kB':>10} {'blocked':>8}")
    for row in figures["pages"]:
        print(
            f"{row['page']:<10} {row['paint_ms']:>5.0f} ms {row['ready_ms']:>5.0f} ms {row['requests']:>8} "
            f"{row['bytes'] / 1e3:>8.0f} {row['largest_reply'] / 1e3:>10.0f} {row['long_tasks_ms']:>5.0f} ms"
        )
    if times := figures["typing_ms"]:
        print(
            f"search as you type: median {statistics.median(times):.0f} ms, slowest {times[-1]:.0f} ms of {len(times)}"
        )


if __name__ == "__main__":
    main()
