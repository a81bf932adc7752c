"""The figures: each function measures one thing on all targets that it makes sense for, and returns samples."""

import json
import pathlib
import subprocess
import time

import targets
from targets import OTHERS, Target, free_port

# Streams held at once.
HELD = 500
# Protocols of an upstream with TLS, by the name that figures give them.
ALPN = {"h2": "h2", "h1": "http/1.1"}


def sample(figure: str, target: str, value: float, unit: str) -> dict:
    """One measurement."""
    return {"figure": figure, "target": target, "value": value, "unit": unit}


class Stand:
    """The upstreams, and what the figures start beside them."""

    def __init__(self, folder: pathlib.Path, gateway: str, bench: str, seconds: float):
        self.folder, self.gateway, self.bench, self.seconds = folder, gateway, bench, seconds
        self.processes, self.ports = [], {}

    def close(self) -> None:
        """Ends the upstreams."""
        for process in self.processes:
            targets.stop(process)

    def upstream(self, alpn: str | None = None, first_ms: int = 0) -> tuple[int, pathlib.Path | None]:
        """Port and authority of an upstream of this kind, started when it is first asked for."""
        if (alpn, first_ms) not in self.ports:
            port, authority = free_port(), self.folder / f"ca-{len(self.ports)}.crt"
            command = [self.bench, "upstream", "--listen", f"127.0.0.1:{port}", "--first-ms", str(first_ms)]
            if alpn:
                command += ["--alpn", alpn, "--ca-out", str(authority)]
            self.processes.append(targets.start(command, OTHERS, self.folder / "upstream.log"))
            self.ports[alpn, first_ms] = port, authority if alpn else None
            time.sleep(0.2)
        return self.ports[alpn, first_ms]

    def plain(self, **options) -> Target:
        """The gateway before the plain upstream."""
        return targets.hedgerow(self.folder, self.gateway, [f"http://127.0.0.1:{self.upstream()[0]}"], **options)

    def tls(self, alpn: str, hedged: bool = False) -> Target:
        """The gateway before TLS upstreams; hedged = the primary takes a quarter of a second and is overtaken."""
        kinds = [(alpn, 250), (alpn, 0)] if hedged else [(alpn, 0)]
        found = [self.upstream(*kind) for kind in kinds]
        endpoints = [f"https://localhost:{port}" for port, _ in found]
        authorities = [authority for _, authority in found]
        return targets.hedgerow(self.folder, self.gateway, endpoints, authorities, hedge_ms=5 if hedged else 2000)

    def all(self) -> list[Target]:
        """Every target before the plain upstream."""
        port = self.upstream()[0]
        return [targets.nginx(self.folder, port), targets.hyper(self.folder, self.bench, port), self.plain()]

    def encrypted(self, alpn: str) -> list[Target]:
        """Every target that can speak this protocol to an upstream with TLS; nginx has HTTP/1.1 only."""
        found = self.upstream(alpn)
        nginx = [] if alpn == "h2" else [targets.nginx(self.folder, *found)]
        return [*nginx, targets.hyper(self.folder, self.bench, *found), self.tls(alpn)]

    def drive(self, target: Target | int, *options, **named) -> dict:
        """Runs the driver and returns what it printed."""
        port = target if isinstance(target, int) else target.port
        command = [self.bench, "drive", "--target", f"127.0.0.1:{port}", *map(str, options)]
        for name, value in ({"seconds": self.seconds} | named).items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        done = subprocess.run(["taskset", "-c", str(min(OTHERS)), *command], check=True, capture_output=True, text=True)
        sums = json.loads(done.stdout.splitlines()[-1])
        if sums["failed"]:
            raise SystemExit(f"{sums['failed']} of {sums['requests']} requests failed")
        return sums

    def cpu(self, target: Target, *options, **named) -> tuple[float, dict]:
        """CPU microseconds of the target per request, and the driver's sums."""
        self.drive(target, *options, **(named | {"seconds": 0.5}))
        before = target.cpu()
        sums = self.drive(target, *options, **named)
        return 1e6 * (target.cpu() - before) / sums["requests"], sums

    def held(self, target: Target, *options, settle: float = 2, **named) -> float:
        """KiB of the target for each stream that it holds, `settle` seconds after the last has begun."""
        self.drive(target, "--events", 5, *options, connections=4, **(named | {"seconds": 0.5}))
        time.sleep(0.5)
        before = target.rss()
        command = [self.bench, "drive", "--target", f"127.0.0.1:{target.port}", "--hold", "--events", "1000", "--gap-ms", "1000",
                   "--connections", str(HELD), "--seconds", "30", *map(str, options)]
        for name, value in named.items():
            command += [f"--{name.replace('_', '-')}", str(value)]
        holding = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        line = json.loads(holding.stdout.readline())
        time.sleep(settle)
        value = (target.rss() - before) / line["holding"]
        holding.terminate()
        holding.wait()
        return value


def cpu_1k(stand: Stand) -> list[dict]:
    """CPU per request: 1 KB request and answer, 64 connections."""
    found = []
    for target in stand.all():
        with target:
            found.append(sample("cpu-1k", target.name, stand.cpu(target)[0], "us"))
    return found


