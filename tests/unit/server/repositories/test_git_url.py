"""URLs of repositories: which are taken, and that none leads into the network of the server."""

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coderag.errors import CodeRAGError, GitUnavailableError, InvalidValueError
from coderag.server.repositories.git_url import check_url, parse_url
from coderag.server.settings import RepositorySettings
from coderag.system.host_addresses import is_public
from tests.support.server_world import resolve_to

SETTINGS = RepositorySettings()
PUBLIC = resolve_to("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946")
INSIDE = (
    "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "0.0.0.0",
    "100.100.100.200", "168.63.129.16", "192.0.0.192", "198.18.0.1", "224.0.0.1", "255.255.255.255", "::1", "::",
    "fe80::1", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
    "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "2002:7f00:1::", "2002:a9fe:a9fe::", "2001::1", "::127.0.0.1",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "scheme", "host", "port", "user"),
    [
        ("https://github.com/shop/shop.git", "https", "github.com", 443, ""),
        ("HTTPS://GitHub.com/shop/shop", "https", "github.com", 443, ""),
        ("https://git.example.org:8443/a/b%20c", "https", "git.example.org", 8443, ""),
        ("https://[2606:4700::1111]/x", "https", "2606:4700::1111", 443, ""),
        ("https://93.184.216.34/x", "https", "93.184.216.34", 443, ""),
        ("ssh://git@github.com/shop/shop.git", "ssh", "github.com", 22, "git"),
        ("ssh://git@git.example.org:2222/~/shop", "ssh", "git.example.org", 2222, "git"),
        ("ssh://git.example.org/shop", "ssh", "git.example.org", 22, ""),
        ("git@github.com:shop/shop.git", "ssh", "github.com", 22, "git"),
        ("git@github.com:~shop/shop.git", "ssh", "github.com", 22, "git"),
    ],
)
def test_a_url_of_a_git_server_is_taken_as_it_is(text, scheme, host, port, user):
    url = check_url(text, SETTINGS, resolve=PUBLIC).url
    assert (url.text, url.scheme, url.host, url.port, url.user) == (text, scheme, host, port, user)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("https://github.com/" + "x" * 3000, "more than 2,000 characters"),
        ("file:///etc/passwd", "malformed"),
        ("file://localhost/etc/passwd", "URLs of file are not accepted"),
        ("file:/etc/passwd", "malformed after file:"),
        ("/etc/passwd", "no scheme"),
        ("../other", "no scheme"),
        ("C:\\repo", "no scheme"),
        ("C:/repo", "no scheme"),
        ("ext::sh -c id", "helper program"),
        ("fd::17", "helper program"),
        ("https::https://github.com/x", "helper program"),
        ("git://github.com/shop", "URLs of git are not accepted"),
        ("ftp://github.com/shop", "URLs of ftp are not accepted"),
        ("http://github.com/shop", "URLs of http are not accepted"),
        ("javascript:alert(1)", "no scheme"),
        ("-uhttps://github.com/x", "begins with '-'"),
        ("--upload-pack=touch /tmp/x", "begins with '-'"),
        ("git@github.com:-oProxyCommand=id/x", "path of the URL begins with '-'"),
        ("ssh://-oProxyCommand=id/x", "malformed"),
        ("ssh://-oproxy@github.com/x", "user or a password"),
        ("https://user:hunter2@github.com/x", "user or a password"),
        ("https://hunter2@github.com/x", "user or a password"),
        ("https://@github.com/x", "user or a password"),
        ("ssh://git:hunter2@github.com/x", "user or a password"),
        ("https://github.com", "malformed"),
        ("https://github.com/", "malformed|no path"),
        ("https://github.com//", "no path"),
        ("https:///x", "malformed"),
        ("https://github.com/x?token=hunter2", "query or a fragment"),
        ("https://github.com/x#y", "query or a fragment"),
        ("https://github.com/x y", "character that no URL has"),
        ("https://github.com\\@127.0.0.1/x", "user or a password"),
        ("https://github.com/x\n", "character that no URL has"),
        ("https://github.com/x%0a%0dhost", "encoded control character"),
        ("https://github.com/x%00", "encoded control character"),
        ("https://gïthub.com/x", "character that no URL has"),
        ("https://github.com:0/x", "port 0"),
        ("https://github.com:99999/x", "port 99999"),
        ("https://github.com:22:80/x", "malformed"),
        ("https://127.1/x", "invalid host"),
        ("https://2130706433/x", "invalid host"),
        ("https://0x7f000001/x", "invalid host"),
        ("https://0177.0.0.1/x", "invalid host"),
        ("https://127.0.0.1./x", "invalid host"),
        ("https://localhost./x", "invalid host"),
        ("https://a..b/x", "invalid host"),
        ("https://-a.b/x", "invalid host"),
        ("https://[::1%25eth0]/x", "malformed"),
        ("https://[fe80::1%eth0]/x", "malformed"),
        ("https://[1.2.3.4]/x", "invalid host"),
        ("git@[::g]:x", "no scheme|invalid host"),
    ],
)  # fmt: skip
def test_any_other_url_is_refused_without_a_look_at_the_network(text, message):
    def resolve(host, port):
        raise AssertionError(f"{host} was looked up")

    with pytest.raises(InvalidValueError, match=message) as caught:
        check_url(text, SETTINGS, resolve=resolve)
    assert caught.value.hint
    assert "hunter2" not in f"{caught.value} {caught.value.hint}"


