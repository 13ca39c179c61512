"""A signed-in page of a real browser on a service with an indexed repository."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from tests.integration.service_machine import Machine
from tests.support.shop import write_shop
from tests.web.team_server import TeamServer, run_team_server
from tests.web.team_state import TeamState, make_state

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

TIMEOUT_MS = 30_000


@dataclass(frozen=True)
class Site:
    """The pages of a running service.

    Attributes:
        machine: The user's machine: it runs commands, and holds the repository.
        url: Address of the pages.
    """

    machine: Machine
    url: str

    @property
    def root(self) -> Path:
        return self.machine.root

    def sign_in(self, context: "BrowserContext") -> None:
        """Sign a browser in with a new one-time code."""
        page = context.new_page()
        page.goto(json.loads(self.machine.run("web", "--json").stdout)["url"])
        page.get_by_role("navigation", name="Pages", exact=True).wait_for()
        page.close()

    def address(self, path: str, **query: str) -> str:
        """Return the address of a page of the repository."""
        parameters = "&".join(
            f"{name}={quote(value, safe='')}" for name, value in {"repo": str(self.root), **query}.items()
        )
        return f"{self.url}/{path}?{parameters}"


@pytest.fixture(scope="module")  # not longer: while Playwright runs, asyncio takes its loop for a running one
def browser() -> Iterator["Browser"]:
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]
        )
        yield browser
        browser.close()


@contextmanager
def run_site(tmp_path_factory: pytest.TempPathFactory, **variables: str) -> Iterator[Site]:
    """Index the shop and serve its pages, with variables of the environment."""
    machine = Machine(tmp_path_factory.mktemp("home"), write_shop(tmp_path_factory.mktemp("shop")))
    machine.variables |= variables
    done = machine.run("index")
    assert done.returncode == 0, done.stderr
    reply = json.loads(machine.run("web", "--port", "0", "--json").stdout)
    yield Site(machine, reply["address"])
    machine.stop()


@pytest.fixture(scope="session")
def shared_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with run_site(tmp_path_factory) as site:
        yield site


@pytest.fixture(scope="module")
def own_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site for a module that changes the repository, its settings or its index for good."""
    with run_site(tmp_path_factory) as site:
        yield site


@pytest.fixture(scope="module")
def site(shared_site: Site) -> Site:
    """The site of most modules, which leave it as it was; others return `own_site`."""
    return shared_site


@pytest.fixture(scope="module")
def signed_in(browser: "Browser", site: Site) -> Iterator["BrowserContext"]:
    """A browser with a session; pages of a module share it."""
    context = browser.new_context(viewport={"width": 1280, "height": 850})
    context.set_default_timeout(TIMEOUT_MS)
    site.sign_in(context)
    yield context
    context.close()


@pytest.fixture
def page(signed_in: "BrowserContext") -> Iterator["Page"]:
    """A page that fails its test if a script throws or the content security policy blocks something."""
    page = signed_in.new_page()
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on(
        "console", lambda message: faults.append(message.text) if "Content Security Policy" in message.text else None
    )
    yield page
    page.close()
    assert faults == []


def find_violations(page: "Page") -> list[str]:
    """Return the violations of WCAG 2 A and AA that axe sees, each with the first element."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
    violations = axe.run(page, options=options).response["violations"]
    return [f"{entry['id']}: {entry['nodes'][0]['html'][:200]}" for entry in violations]


@dataclass(frozen=True)
class TeamSite:
    """A team server and a browser.

    Attributes:
        server: The server, with its state.
        browser: The browser.
        faults: Errors of scripts and of the content security policy.
    """

    server: TeamServer
    browser: "Browser"
    faults: list[str] = field(default_factory=list)

    @property
    def state(self) -> TeamState:
        return self.server.state

    def address(self, path: str) -> str:
        """Return the address of a page."""
        return f"{self.server.url}/{path}"

    def open(self, path: str = "", *, width: int = 1280) -> "Page":
        """Open a page in a new browser without a session."""
        context = self.browser.new_context(viewport={"width": width, "height": 850})
        context.set_default_timeout(TIMEOUT_MS)
        page = context.new_page()
        page.on("pageerror", lambda error: self.faults.append(str(error)))
        page.on("console", lambda message: self._note_message(message.text))
        page.goto(self.address(path))
        return page

    def sign_in(self, role: str, path: str = "", *, width: int = 1280) -> "Page":
        """Open a page as the account of a role."""
        page = self.open(path, width=width)
        page.get_by_label("API key").fill(f"cr_{role}")
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.get_by_role("navigation", name="Pages", exact=True).wait_for()
        return page

    def _note_message(self, text: str) -> None:
        if "Content Security Policy" in text:
            self.faults.append(text)


@pytest.fixture(scope="session")
def team_machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """A machine on which the repository `shop` is indexed."""
    root = tmp_path_factory.mktemp("hosted") / "shop"
    root.mkdir()
    machine = Machine(tmp_path_factory.mktemp("server-home"), write_shop(root))
    done = machine.run("index")
    assert done.returncode == 0, done.stderr
    return machine


@pytest.fixture
def team(browser: "Browser", team_machine: Machine, monkeypatch: pytest.MonkeyPatch) -> Iterator[TeamSite]:
    """A team server of its own for a test."""
    for name, value in team_machine.variables.items():
        monkeypatch.setenv(name, value)
    with run_team_server(make_state(extra_users=120)) as server:
        site = TeamSite(server, browser)
        yield site
        for context in browser.contexts:
            context.close()
    assert site.faults == []
