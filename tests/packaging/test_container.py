"""The image and the compose file hold what they promise: no root, a read-only root file system, pinned bases, real settings."""

import json
import re
import shlex
import subprocess
import sys
import threading
import tomllib
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from coderag.server.settings import ServerSettings

ROOT = Path(__file__).resolve().parents[2]
PINNED = re.compile(r"[a-z0-9./_-]+:[a-z]*\d[\w.-]*")
VALUES = {"POSTGRES_PASSWORD": "ab12", "CODERAG_DOMAIN": "code.example.org", "CODERAG_OBJECTS_SECRET": "cd34"}


def parse_dockerfile(text: str) -> list[tuple[str, str]]:
    """Return the instructions with their arguments, lines joined and comments left out."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(name.upper(), rest) for name, _, rest in (line.partition(" ") for line in joined.splitlines())]


@pytest.fixture(scope="module")
def stages() -> list[list[tuple[str, str]]]:
    stages: list[list[tuple[str, str]]] = []
    for instruction in parse_dockerfile((ROOT / "Dockerfile").read_text(encoding="utf-8")):
        if instruction[0] == "FROM":
            stages.append([])
        stages[-1].append(instruction)
    return stages


@pytest.fixture(scope="module")
def image(stages: list[list[tuple[str, str]]]) -> dict[str, str]:
    """Instructions of the last stage; the last of each kind counts."""
    return dict(stages[-1])


@pytest.fixture(scope="module")
def environment(stages: list[list[tuple[str, str]]]) -> dict[str, str]:
    words = [word for name, rest in stages[-1] if name == "ENV" for word in shlex.split(rest)]
    return dict(word.partition("=")[::2] for word in words)  # type: ignore[misc]


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8").replace("$$", "\0")

    def replace(match: re.Match[str]) -> str:
        name, operator, default = match.groups()
        if name in VALUES:
            return VALUES[name]
        assert operator == ":-", f"{name} has no default"
        return str(default)

    text = re.sub(r"\$\{(\w+)(?:(:-|:\?)([^}]*))?\}", replace, text)
    assert "$" not in text
    loaded = yaml.safe_load(text.replace("\0", "$"))
    assert isinstance(loaded, dict)
    return loaded


def test_bases_are_pinned_and_the_result_is_built_in_a_stage_of_its_own(stages: list[list[tuple[str, str]]]) -> None:
    bases = [stage[0][1].split()[0] for stage in stages]
    assert len(bases) == 2
    assert all(PINNED.fullmatch(base) and "slim" in base for base in bases)
    assert len(set(bases)) == 1, "a package that is built for one Python runs on that one"
    assert not any("uv" in rest for name, rest in stages[-1] if name == "RUN")


def test_image_runs_as_a_numbered_user_without_root(stages: list[list[tuple[str, str]]], image: dict[str, str]) -> None:
    user, group = image["USER"].split(":")
    assert int(user) >= 10_000
    assert int(group) >= 10_000
    names = [name for name, _ in stages[-1]]
    assert names.index("USER") > max(position for position, name in enumerate(names) if name in ("RUN", "COPY"))


def test_image_writes_into_its_volumes_only(image: dict[str, str], environment: dict[str, str]) -> None:
    volumes = json.loads(image["VOLUME"])
    for name in ("HOME", "XDG_CACHE_HOME", "CODERAG_SERVER_DATA"):
        assert any(environment[name].startswith(f"{volume}/") for volume in volumes), name
    assert environment["PYTHONDONTWRITEBYTECODE"] == "1"
    assert image["WORKDIR"] in volumes


def test_settings_of_the_image_are_settings(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment.items():
        if name.startswith("CODERAG_"):
            monkeypatch.setenv(name, value)
    settings = ServerSettings.load()
    assert (settings.host, settings.port) == ("0.0.0.0", int("8080"))
    assert settings.data == Path("/data/server")


def test_image_starts_the_server_without_a_shell(image: dict[str, str]) -> None:
    assert json.loads(image["ENTRYPOINT"]) == ["coderag"]
    assert json.loads(image["CMD"])[0] == "server"


def test_image_has_git_and_the_programs_of_backups(stages: list[list[tuple[str, str]]]) -> None:
    run = " ".join(rest for name, rest in stages[-1] if name == "RUN")
    assert {"git", "openssh-client", "postgresql-client"} <= set(run.split())
    assert "--no-install-recommends" in run
    assert "rm -rf /var/lib/apt/lists/*" in run


def test_image_installs_the_locked_versions_with_extras_that_exist(stages: list[list[tuple[str, str]]]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    text = " ".join(rest for _, rest in stages[0])
    extras = set(re.findall(r"--extra (\w+)", text))
    assert {"server", "postgres"} <= extras <= set(project["optional-dependencies"])
    for name, rest in stages[0]:
        if name == "RUN" and "uv sync" in rest:
            assert "--frozen" in rest
            assert "--no-dev" in rest
    assert "--no-editable" in text


def test_image_holds_no_secret(stages: list[list[tuple[str, str]]]) -> None:
    for name, rest in (instruction for stage in stages for instruction in stage):
        assert name != "ADD"
        if name in ("ARG", "ENV"):
            assert not re.search(r"(?i)password|secret|token|key", rest)


def is_ignored(path: str) -> bool:
    ignored = False
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        pattern = line.strip()
        if pattern and not pattern.startswith("#"):
            name = pattern.removeprefix("!").removeprefix("**/")
            if fnmatch(path, name) or fnmatch(path.rpartition("/")[2], name) or path.startswith(f"{name}/"):
                ignored = not pattern.startswith("!")
    return ignored


def test_build_context_has_what_is_copied_and_nothing_private(stages: list[list[tuple[str, str]]]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    sources = {word for name, rest in stages[0] if name == "COPY" for word in rest.split()[:-1]}
    assert sources >= {"coderag", *project["package-dir"].values(), "pyproject.toml", "uv.lock"}
    for source in sources:
        assert (ROOT / source).exists()
        assert not is_ignored(source)
    for private in (
        ".git",
        ".env",
        ".venv",
        "server.yaml",
        "master.key",
        "backup.passphrase",
        "coderag/a.pyc",
        "tests",
    ):
        assert is_ignored(private)


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1)])
def test_health_check_asks_for_readiness(image: dict[str, str], status: int, code: int) -> None:
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    command = json.loads(image["HEALTHCHECK"].partition(" CMD ")[2])
    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        finished = subprocess.run(
            [sys.executable, *command[1:]],
            env={"CODERAG_SERVER_PORT": str(server.server_port)},
            capture_output=True,
            check=False,
        )
    assert command[0] == "python"
    assert (finished.returncode, asked) == (code, ["/readyz"])


def test_services_have_pinned_images_and_few_rights(compose: dict[str, Any]) -> None:
    for name, service in compose["services"].items():
        assert PINNED.fullmatch(service["image"]) or "build" in service, name
        assert service["read_only"] is True, name
        assert "no-new-privileges:true" in service["security_opt"], name
        assert not {"privileged", "network_mode", "pid", "devices"} & service.keys(), name
        for volume in service.get("volumes", []):
            assert volume.split(":")[0] in compose["volumes"], f"{name} mounts a folder of the host"
    for name in ("server", "backup", "upload", "proxy"):
        assert compose["services"][name]["cap_drop"] == ["ALL"]


def test_services_refer_to_what_there_is(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for name, service in services.items():
        assert set(service.get("networks", [])) <= compose["networks"].keys(), name
        assert set(service.get("secrets", [])) <= compose["secrets"].keys(), name
        for other, dependency in service.get("depends_on", {}).items():
            profiles = set(services[other].get("profiles", []))
            assert profiles <= set(service.get("profiles", [])), f"{name} waits for {other}, which is not started"
            if dependency["condition"] == "service_healthy":
                assert "healthcheck" in services[other] or services[other]["image"] == "coderag-engine:local"


def test_only_the_proxy_is_reached_from_outside(compose: dict[str, Any]) -> None:
    assert [name for name, service in compose["services"].items() if "ports" in service] == ["proxy"]
    assert compose["networks"]["back"]["internal"] is True
    assert compose["services"]["postgres"]["networks"] == compose["services"]["objects"]["networks"] == ["back"]


def test_settings_of_the_service_are_settings(compose: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    proxy = compose["services"]["proxy"]
    for name, value in compose["services"]["server"]["environment"].items():
        monkeypatch.setenv(name, value)
    settings = ServerSettings.load()
    assert settings.url == "postgresql://coderag:ab12@postgres/coderag"
    assert settings.public_url == "https://code.example.org"
    assert settings.trusted_proxies == (proxy["networks"]["front"]["ipv4_address"],)
    assert proxy["command"][-1] == f"server:{settings.port}"


def test_object_storage_is_a_profile_of_backups(compose: dict[str, Any]) -> None:
    profiles = {name: service.get("profiles", []) for name, service in compose["services"].items()}
    assert {name for name, names in profiles.items() if names} == {"backup", "upload", "objects"}
    assert compose["services"]["upload"]["depends_on"]["backup"]["condition"] == "service_completed_successfully"


def test_passwords_have_no_default() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    for name, default in re.findall(r"\$\{(\w*(?:PASSWORD|SECRET)\w*):-([^}]*)\}", text):
        assert default == "", name
    assert "${CODERAG_OBJECTS_SECRET:?" in text.replace("$$", "$")
