"""``coderag server``: a server set up and administered by its operator, with real services and files."""

import json
import stat
import subprocess
import sys
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from coderag.errors import ConfigurationError, DatabaseUnavailableError
from coderag.interfaces.cli.commands.server.opening import explain_missing_extra
from coderag.interfaces.cli.main import app
from coderag.server.audit.audit_log import AuditLog
from coderag.server.identity.keys import KeyService
from coderag.server.identity.principals import PrincipalLoader
from coderag.server.run_files import record_process
from coderag.server.storage.database import Database
from coderag.server.storage.models import AuditEntry, HostedRepository, RepositorySource

Run = Callable[..., Result]
TOKEN = "glpat-very-secret-token"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run ``coderag server ...`` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return lambda *arguments, stdin="": CliRunner().invoke(app, ["server", *arguments], input=stdin)


@pytest.fixture
def server(run: Run) -> Run:
    """Run commands on a server with the owner Ann."""
    assert run("init", "--name", "Ann", "--email", "ann@example.org").exit_code == 0
    return run


def read_json(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def open_database() -> Database:
    return Database("sqlite:///coderag-server/server.sqlite")


def add_repository(name: str, *sources: str) -> str:
    database = open_database()
    repository = HostedRepository(name=name, url=f"https://git.example.org/{name}.git")
    with database.begin() as session:
        session.add(repository)
        session.flush()
        session.add_all(
            RepositorySource(repository_id=repository.id, name=source, kind="documentation") for source in sources
        )
    database.close()
    return repository.id


def test_init_prints_a_key_that_works_once(run: Run) -> None:
    result = run("init", "--name", "Ann", "--email", "Ann@example.org")
    secret = result.stdout.strip()
    assert (result.exit_code, "\n" in secret, secret in result.stderr) == (0, False, False)
    database = open_database()
    principal = KeyService(database, PrincipalLoader(database)).authenticate(secret, "::1")
    database.close()
    assert (principal.name, principal.role) == ("Ann", "owner")
    again = run("init", "--name", "Eve", "--email", "eve@example.org")
    assert (again.exit_code, again.stdout, "was initialized before" in again.stderr) == (3, "", True)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_init_creates_private_files(server: Run) -> None:
    modes = [stat.S_IMODE(Path(path).stat().st_mode) for path in ("coderag-server", "coderag-server/master.key")]
    assert modes == [0o700, 0o600]


def test_init_goes_on_where_it_was_interrupted(run: Run) -> None:
    bad = run("init", "--name", "Ann", "--email", "nobody")
    assert (bad.exit_code, "e-mail 'nobody'" in bad.stderr) == (2, True)
    assert not Path("coderag-server").exists()
    Path("coderag-server").mkdir()
    created = read_json(run("init", "--name", "Ann", "--email", "ann@example.org", "--json"))
    Path("coderag-server/server.sqlite").unlink()  # the key is there, the tables are not
    again = read_json(run("init", "--name", "Ann", "--email", "ann@example.org", "--json"))
    assert created["master_key"] == again["master_key"]


def test_without_a_terminal_init_asks_for_options(run: Run) -> None:
    result = run("init", "--name", "Ann")
    assert (result.exit_code, "--email is missing" in result.stderr) == (2, True)


@pytest.mark.parametrize("command", ["status", "users list", "upgrade", "backup create x.tar.gz", "audit verify"])
def test_commands_before_init_name_it(run: Run, command: str) -> None:
    result = run(*command.split())
    assert (result.exit_code, "coderag server init" in result.stderr) in ((2, True), (3, True))
    assert not Path("coderag-server/server.sqlite").exists()


def test_accounts(server: Run) -> None:
    assert (
        "created Ben <ben@example.org>: viewer"
        in server("users", "add", "Ben", "BEN@example.org", "-r", "viewer").stdout
    )
    assert server("users", "add", "Ben 2", "ben@example.org").exit_code == 48
    service = read_json(server("users", "add-service", "ci", "--json"))
    changed = read_json(server("users", "set", "ben@example.org", "--role", "admin", "--disable", "--json"))
    assert (changed["role"], changed["is_active"]) == ("admin", False)
    assert server("users", "sign-out", "Ben").stdout == "ended 0 sessions of Ben\n"
    listed = read_json(server("users", "list", "--json"))
    assert [user["name"] for user in listed["users"]] == ["Ann", "Ben", "ci"]
    assert server("users", "list", "--search", "CI").stdout.startswith("ci  (program)  member  active")
    refused = server("users", "remove", "ci")
    assert (refused.exit_code, "--yes" in refused.stderr) == (2, True)
    assert server("users", "remove", str(service["id"]), "--yes").stdout.startswith("removed ci")
    for change in (("remove", "Ann", "--yes"), ("set", "Ann", "--disable"), ("set", "Ann", "--role", "member")):
        result = server("users", *change)
        assert (result.exit_code, "last active owner" in result.stderr) == (2, True)
    assert server("users", "show", "nobody").exit_code == 2


@pytest.mark.parametrize("options", [[], ["--disable", "--enable"]])
def test_a_change_needs_one_meaning(server: Run, options: list[str]) -> None:
    assert server("users", "set", "Ann", *options).exit_code == 2


def test_teams_and_grants(server: Run) -> None:
    repository = add_repository("shop", "wiki")
    read_json(server("teams", "add", "core", "--group", "dev", "--json"))
    assert server("teams", "add-member", "core", "Ann").stdout == "added Ann to core, which has 1 member\n"
    assert server("grants", "set", "core", "shop", "index").stdout == "core has index on shop\n"
    granted = server("grants", "set", "core", repository, "read", "--source", "wiki")
    assert granted.stdout == "core has read on the source wiki of shop\n"
    assert "Only teams with a grant" in granted.stderr
    grants = read_json(server("grants", "list", "--team", "core", "--json"))["grants"]
    assert {(grant["repository"], grant["source"], grant["level"]) for grant in grants} == {
        ("shop", None, "index"),
        ("shop", "wiki", "read"),
    }
    shown = server("teams", "show", "core").stdout
    assert "index shop" in shown
    assert "Ann (owner)" in shown
    assert server("grants", "remove", "core", "shop", "--source", "wiki").exit_code == 0
    assert server("grants", "remove", "core", "shop", "--source", "wiki").exit_code == 2
    assert server("teams", "set", "core", "--group", "").stdout.startswith("changed core, id ")
    assert server("teams", "remove-member", "core", "Ann").exit_code == 0
    assert server("teams", "remove", "core", "--yes").exit_code == 0
    assert read_json(server("grants", "list", "--json")) == {"grants": []}


def test_keys(server: Run) -> None:
    add_repository("shop")
    server("users", "add-service", "ci")
    created = server("keys", "create", "ci", "nightly", "--scope", "index", "--repository", "shop", "--days", "30")
    secret = created.stdout.strip()
    assert secret.startswith("cr_")
    assert secret not in created.stderr
    (key,) = read_json(server("keys", "list", "ci", "--json"))["keys"]
    assert (key["name"], key["scopes"], secret in json.dumps(key)) == ("nightly", ["read", "index"], False)
    assert server("keys", "revoke", key["id"]).stdout == f"revoked {key['id']}\n"
    assert "revoked" in server("keys", "list", "ci").stdout
    assert server("keys", "revoke", "0" * 32).exit_code == 2


@pytest.mark.parametrize("way", ["stdin", "file"])
def test_the_secret_of_a_credential_is_never_an_argument_nor_printed(server: Run, tmp_path: Path, way: str) -> None:
    if way == "stdin":
        options, stdin = ["--secret-stdin"], TOKEN + "\n"
    else:
        (tmp_path / "token").write_text(TOKEN + "\n")
        options, stdin = ["--secret-file", str(tmp_path / "token")], ""
    results = [server("credentials", "add", "forge", "git.example.org", *options, stdin=stdin)]
    assert results[0].stdout.startswith("stored forge for git.example.org")
    results += [
        server("credentials", "list", "--json"),
        server("credentials", "add", "forge", "x", *options, stdin=stdin),
    ]
    results += [server("audit", "list", "--json"), server("credentials", "remove", "forge", "--yes")]
    assert not any(TOKEN in result.output for result in results)
    assert server("credentials", "list").stdout == ""


def test_source_of_a_repository_keeps_its_token_secret(
    server: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "coderag.server.repositories.source_checks.find_addresses", lambda *_: (ip_address("192.0.2.1"),)
    )
    monkeypatch.setattr("coderag.server.repositories.source_checks.is_public", lambda _: True)
    add_repository("shop")
    settings = tmp_path / "tracker.yaml"
    settings.write_text("system: jira\naddress: https://tracker.example\nuser: a@b.example\nprojects: [SHOP]\n")
    results = [server("sources", "set", "shop", "tracker", str(settings), "--secret-stdin", stdin=TOKEN)]
    assert results[0].stdout.startswith("set tracker of shop: backlog")
    results += [server("sources", "list", "shop", "--json"), server("audit", "list", "--json")]
    (source,) = read_json(results[1])["sources"]
    assert (source["kind"], source["settings"]["projects"]) == ("backlog", ["SHOP"])
    results.append(server("sources", "remove", "shop", "tracker", "--yes"))
    assert server("sources", "list", "shop").stdout == ""
    assert not any(TOKEN in result.output for result in results)


def test_source_is_set_by_flags_and_synchronised(server: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "coderag.server.repositories.source_checks.find_addresses", lambda *_: (ip_address("192.0.2.1"),)
    )
    monkeypatch.setattr("coderag.server.repositories.source_checks.is_public", lambda _: True)
    add_repository("shop")
    pairs = ["system=jira", "address=https://tracker.example", "user=a@b.example", "projects=SHOP,PAY"]
    flags = [part for pair in pairs for part in ("--setting", pair)]
    assert server("sources", "set", "shop", "tracker", *flags, "--secret-stdin", stdin=TOKEN).exit_code == 0
    kept = server("sources", "set", "shop", "tracker", "--setting", "jql=project = SHOP", "--keep-token")
    assert (kept.exit_code, "set either projects or jql" in kept.stderr) == (2, True)
    kept = server("sources", "set", "shop", "tracker", "--setting", "projects=SHOP", "--keep-token")
    assert kept.exit_code == 0, kept.stderr
    (source,) = read_json(server("sources", "list", "shop", "--json"))["sources"]
    assert (source["settings"]["projects"], source["settings"]["user"]) == (["SHOP"], "a@b.example")
    job = read_json(server("sources", "sync", "shop", "tracker", "--full", "--json"))
    (listed,) = read_json(server("jobs", "list", "--json"))["jobs"]
    assert (job["id"], job["state"]) == (listed["id"], "queued")
    assert server("sources", "sync", "shop", "missing").exit_code == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give a FILE or --setting"),
        (["--setting", "spaces=A"], "name the system"),
        (["--setting", "system=jira", "--setting", "spaces=A"], "with a key of jira"),
        (["--setting", "system=jira", "--setting", "token=x"], "has a token"),
        (["--setting", "system=jira", "--keep-token"], "token: is missing"),
        (["--setting", "system=jira", "--keep-token", "--secret-stdin"], "takes no new token"),
    ],
)
def test_wrong_flags_of_a_source_are_explained(server: Run, arguments: list[str], message: str) -> None:
    add_repository("shop")
    result = server("sources", "set", "shop", "tracker", *arguments)
    assert (result.exit_code, message in result.stderr) == (2, True), result.stderr


