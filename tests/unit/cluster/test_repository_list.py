"""Lists of repositories: what a line may be, and that each problem is told with its line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.cluster.repository_list import read_repositories
from coderag.errors import ConfigurationError
from coderag.schema.cluster import ClusterRepository


def read(tmp_path, text):
    path = tmp_path / "repositories.txt"
    path.write_text(text, encoding="utf-8")
    return read_repositories(path)


def test_a_line_has_an_address_a_name_and_a_revision(tmp_path):
    (tmp_path / "with space").mkdir()
    assert read(
        tmp_path,
        """
        # ours
        https://git.example.org/team/shop.git
        git@git.example.org:team/desk.git   desk  v2   # pinned
        'with space'  own
        """,
    ) == [
        ClusterRepository("shop", "https://git.example.org/team/shop.git"),
        ClusterRepository("desk", "git@git.example.org:team/desk.git", "v2"),
        ClusterRepository("own", str(tmp_path / "with space")),
    ]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("file:///etc shop", "not file://"),
        ("https:///shop.git", "addresses begin with"),
        ("https://user:secret@git.example.org/shop.git", "must not have a password"),
        ("nowhere/at/all", "there is no folder"),
        ("https://git.example.org/a.git ../up", "cannot be a name"),
        ("https://git.example.org/a.git a --upload-pack=x", "is no revision"),
        ("https://git.example.org/a.git a main more", "4 fields"),
        ("'https://git.example.org/a.git", "No closing quotation"),
        ("ext::sh -c x", "there is no folder"),
    ],
)
def test_a_line_that_cannot_be_used_is_told_with_its_number(tmp_path, line, problem):
    with pytest.raises(ConfigurationError, match="line 2") as raised:
        read(tmp_path, f"https://git.example.org/good.git\n{line}\n")
    assert problem in str(raised.value)
    assert "secret" not in str(raised.value)


def test_two_repositories_of_one_name_are_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="line 2: 'shop' is the name of line 1, too"):
        read(tmp_path, "https://a.example.org/shop.git\nhttps://b.example.org/shop.git\n")


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_an_empty_list_is_refused(tmp_path, text):
    with pytest.raises(ConfigurationError, match="names no repository"):
        read(tmp_path, text)


def test_a_list_that_cannot_be_read_is_told(tmp_path):
    with pytest.raises(ConfigurationError, match="cannot read the list"):
        read_repositories(tmp_path / "missing.txt")
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigurationError, match="cannot read the list"):
        read_repositories(tmp_path / "binary")


@given(text=st.text(max_size=200))
def test_any_text_is_a_list_or_a_configuration_error(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("list")
    try:
        repositories = read(folder, text.encode("utf-8", "ignore").decode())
    except ConfigurationError:
        return
    assert len({repository.name for repository in repositories}) == len(repositories) > 0
