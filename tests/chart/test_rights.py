"""Rights: exactly what is used, the same list wherever it is bound, never a Secret."""

import json

import pytest

from release import CI, NAMESPACE, objects, of_kind, only


def rules(role: dict) -> list[str]:
    """A role's rules, comparable."""
    return [json.dumps(rule, sort_keys=True) for rule in role["rules"]]


def operator_rules(found: list[dict]) -> list[dict]:
    """Every role that is bound to the operator, whatever its kind."""
    bound = {
        (one["roleRef"]["kind"], one["metadata"].get("namespace"), one["roleRef"]["name"])
        for one in found
        if one["kind"] in {"RoleBinding", "ClusterRoleBinding"} and one["subjects"][0]["name"] != "hedgerow-check"
    }
    return [one for one in found if (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) in bound]


def test_with_namespaces_the_operator_has_the_same_rights_there_and_none_in_the_cluster():
    whole = rules(only(objects("defaults"), "ClusterRole", "hedgerow"))
    found = objects("namespaced")
    assert of_kind(found, "ClusterRole") == [] and of_kind(found, "ClusterRoleBinding") == []
    roles = [role for role in of_kind(found, "Role") if role["metadata"]["name"] == "hedgerow"]
    assert [role["metadata"]["namespace"] for role in roles] == ["team-a", "team-b"]
    for role in roles:
        assert rules(role) == whole


@pytest.mark.parametrize("name", CI)
def test_no_role_of_the_operator_names_secrets_or_a_wildcard(name):
    bound = operator_rules(objects(name))
    assert bound or name == "foreign-account"
    for role in bound:
        for rule in role["rules"]:
            assert "secrets" not in rule["resources"]
            assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
            assert not {"escalate", "bind", "impersonate", "deletecollection"} & set(rule["verbs"])
            assert not any(resource.startswith(("pods/", "roles", "clusterroles")) for resource in rule["resources"])


def test_the_lease_is_in_the_namespace_of_the_release_and_bound_by_name():
    for name in ("defaults", "namespaced"):
        role = only(objects(name), "Role", "hedgerow-lease")
        assert role["metadata"]["namespace"] == NAMESPACE
        named = [rule for rule in role["rules"] if "create" not in rule["verbs"]]
        assert all(rule["resourceNames"] == ["hedgerow-operator"] for rule in named)
        others = [one for one in of_kind(objects(name), "ClusterRole") if "leases" in json.dumps(one["rules"])]
        assert others == []


def test_without_rbac_create_the_chart_gives_the_operator_nothing():
    found = [one for one in objects("foreign-account") if one["metadata"]["name"] != "hedgerow-check"]
    assert not [one for one in found if one["kind"] in {"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "ServiceAccount"}]
    deployment = only(found, "Deployment")
    assert deployment["spec"]["template"]["spec"]["serviceAccountName"] == "hedgerow-operator"


def test_viewers_only_look_editors_write_specs_and_on_call_may_patch_policies():
    found = objects("defaults")
    view, edit, on_call = (only(found, "ClusterRole", f"hedgerow-{name}") for name in ("view", "edit", "on-call"))
    assert {verb for rule in view["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    assert view["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] == "true"
    assert "rbac.authorization.k8s.io/aggregate-to-view" not in edit["metadata"]["labels"]
    assert not any("/" in resource for rule in edit["rules"] for resource in rule["resources"]), "status is the operator's"
    writing = [rule for rule in on_call["rules"] if set(rule["verbs"]) - {"get", "list", "watch"}]
    assert writing == [{"apiGroups": ["hedgerow.dev"], "resources": ["hedgepolicies"], "verbs": ["patch"]}]


def test_there_is_no_on_call_role_without_the_policy_that_bounds_it():
    found = objects("defaults", "--set", "admission.onCall=false")
    names = {one["metadata"]["name"] for one in of_kind(found, "ClusterRole")}
    assert "hedgerow-on-call" not in names and "hedgerow-view" in names


def test_the_policies_name_the_account_that_the_operator_really_has():
    found = objects("placed")
    account = only(found, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
    assert account == "llm-operator"
    for name in ("pod-patches", "operator-writes"):
        policy = only(found, "ValidatingAdmissionPolicy", f"hedgerow-{name}")
        conditions = [condition["expression"] for condition in policy["spec"]["matchConditions"]]
        assert conditions == [f"request.userInfo.username == 'system:serviceaccount:{NAMESPACE}:{account}'"]
