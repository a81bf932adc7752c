#!/usr/bin/env python3
"""Holds the figures of `hedgerow demo` against their limits.

Usage: tests/demo/check.py BINARY [SECONDS [SEED]]

Inputs: the JSON object that the demo prints, read as any script would read it. Outputs: a line per check, then
"N passed, N failed". The limits are those that the product promises for its demo; the demo's own verdict has to agree.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

SCENES = ["baseline", "stragglers", "slowRegion", "flood", "trip", "recovery"]


def run(binary: str, seconds: str, seed: str) -> tuple[dict, int, str]:
    """The demo's JSON, its exit status and its report."""
    with tempfile.TemporaryDirectory() as directory:
        report = pathlib.Path(directory) / "report.html"
        command = [binary, "demo", "--json", "--seconds", seconds, "--seed", seed, "--report", str(report)]
        done = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=int(seconds) + 120)
        if not done.stdout:
            raise SystemExit(f"the demo ended with status {done.returncode} and printed no JSON")
        return json.loads(done.stdout), done.returncode, report.read_text()


def checks(result: dict, status: int, report: str):
    """Pairs of a sentence and whether it is true."""
    scenes = {scene["name"]: scene for scene in result["scenes"]}
    stragglers, flood = scenes["stragglers"], scenes["flood"]
    calm = [scene for name, scene in scenes.items() if name != "trip"]
    guardrail = result["guardrail"] or {}
    yield "all six scenes were played in order", [scene["name"] for scene in result["scenes"]] == SCENES
    yield "requests were sent in every scene", all(scene["requests"] > 100 for scene in scenes.values())
    yield "no request failed", result["failed"] == 0
    yield "hedges were sent and won", result["hedged"] > 0 and result["hedgeWins"] > 0
    yield "stragglers: p99 at most half of the estimate without hedging", stragglers["p99Ms"] <= 0.5 * stragglers["p99UnhedgedMs"]
    yield "stragglers: the median moves by at most 3 %", abs(stragglers["p50Ms"] - stragglers["p50UnhedgedMs"]) <= 0.03 * stragglers["p50UnhedgedMs"]
    yield "duplicates at most 8 % in every scene but trip", all(scene["duplicatePercent"] <= 8 for scene in calm)
    yield "lost-race spend at most 1.5 % in every scene but trip", all(scene["lostRacePercent"] <= 1.5 for scene in calm)
    yield "interactive was never shed", all(scene["shed"].get("interactive", 0) == 0 for scene in scenes.values())
    yield "batch was shed under the flood", flood["shed"].get("batch", 0) > 0
    yield "batch came back after the flood", scenes["recovery"]["shed"].get("batch", 0) < flood["shed"].get("batch", 0)
    yield "the guardrail tripped within 20 s of the breach", "trippedAt" in guardrail and 0 <= guardrail["trippedAt"] - guardrail["breachedAt"] <= 20
    yield "and the cohort was re-armed", guardrail.get("recoveredAt") is not None
    yield "nothing was leaked", result["leaks"] == {"permits": 0, "attempts": 0, "budget": 0}
    yield "the report is one whole page", report.startswith("<!doctype html>") and report.rstrip().endswith("</html>") and report.count("<svg ") >= 6
    yield "the demo's own verdict agrees", status == 0


def main() -> int:
    """Runs the demo and every check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary")
    parser.add_argument("seconds", nargs="?", default="60")
    parser.add_argument("seed", nargs="?", default="1")
    arguments = parser.parse_args()
    result, status, report = run(arguments.binary, arguments.seconds, arguments.seed)
    print(json.dumps(result, indent=1))
    outcomes = list(checks(result, status, report))
    for sentence, true in outcomes:
        print(f"{'ok    ' if true else 'FAILED'}  {sentence}")
    failed = sum(not true for _, true in outcomes)
    print(f"{len(outcomes) - failed} passed, {failed} failed")
    return 0 if failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