JIRA = "system: jira\naddress: https://t.example\nuser: a@b.example\nprojects: [A]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("system: files\npath: /etc\n", "reads files of this machine"),
        (
            "system: jira\naddress: https://t.example\nuser: a@b.example\nprojects: [A]\ncredential_file: /etc/x\n",
            "file of the server",
        ),
        ("system: jira\naddress: http://t.example\nuser: a@b.example\nprojects: [A]\n", "https"),
        ("system: jira\naddress: https://127.0.0.1\nuser: a@b.example\nprojects: [A]\n", "not public"),
        ("system: jira\naddress: https://t.example\nuser: ${HOME}\nprojects: [A]\n", "variables of the server"),
        ("system: jira\ntoken: x\n", "holds a token"),
        ("- a\n", "is not a mapping"),
    ],
)
def test_source_that_reaches_into_the_server_is_refused(server: Run, tmp_path: Path, text: str, message: str) -> None:
    add_repository("shop")
    (tmp_path / "source.yaml").write_text(text)
    result = server("sources", "set", "shop", "x", str(tmp_path / "source.yaml"), "--secret-stdin", stdin=TOKEN)
    assert result.exit_code == 2
    assert message in result.stderr
    assert TOKEN not in result.output


def test_a_missing_secret_is_an_error(server: Run) -> None:
    result = server("credentials", "add", "forge", "git.example.org")
    assert (result.exit_code, "--secret-stdin" in result.stderr) == (2, True)
    empty = server("credentials", "add", "forge", "git.example.org", "--secret-stdin", stdin="\n")
    assert (empty.exit_code, "is empty" in empty.stderr) == (2, True)


