"""The programs that are compared, and what each is started with.

A `Target` starts its program on a loopback port in a folder of its own and is asked for CPU time and memory of its process
tree. `hedgerow` has every feature on: client keys, a lane, a budget, a cohort whose timer is armed, metrics, records.
"""

import json
import os
import pathlib
import resource
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TICK = os.sysconf("SC_CLK_TCK")
# The proxy has the last core for itself; driver and upstream share the first.
CORES = sorted(os.sched_getaffinity(0))
PROXY, OTHERS = ({CORES[-1]}, {CORES[0]}) if len(CORES) > 1 else (set(CORES), set(CORES))
KEY = "sk-bench"


def free_port() -> int:
    """A loopback port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start(command: list[str], cores: set[int], log: pathlib.Path) -> subprocess.Popen:
    """Starts a program on these cores, in a session of its own, with room for many sockets."""

    def prepare():
        os.sched_setaffinity(0, cores)
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(16384, hard), hard))

    with log.open("ab") as out:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, preexec_fn=prepare, start_new_session=True
        )


def stop(process: subprocess.Popen) -> None:
    """Ends a program and what it has started: its session has nothing else in it."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
            process.wait(5)
            return
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            process.wait(5)
            return


def tree(root: int) -> list[int]:
    """A process and its descendants."""
    children = pathlib.Path(f"/proc/{root}/task/{root}/children")
    try:
        return [root] + [one for child in children.read_text().split() for one in tree(int(child))]
    except OSError:
        return []


class Target:
    """One program under test."""

    def __init__(self, name: str, command, cores=PROXY):
        self.name, self.command, self.cores = name, command, cores
        self.process = self.port = None
        self.started_in = 0.0

    def __enter__(self):
        self.port = free_port()
        command, log = self.command(self.port)
        began = time.monotonic()
        self.process = start(command, self.cores, log)
        self.wait(began + 20, log)
        self.started_in = time.monotonic() - began
        return self

    def __exit__(self, *_):
        stop(self.process)

    def wait(self, until: float, log: pathlib.Path) -> None:
        body = json.dumps({"model": "bench", "messages": [{"role": "user", "content": "ready?"}]}).encode()
        headers = {"content-type": "application/json", "authorization": f"Bearer {KEY}"}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        said = None
        while time.monotonic() < until:
            try:
                request = urllib.request.Request(f"http://127.0.0.1:{self.port}/v1/chat/completions", body, headers)
                with opener.open(request, timeout=5) as answer:
                    answer.read()
                    return
            except (urllib.error.URLError, OSError) as error:
                said = error
                time.sleep(0.005)
        stop(self.process)
        raise SystemExit(f"{self.name} did not answer: {said}; it said: {log.read_text()[-500:]}")

    def cpu(self) -> float:
        """User and system seconds so far."""
        total = 0
        for pid in tree(self.process.pid):
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(int(field) for field in fields[11:15])
        return total / TICK

    def rss(self) -> float:
        """Resident KiB now."""
        total = 0
        for pid in tree(self.process.pid):
            lines = pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Rss:"))
        return total


def nginx(folder: pathlib.Path, upstream: int, authority: pathlib.Path | None = None) -> Target:
    """nginx before a plain upstream, or one with TLS; it speaks HTTP/1.1 to both."""

    def command(port):
        text = (HERE / "nginx.conf").read_text()
        # Without TLS the authority is not used, but nginx wants to have read it.
        trusted = authority or "/etc/ssl/certs/ca-certificates.crt"
        words = {"FOLDER": folder, "UPSTREAM": upstream, "LISTEN": port, "SCHEME": "https" if authority else "http",
                 "AUTHORITY": trusted}
        for word, value in words.items():
            text = text.replace(f"@{word}@", str(value))
        (folder / "nginx.conf").write_text(text)
        return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")], folder / "nginx.log"

    return Target("nginx", command)


def hyper(folder: pathlib.Path, program: str, upstream: int, authority: pathlib.Path | None = None) -> Target:
    """The bare hyper proxy before a plain upstream, or one with TLS."""

    def command(port):
        trust = ["--ca", str(authority)] if authority else []
        return [program, "floor", "--listen", f"127.0.0.1:{port}", "--upstream", str(upstream), *trust], folder / "hyper.log"

    return Target("hyper", command)


def route(name: str, tier: int, endpoint: str, authority: pathlib.Path | None) -> dict:
    """A route of gateway.json."""
    return {
        "name": name, "uid": name, "api": "OpenAI", "endpoint": endpoint, "auth": {"type": "None"}, "tier": tier,
        "failureDomain": {"provider": "bench", "region": name}, "quotaGroup": name,
        "models": [{"name": "bench", "pricing": {"inputMicrosPerMillion": 1000000, "outputMicrosPerMillion": 4000000}}],
        "onCancel": {"auditPercent": 0},
        # The slow route of the hedged figures is slow on purpose and stays in.
        "breaker": {"slowPercent": 0},
    } | ({"tls": {"ca": {"name": f"ca-{name}", "key": "ca.crt"}}} if authority else {})


def hedgerow(
    folder: pathlib.Path, program: str, endpoints: list[str], authority=None, hedge_ms: int = 2000, workers: int = 1,
    name: str = "hedgerow",
) -> Target:
    """The gateway in front of these endpoints, the first of which is always the primary."""
    config = {
        "schema": "hedgerow.dev/gateway/v1",
        "fleet": {"namespace": "bench", "name": "default"},
        "settings": {
            "maxInFlight": 4000, "clientAuth": {"type": "ApiKeys", "secretName": "clients"}, "tenantFrom": "ApiKey",
            "defaults": {"budget": {"ratioPercent": 1000, "cap": 1000000}},
        },
        "routes": [
            route(f"r{place}", place, endpoint, authority) for place, endpoint in enumerate(endpoints)
        ],
        "cohorts": [{
            "policy": "bench", "name": "all", "mode": "Enforce", "sharePercent": 100,
            "delay": {"strategy": "Fixed", "quantilePercent": 95, "minMs": 1, "maxMs": 60000, "coldStartMs": hedge_ms,
                      "fixedMs": hedge_ms},
            "deadline": {"streamMs": 120000, "completeMs": 120000, "totalMs": 600000},
            "duplicateTargetPercent": 100, "holdoutPercent": 0, "retry": {"maxAttempts": 2},
            "blind": {"action": "Continue"},
            "decision": {"state": "Active", "hedgingPercent": 100, "transition": 1},
        }],
        "lanes": [{
            "name": "all", "priority": 500, "match": {},
            "concurrency": {"algorithm": "Fixed", "initial": 4000, "max": 4000},
        }],
    }

    def command(port):
        place = folder / name
        (place / "secrets" / "clients").mkdir(parents=True, exist_ok=True)
        (place / "secrets" / "clients" / "bench").write_text(KEY)
        for number in range(len(endpoints) if authority else 0):
            (place / "secrets" / f"ca-r{number}").mkdir(exist_ok=True)
            (place / "secrets" / f"ca-r{number}" / "ca.crt").write_text(authority[number].read_text())
        (place / "gateway.json").write_text(json.dumps(config))
        # Records go where the others write nothing; that they are written is part of what is measured.
        return [
            program, "--config", str(place), "--listen", f"127.0.0.1:{port}", "--admin", "127.0.0.1:0",
            "--workers", str(workers), "--log", "warn",
        ], pathlib.Path("/dev/null")

    # Threads that share a core would measure its scheduler.
    return Target(name, command, PROXY if workers == 1 else set(CORES))
