"""Every combination of values in `ci/` renders to objects that Kubernetes takes."""

import json

import kubernetes_validate
import pytest
import yaml

from release import CHART, CI, FOREIGN, NAMESPACE, Strict, helm, objects, of_kind, only, text, values_file

# The oldest version that Chart.yaml allows and the newest that is known.
VERSIONS = ["1.33", kubernetes_validate.latest_version()]
CLUSTER_WIDE = {
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleBinding",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}


def test_there_is_a_values_file_for_every_interesting_combination():
    assert {"defaults", "namespaced", "monitored", "single", "pinned", "foreign-account", "placed"} <= set(CI)


@pytest.mark.parametrize("name", CI)
def test_helm_lint_has_nothing_to_say(name):
    done = helm("lint", "--strict", str(CHART), "--namespace", NAMESPACE, "--values", str(values_file(name)))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "[WARNING]" not in done.stdout and "[ERROR]" not in done.stdout, done.stdout


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CI)
def test_kubernetes_takes_every_object(name, version):
    for found in objects(name, "--kube-version", version):
        if found["kind"] not in FOREIGN:
            kubernetes_validate.validate(found, version, strict=True)


def test_the_validator_would_refuse_an_unknown_field():
    found = only(objects("defaults"), "Deployment")
    found["spec"]["template"]["spec"]["containers"][0]["imagePullPolice"] = "Never"
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(found, "1.33", strict=True)


@pytest.mark.parametrize("name", CI)
def test_rendering_twice_gives_the_same_bytes(name):
    again = helm("template", "hedgerow", str(CHART), "--namespace", NAMESPACE, "--values", str(values_file(name)))
    assert again.stdout == text(name)


@pytest.mark.parametrize("name", CI)
def test_every_object_says_whose_it_is_and_where_it_lies(name):
    seen = set()
    for found in objects(name):
        metadata = found["metadata"]
        key = (found["kind"], metadata.get("namespace"), metadata["name"])
        assert key not in seen, f"twice: {key}"
        seen.add(key)
        assert metadata["labels"]["app.kubernetes.io/instance"] == "hedgerow", key
        assert ("namespace" in metadata) != (found["kind"] in CLUSTER_WIDE), key


@pytest.mark.parametrize("name", CI)
def test_every_pod_passes_the_restricted_standard(name):
    found = objects(name)
    specs = [one["spec"]["template"]["spec"] for one in of_kind(found, "Deployment")] + [one["spec"] for one in of_kind(found, "Pod")]
    assert len(specs) == 2, "the operator and the check of helm test"
    for spec in specs:
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == 65532
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert not any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC"))
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["readOnlyRootFilesystem"] is True
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert "cpu" not in container["resources"]["limits"], "throttling would delay guardrails"


def test_the_settings_file_has_the_fields_of_the_operator_and_no_other():
    settings = yaml.load(only(objects("pinned"), "ConfigMap", "hedgerow")["data"]["settings.yaml"], Loader=Strict)
    assert settings == {
        "watchNamespaces": [],
        "image": {
            "repository": "registry.example.com/mirror/hedgerow-gateway",
            "tag": "0.1.0",
            "digest": "sha256:" + 64 * "1",
            "pullPolicy": "Always",
        },
        "fleetDefaults": {},
        "hedging": {"allowed": False},
        "tenancy": {"secretNames": ["hedgerow-*", "llm-*"], "allowedEndpoints": ["api.openai.com", "*.openai.azure.com"]},
        "generatedFleetTtl": "15m",
    }


def test_a_change_of_the_settings_restarts_the_operator_and_nothing_else_does():
    def checksum(*arguments):
        deployment = only(objects("defaults", *arguments), "Deployment")
        return deployment["spec"]["template"]["metadata"]["annotations"]["checksum/settings"]

    assert checksum("--set", "hedging.allowed=false") != checksum()
    assert checksum("--set", "replicaCount=3") == checksum()


def test_an_image_is_named_by_digest_or_by_tag():
    def image(name, *arguments):
        return only(objects(name, *arguments), "Deployment")["spec"]["template"]["spec"]["containers"][0]["image"]

    assert image("defaults") == "hedgerow-operator:0.1.0"
    assert image("defaults", "--set", "image.tag=0.2.0") == "hedgerow-operator:0.2.0"
    assert image("pinned") == "registry.example.com/mirror/hedgerow-operator@sha256:" + 64 * "0"


def test_crds_come_with_the_chart_and_outlive_it():
    kept = of_kind(objects("defaults"), "CustomResourceDefinition")
    assert len(kept) == 4
    for crd in kept:
        assert crd["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    for crd in of_kind(objects("placed"), "CustomResourceDefinition"):
        assert "annotations" not in crd["metadata"]
    assert of_kind(objects("namespaced"), "CustomResourceDefinition") == []


def test_one_replica_has_no_disruption_budget_that_would_block_its_node():
    assert of_kind(objects("defaults", "--set", "replicaCount=1"), "PodDisruptionBudget") == []
    budget = only(objects("defaults"), "PodDisruptionBudget")
    assert budget["spec"]["maxUnavailable"] == 1 and budget["spec"]["unhealthyPodEvictionPolicy"] == "AlwaysAllow"


def test_the_selector_never_changes_with_the_version_or_the_values():
    selectors = {json.dumps(only(objects(name), "Deployment")["spec"]["selector"]) for name in CI}
    assert len(selectors) == 1
    assert "version" not in selectors.pop()


def test_any_release_name_gives_names_that_fit():
    long = "a" * 53
    done = helm("template", long, str(CHART), "--namespace", NAMESPACE)
    assert done.returncode == 0, done.stderr
    for found in yaml.load_all(done.stdout, Loader=Strict):
        if found and found["kind"] != "CustomResourceDefinition":
            name = found["metadata"]["name"]
            assert len(name) <= 63 and "hedgerow" in name, name


def test_old_clusters_are_refused_before_anything_is_written():
    done = helm("template", "hedgerow", str(CHART), "--kube-version", "1.32")
    assert done.returncode != 0
    assert "1.33" in done.stderr


def test_admission_policies_ask_only_about_what_the_operator_watches():
    policies = {one["metadata"]["name"] for one in of_kind(objects("defaults"), "ValidatingAdmissionPolicy")}
    assert policies == {f"hedgerow-{name}" for name in ("route-secrets", "fleet-egress", "on-call", "pod-patches", "operator-writes")}
    bindings = of_kind(objects("namespaced"), "ValidatingAdmissionPolicyBinding")
    assert {one["spec"]["policyName"] for one in bindings} == policies
    for binding in bindings:
        selector = binding["spec"]["matchResources"]["namespaceSelector"]
        assert selector["matchExpressions"][0]["values"] == ["team-a", "team-b"]
        assert binding["spec"]["validationActions"] == ["Deny"]
    assert of_kind(objects("foreign-account"), "ValidatingAdmissionPolicy") == []