def test_repositories_and_jobs(server: Run) -> None:
    add_repository("shop", "wiki")
    server("credentials", "add", "forge", "git.example.org", "--secret-stdin", stdin=TOKEN)
    changed = read_json(server("repositories", "set", "shop", "--every", "60", "--branch", "next", "--json"))
    assert (changed["interval_minutes"], changed["branch"]) == (60, "next")
    assert server("repositories", "set", "shop", "--credential", "unknown").exit_code == 2
    assert server("repositories", "set", "shop").exit_code == 2
    assert "unknown repository 'shoop'" in server("repositories", "sync", "shoop").stderr
    assert "unknown job 'x'" in server("jobs", "show", "x").stderr
    assert server("repositories", "sources", "shop").stdout.startswith("wiki  documentation")
    webhook = read_json(server("repositories", "webhook", "shop", "--json"))
    assert str(webhook["url"]).endswith(f"/hooks/{changed['id']}")
    job = read_json(server("repositories", "sync", "shop", "--json"))
    (listed,) = read_json(server("jobs", "list", "--repository", "shop", "--json"))["jobs"]
    assert (listed["id"], listed["repository"], listed["state"]) == (job["id"], "shop", "queued")
    assert "queued" in server("jobs", "show", str(job["id"])).stdout
    assert server("jobs", "cancel", str(job["id"])).stdout.startswith("cancelled the job of shop")
    assert server("jobs", "cancel", str(job["id"])).exit_code == 2
    assert server("repositories", "remove", "shop", "--yes").exit_code == 0
    assert read_json(server("repositories", "list", "--json")) == {"repositories": []}
    inside = server("repositories", "add", "bad", "file:///etc")
    assert (inside.exit_code, inside.stdout) == (2, "")


