"""Runner on a Ray cluster. Its machines need CodeRAG with the extra `ray`, git, and the credentials of this one."""

import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from coderag.cluster.repository_task import RepositoryTask, index_repository
from coderag.cluster.runners import EndedTask, make_lost_result
from coderag.errors import ConfigurationError

_POLL_S = 5.0
_CONNECT_S = 10.0


class RayRunner:
    """Runner of each task as a Ray task.

    Args:
        address: Address of the cluster; ``auto`` takes the one of this machine, ``local`` starts one.
        cpus: Processors of a task.
        gpus: Graphics processors of a task, for embedding models on the same machine; may be a fraction.

    Raises:
        ConfigurationError: Ray is not installed, or there is no such cluster.
    """

    def __init__(self, address: str, *, cpus: float, gpus: float) -> None:
        self._ray = ray = _load_ray()
        self._was_connected = ray.is_initialized()
        if not self._was_connected:
            try:
                _check_reachable(address)
                ray.init(
                    address=None if address == "local" else address, log_to_driver=False, configure_logging=False,
                    include_dashboard=False if address == "local" else None,
                )  # fmt: skip
            except (ConnectionError, OSError, RuntimeError, ValueError) as error:
                hint = "Check --ray; `auto` takes the cluster of this machine, `local` starts one."
                raise ConfigurationError(f"the Ray cluster {address} does not answer: {error}", hint=hint) from error
        # Its own retries would not know which errors may succeed later, and would not be shown.
        self._run = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=0)(index_repository)
        resources = ray.cluster_resources()
        slots = [resources.get("CPU", 0.0) / cpus if cpus else float("inf")]
        slots += [resources.get("GPU", 0.0) / gpus] if gpus else []
        self.capacity = max(1, int(min(slots)))
        self._tasks: dict[Any, RepositoryTask] = {}

    def submit(self, task: RepositoryTask) -> None:
        """Start a task. See `TaskRunner`."""
        self._tasks[self._run.remote(task)] = task

    def wait(self) -> Sequence[EndedTask]:
        """Wait for a task. See `TaskRunner`."""
        ended: list[Any] = []
        while not ended:  # with a timeout, so that Ctrl-C is seen
            ended, _ = self._ray.wait(list(self._tasks), num_returns=1, timeout=_POLL_S)
        return [self._take(reference) for reference in ended]

    def close(self) -> None:
        """Stop all tasks. See `TaskRunner`."""
        for reference in self._tasks:
            self._ray.cancel(reference, force=True)
        if not self._was_connected:
            self._ray.shutdown()

    def _take(self, reference: Any) -> EndedTask:  # noqa: ANN401  # Ray's
        task = self._tasks.pop(reference)
        try:
            return task, self._ray.get(reference)
        except self._ray.exceptions.RayError:
            return task, make_lost_result(task)


def _check_reachable(address: str) -> None:
    """Raise an `OSError` if nothing listens at an address with a port: Ray would try for many minutes."""
    parts = urlsplit(address if "://" in address else f"//{address}")
    if parts.hostname and parts.port:
        socket.create_connection((parts.hostname, parts.port), _CONNECT_S).close()


def _load_ray() -> Any:  # noqa: ANN401  # Ray has no types here
    try:
        import ray  # noqa: PLC0415 - an extra
    except ImportError as error:
        hint = 'Install it: pip install "coderag-engine[ray]".'
        raise ConfigurationError("Ray is not installed", hint=hint) from error
    return ray
