"""The examples for GitOps engines and KEDA are about this chart and these metrics."""

import re

import yaml

from release import CHART, ROOT, attempt

EXAMPLES = ROOT / "crds" / "examples" / "gitops"
APIS = {
    "GitRepository": "source.toolkit.fluxcd.io/v1",
    "HelmRelease": "helm.toolkit.fluxcd.io/v2",
    "Kustomization": "kustomize.toolkit.fluxcd.io/v1",
    "Application": "argoproj.io/v1alpha1",
    "ScaledObject": "keda.sh/v1alpha1",
    "GatewayFleet": "hedgerow.dev/v1alpha1",
    "ConfigMap": "v1",
    "ServiceAccount": "v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
}


def example(path: str) -> dict:
    """One example."""
    return yaml.safe_load((EXAMPLES / path).read_text())


def test_every_example_is_one_object_of_a_known_kind():
    paths = sorted(EXAMPLES.rglob("*.yaml"))
    assert len(paths) == 10
    for path in paths:
        found = list(yaml.safe_load_all(path.read_text()))
        assert len(found) == 1 and found[0]["apiVersion"] == APIS[found[0]["kind"]], path
        assert path.read_text().startswith("# "), f"{path} does not say what it is for"


def test_argo_cd_gets_the_script_that_the_tests_run():
    customizations = yaml.safe_load(example("argocd/argocd-cm.yaml")["data"]["resource.customizations"])
    assert customizations == {"hedgerow.dev/*": {"health.lua": (CHART / "argocd" / "health.lua").read_text()}}


def test_the_values_of_the_releases_are_values_of_the_chart(tmp_path):
    flux = example("flux/hedgerow.yaml")["spec"]
    argo = example("argocd/hedgerow.yaml")["spec"]["source"]
    assert flux["chart"]["spec"]["chart"] == argo["path"] == "charts/hedgerow"
    for values in (flux["values"], argo["helm"]["valuesObject"]):
        path = tmp_path / "values.yaml"
        path.write_text(yaml.safe_dump(values))
        done = attempt("--values", str(path))
        assert done.returncode == 0, done.stderr


def test_the_team_waits_for_the_objects_and_prunes_them():
    spec = example("flux/team-a.yaml")["spec"]
    assert spec["wait"] and spec["prune"] and spec["sourceRef"]["name"] == example("flux/source.yaml")["metadata"]["name"]


def test_keda_scales_the_deployment_of_its_fleet_below_the_ceiling():
    fleet, scaled = example("keda/fleet.yaml"), example("keda/scaledobject.yaml")
    assert fleet["spec"]["autoscaling"]["mode"] == "External"
    assert scaled["spec"]["scaleTargetRef"]["name"] == "hedgerow-" + fleet["metadata"]["name"]
    trigger = scaled["spec"]["triggers"][0]["metadata"]
    assert int(trigger["threshold"]) < fleet["spec"]["maxInFlight"]
    metric = re.search(r"(hedgerow_[a-z_]+)\{", trigger["query"]).group(1)
    assert f"`{metric}`" in (ROOT / "docs" / "metrics.md").read_text()
