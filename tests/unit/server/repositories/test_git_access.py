"""Configuration of git for one fetch: addresses, environment and options of SSH."""

import shlex
from ipaddress import ip_address
from pathlib import Path

import pytest

from coderag.server.repositories.git_access import GitAccess, build_http_access, build_ssh_access, is_excluded_variable
from coderag.server.repositories.git_url import GitAddress, parse_url


def build_address(text, *addresses):
    return GitAddress(parse_url(text), tuple(map(ip_address, addresses)))


@pytest.mark.parametrize(
    ("text", "addresses", "pin"),
    [
        ("https://git.test/x", ["93.184.216.34"], "git.test:443:93.184.216.34"),
        ("https://git.test:8443/x", ["93.184.216.34", "2606::1"], "git.test:8443:93.184.216.34,[2606::1]"),
        ("https://93.184.216.34/x", ["93.184.216.34"], None),
        ("https://[2606::1]/x", ["2606::1"], None),
    ],
)
def test_a_name_is_bound_to_all_addresses_that_were_checked(text, addresses, pin):
    access = build_http_access(build_address(text, *addresses))
    assert dict(access.config).get("http.curloptResolve") == pin
    assert access.protocols == ("https",)


def test_a_secret_is_limited_to_the_host_of_the_url():
    access = build_http_access(build_address("https://[2606::1]:8443/x", "2606::1"), "user", "hunter2")
    assert [name for name, _ in access.config] == ["http.https://[2606::1]:8443/.extraHeader"]


def test_ssh_goes_to_the_checked_address_with_one_key_and_known_hosts_of_its_own():
    address = build_address("ssh://git@git.test:2222/x", "93.184.216.34")
    access = build_ssh_access(address, Path("/data 100%/key"), Path("/data 100%/known_hosts"))
    words = shlex.split(access.environment["GIT_SSH_COMMAND"])
    assert words[:3] == ["ssh", "-F", "none"]
    options = dict(word.split("=", 1) for word in words[4::2])
    assert options["HostName"] == "93.184.216.34"
    assert options["HostKeyAlias"] == "[git.test]:2222"
    assert options["IdentityFile"] == '"/data 100%%/key"'
    assert options["UserKnownHostsFile"] == '"/data 100%%/known_hosts"'
    assert (options["IdentitiesOnly"], options["IdentityAgent"], options["BatchMode"]) == ("yes", "none", "yes")
    assert access.protocols == ("ssh",)


def test_git_inherits_no_setting_proxy_agent_or_secret(monkeypatch):
    hidden = (
        "GIT_DIR", "GIT_CONFIG_PARAMETERS", "GIT_SSH", "GIT_SSL_NO_VERIFY", "GIT_TRACE_CURL", "HTTPS_PROXY",
        "https_proxy", "ALL_PROXY", "SSH_AUTH_SOCK", "SSH_ASKPASS", "XDG_CONFIG_HOME", "HOME",
        "CODERAG_SERVER_DATABASE_URL",
    )  # fmt: skip
    assert all(map(is_excluded_variable, hidden))
    assert not is_excluded_variable("PATH")
    variables = GitAccess([("a.b", "c")]).build_environment()
    count = int(variables["GIT_CONFIG_COUNT"])
    config = {variables[f"GIT_CONFIG_KEY_{index}"]: variables[f"GIT_CONFIG_VALUE_{index}"] for index in range(count)}
    assert (config["a.b"], config["http.followRedirects"], config["http.sslVerify"]) == ("c", "false", "true")
    assert (config["credential.helper"], config["http.proxy"]) == ("", "")


def test_certificates_of_the_operator_reach_git(monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/certificates.pem")
    assert GitAccess().build_environment()["GIT_SSL_CAINFO"] == "/certificates.pem"
    monkeypatch.setenv("GIT_SSL_CAINFO", "/own.pem")
    assert "GIT_SSL_CAINFO" not in GitAccess().build_environment()  # git inherits it
