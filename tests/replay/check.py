#!/usr/bin/env python3
"""Runs every scenario of `hedgerow replay` and compares it with the golden report.

Usage: tests/replay/check.py BINARY [--write]

Inputs: the JSON that the command prints. Outputs: a line per check, then "N passed, N failed". What must hold: every
scenario is there; every acceptance number that holds in the golden report still holds; p99 of every arm is within 10 % of it
(another libm rounds the last digit otherwise, and a run is chaotic enough to show it); one and two threads print the same
bytes. `--write` replaces the golden report. Look at the diff: a number that no longer holds is a finding, not noise.
"""

import json
import pathlib
import subprocess
import sys

GOLDEN = pathlib.Path(__file__).with_name("golden.json")
SEEDS = 1
# A share of seeds needs seeds: how often an interval covers the truth.
MORE = {"s15-counterfactual": 100}


def run(binary: str, name: str, threads: str, seeds: int = SEEDS) -> str:
    """The JSON of some scenarios; the exit status says whether all of their numbers hold."""
    command = [binary, "replay", name, "--seeds", str(seeds), "--threads", threads, "--json"]
    return subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=900).stdout.decode()


def checks(found: dict, golden: dict):
    """Pairs of a sentence and whether it is true."""
    yield "the scenarios are those of the golden report", sorted(found) == sorted(golden)
    for number in range(1, 13):
        yield f"s{number:02} is there", any(name.startswith(f"s{number:02}-") for name in found)
    for name in sorted(set(found) & set(golden)):
        held = {accept["what"] for accept in golden[name]["accept"] if accept["holds"]}
        for accept in found[name]["accept"]:
            if accept["what"] in held:
                yield f"{name}: {accept['what']}: {accept['value']} ({accept['limit']})", accept["holds"]
        before = {arm["name"]: arm["p99Ms"] for arm in golden[name]["arms"]}
        for arm in found[name]["arms"]:
            old, new = before.get(arm["name"]), arm["p99Ms"]
            same = old == new or (old and new and abs(new / old - 1) <= 0.10)
            yield f"{name}: p99 of {arm['name']}: {new} ms, was {old} ms", bool(same)


def main() -> int:
    """Runs, compares, counts."""
    binary = sys.argv[1]
    text = run(binary, "all", "2")
    found = {scenario["name"]: scenario for scenario in json.loads(text)}
    for name, seeds in MORE.items():
        found[name] = json.loads(run(binary, name, "2", seeds))[0]
    if "--write" in sys.argv[2:]:
        GOLDEN.write_text(json.dumps(list(found.values()), indent=1) + "\n")
        return 0
    golden = {scenario["name"]: scenario for scenario in json.loads(GOLDEN.read_text())}
    results = list(checks(found, golden))
    results.append(("one thread prints what two print", run(binary, "s05", "1") == run(binary, "s05", "2")))
    for what, holds in results:
        print(("ok      " if holds else "FAILED  ") + what)
    failed = sum(not holds for _, holds in results)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