def test_every_change_is_in_the_audit_record_as_the_operators(server: Run) -> None:
    server("teams", "add", "core")
    server("teams", "add", "core")  # fails
    entries = read_json(server("audit", "list", "--json"))["entries"]
    assert {entry["actor"] for entry in entries} == {"operator"}
    seen = [(entry["action"], entry["outcome"], entry["detail"]["command"]) for entry in entries]
    assert seen == [
        ("teams.manage", "failed", "teams add"),
        ("teams.manage", "allowed", "teams add"),
        ("teams.manage", "allowed", "teams add"),
        ("users.manage", "allowed", "init"),
    ]


def test_a_change_that_cannot_be_recorded_is_not_made(server: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DatabaseUnavailableError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(AuditLog, "record", fail)
        assert server("teams", "add", "core").exit_code == 49
    assert read_json(server("teams", "list", "--json")) == {"teams": []}


def test_verification_finds_a_changed_entry(server: Run) -> None:
    assert server("audit", "verify").stdout.startswith("intact: 1 entries")
    database = open_database()
    with database.begin() as session:
        session.get_one(AuditEntry, 1).actor = "somebody"
    database.close()
    result = server("audit", "verify")
    assert (result.exit_code, result.stdout.startswith("BROKEN at number 1")) == (6, True)


def test_the_record_is_exported(server: Run, tmp_path: Path) -> None:
    lines = server("audit", "export").stdout.splitlines()
    assert [json.loads(line)["detail"]["command"] for line in lines] == ["init", "audit export"]
    target = tmp_path / "audit.jsonl"
    assert server("audit", "export", "-o", str(target)).exit_code == 0
    assert len(target.read_text(encoding="utf-8").splitlines()) == 3
    assert server("audit", "export", "-o", str(target)).exit_code == 3  # nothing is overwritten


def test_reset_of_the_counter_needs_consent_and_is_recorded(server: Run) -> None:
    before = read_json(server("audit", "verify", "--json"))["entries"]
    reply = read_json(server("audit", "reset-counter", "--yes", "--json"))
    assert reply["entries"] == before + 1
    assert read_json(server("audit", "verify", "--json"))["is_intact"]


def test_without_retention_nothing_is_pruned(server: Run) -> None:
    assert read_json(server("audit", "prune", "--json")) == {"deleted": 0}


def test_a_backup_is_created_verified_and_restored(server: Run, tmp_path: Path) -> None:
    archive = str(tmp_path / "backup.tar.gz")
    created = server("backup", "create", archive, "--with-key", "--secret-stdin", stdin="a long passphrase\n")
    assert created.exit_code == 0, created.stderr
    assert "included, encrypted" in server("backup", "verify", archive).stdout
    place = ("--data", str(tmp_path / "restored"))
    wrong = server("backup", "restore", archive, *place, "--with-key", "--secret-stdin", stdin="another passphrase\n")
    assert wrong.exit_code != 0
    restored = server("backup", "restore", archive, *place, "--with-key", "--secret-stdin", stdin="a long passphrase\n")
    assert restored.exit_code == 0, restored.stderr
    assert server("users", "list", *place).stdout.startswith("Ann  ann@example.org  owner")
    assert server("backup", "create", archive).exit_code == 3  # it is there already
    assert server("backup", "create", "x.tar.gz", "--secret-stdin", stdin="p").exit_code == 2


def test_status_and_upgrade(server: Run) -> None:
    status = read_json(server("status", "--json"))
    assert (status["accounts"], status["health"], status["database"]) == (1, "not running", "sqlite")
    assert "1 in 0 teams" in server("status").stdout
    assert [process["state"] for process in status["processes"]] == ["not running"]
    with record_process(Path("coderag-server"), "http://127.0.0.1:9"):  # as `start --port 9` does
        assert read_json(server("status", "--json"))["address"] == "http://127.0.0.1:9"
    assert server("upgrade").stdout.startswith("up to date: ")


def test_settings_come_from_options_and_files(server: Run, tmp_path: Path) -> None:
    settings = tmp_path / "other.yaml"
    settings.write_text(f"data: {tmp_path / 'coderag-server'}\n")
    assert server("users", "list", "--config", str(settings)).exit_code == 0
    missing = server("users", "list", "--config", "none.yaml")
    assert (missing.exit_code, "none.yaml: no such file" in missing.stderr) == (3, True)
    settings.write_text("colour: blue\n")
    assert "colour" in server("users", "list", "--config", str(settings)).stderr


def test_a_missing_extra_names_the_packages_to_install() -> None:
    with pytest.raises(ConfigurationError, match=r"sqlalchemy\.orm is missing") as caught, explain_missing_extra():
        raise ImportError("No module named 'sqlalchemy'", name="sqlalchemy.orm")
    assert "coderag-engine[server]" in caught.value.hint
    with pytest.raises(ImportError), explain_missing_extra():
        raise ImportError("No module named 'own'", name="own")


def test_other_commands_do_not_load_those_of_the_server(environment: dict[str, str]) -> None:
    script = (
        "import sys; from coderag.interfaces.cli.main import app; from typer.main import get_command; get_command(app);"
    )
    script += "print([name for name in sys.modules if '.commands.server.' in name or name == 'sqlalchemy'])"
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['coderag.interfaces.cli.commands.server.server_command']"


def test_help_lists_all_commands(run: Run) -> None:
    text = run("--help").stdout
    for command in ("init", "start", "upgrade", "status", "users", "grants", "audit", "backup"):
        assert f"\n  {command} " in text
    assert "--secret-stdin" in run("credentials", "add", "--help").stdout
