"""Rows for every table of the server, with references between them."""

from datetime import UTC, date, datetime, timedelta

from sqlalchemy import select

from coderag.server.storage import models

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def create_rows():
    """Return one row or more for each table, in an order in which they can be inserted."""
    return [
        models.User(id="u1", name="Ada", email="ada@example.org", role="owner", created_at=NOW),
        models.User(id="u2", name="build", kind="service", role="member", is_active=False, created_at=NOW),
        models.Team(id="t1", name="core", oidc_group="eng", created_at=NOW),
        models.Membership(team_id="t1", user_id="u1"),
        models.Credential(id="c1", name="deploy", kind="token", host="git.example.org", sealed=b"\x00\xff"),
        models.HostedRepository(
            id="r1", name="shop", url="https://git.example.org/shop.git", credential_id="c1", team_id="t1", commit="ab12"
        ),
        models.HostedRepository(id="r2", name="дом", url="ssh://git@git.example.org/home.git", interval_minutes=5),
        models.RepositorySource(id="s1", repository_id="r1", name="wiki", kind="documentation", items=4, error="x"),
        models.Grant(id="g1", team_id="t1", repository_id="r1", level=2, created_at=NOW),
        models.Grant(id="g2", team_id="t1", source_id="s1", level=1, created_at=NOW),
        models.ApiKey(id="k1", user_id="u1", name="laptop", prefix="aaaa", digest="d" * 64, scopes=["read"]),
        models.ApiKey(
            id="k2", user_id="u1", parent_id="k1", kind="agent", name="agent", prefix="bbbb", digest="e" * 64,
            scopes=["read"], repository_ids=["r1"],
        ),
        models.BrowserSession(id="b1", digest="f" * 64, user_id="u1", expires_at=NOW + timedelta(hours=12)),
        models.SignInAttempt(state_digest="a" * 64, sealed=b"x", expires_at=NOW),
        models.SignInFailures(subject="127.0.0.1", count=3, failed_at=NOW),
        models.Job(
            id="j1", repository_id="r1", team_id="t1", reason="add", state="done", progress={"files": 3},
            source_errors={"wiki": "the host refused the key."},
        ),
        models.Job(id="j2", repository_id="r2", reason="push", state="running", worker="w", leased_until=NOW),
        models.WebhookDelivery(repository_id="r1", delivery="d1"),
        models.DailyUsage(day=date(2026, 1, 2), subject="key:k1", requests=2**40),
        models.AuditEntry(
            sequence=1, time=NOW, actor_id="u1", actor="Ada", credential_id="k1", address="127.0.0.1",
            action="search", repository_id="r1", outcome="allowed", detail="{}", mac="0" * 64,
        ),
    ]  # fmt: skip


def insert_rows(database):
    with database.begin() as session:
        for row in create_rows():
            session.add(row)
            session.flush()


def read_rows(database):
    """Return the rows of all tables, by table."""
    with database.read() as session:
        return {
            table.name: sorted(map(tuple, session.execute(select(table)).all()), key=repr)
            for table in models.ServerTable.metadata.sorted_tables
        }
