"""Values: every one documented, unknown names refused, contradictions refused in a sentence."""

import json
import re

import pytest
import yaml

from release import CHART, ROOT, attempt, objects

# Arguments of `--set-json` or `--set`, and a part of the message that has to come.
REFUSED = [
    ("replicaCout=3", "replicaCout"),
    ("image.tagg=x", "tagg"),
    ("hedging.allow=false", "allow"),
    ("crds.keeep=true", "keeep"),
    ("admission.everything=true", "everything"),
    ("fleetDefaults.replica=3", "replica"),
    ("fleetDefaults.resources.limit.memory=1Gi", "limit"),
    ("fleetDefaults.drain.timout=30s", "timout"),
    ("replicaCount=0", "replicaCount"),
    ("replicaCount=two", "replicaCount"),
    ("hedging.allowed=yes", "hedging"),
    ("fleetDefaults.replicas=-1", "replicas"),
    ("fleetDefaults.hedging=Never", "hedging"),
    ("image.pullPolicy=Sometimes", "pullPolicy"),
    ("image.digest=sha256:abc", "digest"),
    ("generatedFleetTtl=15", "generatedFleetTtl"),
    ("generatedFleetTtl=5s", "generatedFleetTtl"),
    ("generatedFleetTtl=25h", "generatedFleetTtl"),
    ("watchNamespaces={team-a,team-a}", "watchNamespaces"),
    ("watchNamespaces={Team_A}", "watchNamespaces"),
    ("watchNamespaces=team-a", "watchNamespaces"),
    ("tenancy.secretNames={hedgerow_*}", "secretNames"),
    ("tenancy.allowedEndpoints={https://api.openai.com}", "allowedEndpoints"),
    ("networkPolicy.apiServerPorts={0}", "apiServerPorts"),
    ("resources.limits.memory=lots", "memory"),
    ("podMonitor.interval=often", "interval"),
    ("podLabels.app\\.kubernetes\\.io/name=mine", "invalid propertyName 'app.kubernetes.io/name'"),
]
CONTRADICTIONS = [
    ("serviceAccount.create=false", "name the ServiceAccount that the operator shall use"),
    ("serviceAccount.create=false,serviceAccount.name=x,serviceAccount.annotations.a=b", "annotate the account that you bring"),
    ("hedging.allowed=false,fleetDefaults.hedging=Allowed", "hedging.allowed=false forbids it everywhere"),
    ("networkPolicy.enabled=false,networkPolicy.metricsFrom={monitoring}", "nothing would be limited"),
    (f"image.tag=1,image.digest=sha256:{64 * 'a'}", "a change of the tag would do nothing"),
    (f"gatewayImage.tag=x,gatewayImage.digest=sha256:{64 * 'a'}", "gatewayImage.tag and gatewayImage.digest are both set"),
    (f"fleetDefaults.version=0.2.0,gatewayImage.digest=sha256:{64 * 'a'}", "the digest decides"),
    ("commonLabels.team=a,podLabels.team=b", "label team is in commonLabels and in podLabels"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[change for change, _ in REFUSED])
def test_the_schema_refuses_what_makes_no_sense_and_names_it(change, message):
    done = attempt("--set", change)
    assert done.returncode != 0, done.stdout[:200]
    assert "values don't meet the specifications of the schema" in done.stderr, done.stderr
    assert message in done.stderr, done.stderr


@pytest.mark.parametrize(("change", "message"), CONTRADICTIONS, ids=[change for change, _ in CONTRADICTIONS])
def test_a_contradiction_is_refused_in_a_sentence_that_says_what_to_change(change, message):
    arguments = [argument for part in re.split(r",(?![^{]*})", change) for argument in ("--set-string" if "tag=" in part else "--set", part)]
    done = attempt(*arguments)
    assert done.returncode != 0, done.stdout[:200]
    assert message in done.stderr, done.stderr


def test_every_line_of_fleet_defaults_that_a_fleet_may_have_is_taken():
    spec = yaml.safe_load((ROOT / "crds/examples/fleet.yaml").read_text())["spec"]
    done = attempt("--set-json", f"fleetDefaults={json.dumps(spec)}")
    assert done.returncode == 0, done.stderr


def schema():
    """The values' schema."""
    return json.loads((CHART / "values.schema.json").read_text())


def resolved(part, whole):
    """A schema with its reference followed."""
    return whole["$defs"][part["$ref"].split("/")[-1]] if "$ref" in part else part


def test_schema_and_values_know_the_same_names():
    whole = schema()

    def compare(values, part, path):
        part = resolved(part, whole)
        if part.get("properties") and path != "fleetDefaults":
            known = set(part["properties"]) - {"global"}
            optional = {"ephemeral-storage", "cpu", "memory"}
            assert set(values) <= known, f"{path}: not in the schema: {set(values) - known}"
            assert known - set(values) <= optional, f"{path}: without a default: {known - set(values)}"
            for name, value in values.items():
                compare(value, part["properties"][name], f"{path}.{name}".strip("."))

    compare(yaml.safe_load((CHART / "values.yaml").read_text()), whole, "")


def test_every_object_of_the_schema_is_closed():
    def walk(part, path):
        if isinstance(part, dict):
            if "properties" in part:
                assert part.get("additionalProperties") is False, f"{path} takes unknown names"
            for name, below in part.items():
                walk(below, f"{path}/{name}")

    walk(schema(), "")


def test_every_value_is_documented_in_place():
    lines = (CHART / "values.yaml").read_text().splitlines()
    bare = []
    for number, line in enumerate(lines):
        key = re.match(r"^( *)([A-Za-z-]+):(.*)$", line)
        if key is None or line.lstrip().startswith("#"):
            continue
        above = lines[number - 1].strip() if number else ""
        group = number + 1 < len(lines) and key.group(3) == "" and len(lines[number + 1]) - len(lines[number + 1].lstrip()) > len(key.group(1))
        inside_plain_value = key.group(2) in {"cpu", "memory", "requests", "limits", "grafana_dashboard", "repository"}
        if not above.startswith("#") and not group and not inside_plain_value:
            bare.append(line)
    assert bare == []


def test_no_choice_of_namespaces_is_the_choice_of_all():
    every = objects("defaults")
    assert objects("defaults", "--set", "watchNamespaces=null") == every
    assert objects("defaults", "--set-json", "watchNamespaces=[]") == every