@pytest.mark.parametrize("address", INSIDE)
def test_an_address_inside_is_refused_as_a_literal_and_behind_a_name(address):
    literal = f"[{address}]" if ":" in address else address
    urls = [f"https://{literal}/x", f"ssh://git@{literal}/x", f"git@{literal}:x", "https://innocent.example.org/x"]
    for text in urls:
        with pytest.raises(InvalidValueError, match="not public") as caught:
            check_url(text, SETTINGS, resolve=resolve_to(address))
        if "innocent" in text:
            assert address not in str(caught.value)


def test_a_host_with_one_address_inside_among_public_ones_is_refused():
    with pytest.raises(InvalidValueError, match="not public"):
        check_url("https://a.example.org/x", SETTINGS, resolve=resolve_to("93.184.216.34", "10.0.0.1"))


def test_a_host_that_an_operator_allows_may_be_inside():
    settings = RepositorySettings(allowed_hosts=("Git.Intern", "[fd00::1]"), schemes=("https", "http"))
    address = check_url("http://git.intern:3000/x", settings, resolve=resolve_to("10.0.0.1"))
    assert address.addresses == (IPv4Address("10.0.0.1"),)
    assert check_url("https://[fd00::1]/x", settings, resolve=PUBLIC).addresses == (IPv6Address("fd00::1"),)
    for other in ("http://evil-git.intern/x", "http://git.intern.evil.org/x", "http://10.0.0.1/x"):
        with pytest.raises(InvalidValueError, match="not public"):
            check_url(other, settings, resolve=resolve_to("10.0.0.1"))


def test_a_name_that_cannot_be_resolved_may_be_tried_again():
    def fail(host, port):
        raise OSError("no such host")

    for resolve in (fail, resolve_to()):
        with pytest.raises(GitUnavailableError, match=r"a\.example\.org") as caught:
            check_url("https://a.example.org/x", SETTINGS, resolve=resolve)
        assert caught.value.retryable


@given(st.ip_addresses())
def test_no_address_of_a_private_network_is_public(address):
    if address.is_private or address.is_loopback or address.is_link_local or address.is_multicast:
        assert not is_public(address)


@given(st.ip_addresses(v=4))
def test_an_address_is_as_public_in_any_disguise(address):
    number = int(address)
    mapped, nat64 = IPv6Address((0xFFFF << 32) | number), IPv6Address((0x64FF9B << 96) | number)
    sixtofour = IPv6Address((0x2002 << 112) | (number << 80))
    assert {is_public(disguise) for disguise in (mapped, nat64, sixtofour)} == {is_public(address)}


_PIECES = st.sampled_from(
    ["https://", "http://", "ssh://", "file://", "git@", "user:pw@", "@", ":", "/", "//", "..", "-", "--upload-pack=x",
     "github.com", "localhost", "127.0.0.1", "[::1]", "0x7f.1", "::", "ext::", "?", "#", "%00", "%2f", "\\", " ", "\n",
     "\0", "é", "a", "x.git", ":22", ":443"]
)  # fmt: skip


@given(st.lists(_PIECES | st.text(max_size=3), max_size=8).map("".join))
def test_any_text_is_a_harmless_url_or_a_clear_error(text):
    try:
        url = parse_url(text)
    except CodeRAGError as error:
        assert isinstance(error, InvalidValueError)
        assert error.hint
        return
    assert url.scheme in ("https", "http", "ssh")
    assert re.fullmatch(r"[!-~]+", text)
    assert not text.startswith("-")
    assert "::" not in text.partition("[")[0]
    assert not re.search(r"://[^/]*:[^/]*@", text)
    assert url.scheme == "ssh" or "@" not in text.split("/")[2]
    assert url.host == url.host.lower()
    assert 0 < url.port < 65536


@given(st.ip_addresses(), st.integers(1, 65535), st.sampled_from(["https", "ssh"]))
def test_a_literal_address_is_read_as_python_reads_it(address, port, scheme):
    literal = f"[{address}]" if address.version == 6 else str(address)
    url = parse_url(f"{scheme}://{literal}:{port}/x")
    assert (ip_address(url.host), url.port) == (address, port)
