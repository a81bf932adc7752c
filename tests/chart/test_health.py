"""Argo CD's health of every kind in every state: `argocd/health.lua` in Lua 5.1 over objects as the operator reports them.

`objects/` is recorded by `operator/tests/recorded`, which runs the operator's own functions; nothing in it is written by
hand. What a table below says of a state is what its reader sees in Argo CD.
"""

import subprocess

import pytest
import yaml

from release import CHART, ROOT

OBJECTS = ROOT / "tests" / "chart" / "objects"
SCRIPT = CHART / "argocd" / "health.lua"
# State: health, and a part of the message.
EXPECTED = {
    "policy-ramping": ("Healthy", ""),
    "policy-within": ("Healthy", ""),
    "policy-tripped": ("Healthy", "Hedging is off for this cohort since"),
    "policy-trial": ("Healthy", "Trial since"),
    "policy-latched": ("Suspended", "stream waits to be resumed: Hedging is off"),
    "policy-held": ("Suspended", "stream is held until 2026-11-29T05:12:40Z"),
    "policy-observing": ("Healthy", ""),
    "policy-disabled": ("Healthy", ""),
    "policy-suspended": ("Suspended", "switched off by spec.suspend"),
    "policy-cohort-suspended": ("Suspended", "stream is switched off by its suspend"),
    "policy-without-routes": ("Progressing", "route"),
    "policy-conflicted": ("Degraded", "first"),
    "route-healthy": ("Healthy", ""),
    "route-open": ("Healthy", "too many attempts failed"),
    "route-without-secret": ("Progressing", "hedgerow-default-keys"),
    "route-without-authority": ("Progressing", "configmaps/corporate/ca.crt is missing or empty"),
    "route-suspended": ("Suspended", "spec.suspend"),
    "route-not-allowed": ("Degraded", "api.openai.com"),
    "lane-ready": ("Healthy", ""),
    "lane-reconciling": ("Progressing", "has yet to take it up"),
    "lane-refused": ("Degraded", "refused the configuration"),
    "lane-unready": ("Progressing", "no gateway is ready"),
    "lane-conflicted": ("Degraded", "interactive"),
    "fleet-ready": ("Healthy", ""),
    "fleet-unready": ("Progressing", "no gateway is ready"),
    "fleet-waiting": ("Progressing", "waits for its turn to replace its pods"),
    "fleet-failing": ("Degraded", "ErrImagePull"),
}
# What Argo CD offers: the base and table libraries. Printing is the test's.
DRIVER = """
local read = loadfile(arg[1])
local write = io.write
local only = {
  ipairs = ipairs, pairs = pairs, next = next, type = type, tostring = tostring, tonumber = tonumber, select = select,
  unpack = unpack, error = error, pcall = pcall, assert = assert, rawget = rawget, rawset = rawset, table = table,
}
getmetatable("").__index = nil
only.obj = %s
setfenv(read, only)
local health = read()
write(health.status, "\\n", health.message or "")
"""


def lua(value) -> str:
    """A Lua literal."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"[{lua(key)}] = {lua(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(lua(entry) for entry in value) + "}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "nil"
    if isinstance(value, (int, float)):
        return repr(value)
    return '"' + str(value).translate({ord("\\"): "\\\\", ord('"'): '\\"', ord("\n"): "\\n"}) + '"'


def health(found: dict, folder) -> tuple[str, str]:
    """What Argo CD shows."""
    driver = folder / "driver.lua"
    driver.write_text(DRIVER % lua(found))
    done = subprocess.run(["lua5.1", str(driver), str(SCRIPT)], capture_output=True, text=True, check=False, timeout=10)
    assert done.returncode == 0, done.stderr
    status, _, message = done.stdout.partition("\n")
    return status, message


def recorded(state: str) -> dict:
    """An object; times stay text, as in JSON."""
    return yaml.load((OBJECTS / f"{state}.yaml").read_text(), Loader=yaml.BaseLoader)


def typed(value):
    """Numbers and truth values of a recorded object, which BaseLoader reads as text."""
    if isinstance(value, dict):
        return {key: typed(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [typed(entry) for entry in value]
    if value in {"true", "false"}:
        return value == "true"
    return int(value) if value.lstrip("-").isdigit() else value


@pytest.mark.parametrize("state", EXPECTED)
def test_argo_cd_shows(state, tmp_path):
    status, message = health(typed(recorded(state)), tmp_path)
    expected, part = EXPECTED[state]
    assert (status, part in message) == (expected, True), message
    assert part or not message, f"unexpected message: {message}"


def test_every_recorded_state_is_in_the_table():
    assert {path.stem for path in OBJECTS.glob("*.yaml")} == set(EXPECTED)


def test_every_state_of_a_cohort_is_recorded():
    definition = yaml.safe_load((ROOT / "crds" / "hedgepolicies.hedgerow.dev.yaml").read_text())
    status = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    states = set(status["properties"]["cohorts"]["items"]["properties"]["state"]["enum"])
    found = {cohort["state"] for path in OBJECTS.glob("policy-*.yaml") for cohort in recorded(path.stem)["status"]["cohorts"]}
    # What a cohort is until the first look at it; `Ready` tells the rest.
    assert states - found == {"InsufficientData"}


@pytest.mark.parametrize("state", EXPECTED)
def test_a_change_that_was_not_seen_yet_is_in_progress_whatever_the_status_says(state, tmp_path):
    found = typed(recorded(state))
    found["metadata"]["generation"] += 1
    assert health(found, tmp_path) == ("Progressing", "the operator has not seen the latest change yet")
    found["status"] = {"observedGeneration": -1}
    assert health(found, tmp_path) == ("Progressing", "the operator has not seen it yet")
    del found["status"]
    assert health(found, tmp_path) == ("Progressing", "the operator has not seen it yet")


def test_an_argo_cd_without_libraries_can_run_it():
    text = SCRIPT.read_text()
    for word in ("string.", "os.", "io.", "math.", "require", "print(", "goto ", "//"):
        assert word not in "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--")), word
