"""The chart as helm renders it, and the places of the files that the tests read."""

import functools
import os
import pathlib
import subprocess

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "hedgerow"
NAMESPACE = "hedgerow-system"
CI = sorted(path.name.removesuffix(".values.yaml") for path in (CHART / "ci").glob("*.values.yaml"))
# Kinds whose schemas are not Kubernetes' own.
FOREIGN = {"ServiceMonitor", "PodMonitor", "PrometheusRule"}


class Strict(yaml.SafeLoader):
    """YAML as the API server reads it: the same key twice is an error."""


def mapping(loader: Strict, node: yaml.MappingNode) -> dict:
    """A mapping without duplicate keys."""
    keys = [loader.construct_object(key) for key, _ in node.value]
    double = {key for key in keys if keys.count(key) > 1}
    assert not double, f"keys twice: {double} at {node.start_mark}"
    return {loader.construct_object(key): loader.construct_object(value, deep=True) for key, value in node.value}


Strict.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


def helm(*arguments: str) -> subprocess.CompletedProcess:
    """Runs helm; the caller looks at the status."""
    command = [os.environ["HELM"], *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def values_file(name: str) -> pathlib.Path:
    """A file of `ci/`."""
    return CHART / "ci" / f"{name}.values.yaml"


def attempt(*arguments: str) -> subprocess.CompletedProcess:
    """Renders with further arguments, whatever comes of it."""
    return helm("template", "hedgerow", str(CHART), "--namespace", NAMESPACE, *arguments)


@functools.cache
def text(name: str, *arguments: str) -> str:
    """What helm writes for a file of `ci/`."""
    done = attempt("--values", str(values_file(name)), *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


def objects(name: str, *arguments: str) -> list[dict]:
    """The objects of a file of `ci/`."""
    return [found for found in yaml.load_all(text(name, *arguments), Loader=Strict) if found]


def of_kind(found: list[dict], kind: str) -> list[dict]:
    """Those of one kind."""
    return [one for one in found if one["kind"] == kind]


def only(found: list[dict], kind: str, name: str | None = None) -> dict:
    """The one object of a kind (and name)."""
    named = [one for one in of_kind(found, kind) if name is None or one["metadata"]["name"] == name]
    assert len(named) == 1, f"{len(named)} {kind} {name or ''}"
    return named[0]