def tls(stand: Stand) -> list[dict]:
    """CPU per request and per event with a TLS upstream, HTTP/1.1 and h2."""
    found = []
    for name, alpn in ALPN.items():
        for target in stand.encrypted(alpn):
            with target:
                found.append(sample(f"cpu-1k-tls-{name}", target.name, stand.cpu(target)[0], "us"))
                value, _ = stand.cpu(target, events=50, gap_ms=20, connections=100)
                found.append(sample(f"cpu-event-tls-{name}", target.name, value / 51, "us"))
    return found


def added(stand: Stand) -> list[dict]:
    """Added p50 and p99 at 500 requests a second, over the upstream alone."""
    alone = stand.drive(stand.upstream()[0], rate=500)
    found = []
    for target in stand.all():
        with target:
            stand.drive(target, seconds=0.5)
            sums = stand.drive(target, rate=500)
            for name in ("p50", "p99"):
                found.append(sample(f"added-{name}", target.name, sums[f"{name}Us"] - alone[f"{name}Us"], "us"))
    return found


def event(stand: Stand) -> list[dict]:
    """CPU per event of 100 streams with 50 events a second each."""
    found = []
    for target in stand.all():
        with target:
            value, _ = stand.cpu(target, events=50, gap_ms=20, connections=100)
            found.append(sample("cpu-event", target.name, value / 51, "us"))
    return found


def big(stand: Stand) -> list[dict]:
    """CPU per 100 KB request, prose and code, 16 connections."""
    found = []
    for target in stand.all():
        with target:
            for kind, options in (("prose", []), ("code", ["--code"])):
                value, _ = stand.cpu(target, *options, body_bytes=100_000, connections=16)
                found.append(sample(f"cpu-100k-{kind}", target.name, value, "us"))
    return found


def memory(stand: Stand) -> list[dict]:
    """RSS idle and after 256 connections; seconds from start to first answer."""
    found = []
    for target in stand.all():
        with target:
            found.append(sample("start", target.name, target.started_in, "s"))
            time.sleep(1)
            found.append(sample("rss-idle", target.name, target.rss() / 1024, "MiB"))
            stand.drive(target, connections=256)
            found.append(sample("rss-256", target.name, target.rss() / 1024, "MiB"))
    return found


def held(stand: Stand) -> list[dict]:
    """KiB per held stream: plain, TLS h2, TLS h1, and after a prompt of 100 KB."""
    found = []
    for target in stand.all():
        with target:
            found.append(sample("held-plain", target.name, stand.held(target), "KiB"))
    with stand.plain() as target:
        # What the prompts took is given back to the system over ten seconds (jemalloc's decay).
        found.append(sample("held-100k", target.name, stand.held(target, settle=13, body_bytes=100_000), "KiB"))
    for name, alpn in ALPN.items():
        # The bare proxy's pool has one h2 connection, and the upstream allows 100 streams on it.
        for target in [stand.tls(alpn)] if alpn == "h2" else stand.encrypted(alpn):
            with target:
                found.append(sample(f"held-tls-{name}", target.name, stand.held(target), "KiB"))
    return found


def hedged(stand: Stand) -> list[dict]:
    """CPU of a hedged request whose primary is cancelled, as a multiple of an unhedged one: TLS upstream, 5 events.

    Both arms get the same requests a second: a closed loop would offer many times as many to the arm that answers at once,
    and a busy process shares each wake-up and each TLS record among them. That comparison is the row "-closed".
    """
    found, load = [], {"": {"rate": 500, "seconds": 2 * stand.seconds}, "-closed": {"connections": 32}}
    for name, alpn in ALPN.items():
        with stand.tls(alpn) as target:
            alone = {kind: stand.cpu(target, events=5, **how)[0] for kind, how in load.items()}
        with stand.tls(alpn, hedged=True) as target:
            twice = {kind: stand.cpu(target, events=5, **how) for kind, how in load.items()}
        for kind, (value, sums) in twice.items():
            share = sums["hedged"] / sums["requests"]
            if share < 0.95:
                raise SystemExit(f"only {share:.0%} of the requests were hedged")
            found.append(sample(f"hedged-tls-{name}{kind}", "hedgerow", value / alone[kind], "x unhedged"))
            found.append(sample(f"unhedged-tls-{name}{kind}", "hedgerow", alone[kind], "us"))
    return found


def workers(stand: Stand) -> list[dict]:
    """CPU per request with two worker threads, on all cores, as a multiple of one on its own.

    64 connections that ask again at once, and, as "-rate", the same 2,000 requests a second for both.
    """
    values = []
    for count in (1, 2):
        with stand.plain(workers=count) as target:
            values.append((stand.cpu(target)[0], stand.cpu(target, rate=2000)[0]))
    return [
        sample(f"two-workers{kind}", "hedgerow", two / one, "x one worker")
        for kind, one, two in zip(("", "-rate"), *values)
    ]


ALL = {
    "cpu-1k": cpu_1k, "tls": tls, "added": added, "event": event, "big": big, "memory": memory, "held": held, "hedged": hedged,
    "workers": workers,
}
