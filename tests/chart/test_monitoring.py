"""Dashboard and alerts ask for series that exist, in queries that Prometheus takes."""

import json
import re
import subprocess

import pytest
import yaml

from release import CHART, ROOT, objects, of_kind, only

SUFFIXES = ("_bucket", "_sum", "_count")


def catalogue() -> dict[str, set[str]]:
    """Families and their labels, from the documents of the metrics."""
    found = {}
    for document in (ROOT / "docs").glob("*metrics.md"):
        for line in document.read_text().splitlines():
            cells = [cell.strip() for cell in line.split("|")]
            if len(cells) >= 5 and cells[1].startswith("`"):
                found[cells[1].strip("`")] = set(re.findall(r"`([a-z_]+)`", cells[3]))
    return found


def alerts() -> list[dict]:
    """All alerts."""
    groups = yaml.safe_load((CHART / "alerts" / "hedgerow.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels() -> list[dict]:
    """All panels of the dashboard."""
    return json.loads((CHART / "dashboards" / "hedgerow.json").read_text())["panels"]


def queries() -> list[tuple[str, str]]:
    """Name and text of every query."""
    found = [(rule["alert"], rule["expr"]) for rule in alerts()]
    for panel in panels():
        found += [(panel["title"], target["expr"]) for target in panel.get("targets", [])]
    return found


@pytest.mark.parametrize(("name", "query"), queries(), ids=[name for name, _ in queries()])
def test_every_query_asks_for_documented_metrics_and_labels(name, query):
    known = catalogue()
    families = set(re.findall(r"\b((?:hedgerow|gen_ai)_[a-z_]+)(?=[{\[)\s]|$)", query)) - {"gen_ai_request_model", "gen_ai_token_type"}
    assert families, name
    labels = {"namespace", "fleet", "pod", "le"}
    for family in families:
        base = next((family.removesuffix(end) for end in SUFFIXES if family.removesuffix(end) in known), family)
        assert base in known, f"{name} asks for {family}, which no document of docs/ lists"
        labels |= known[base]
    used = set(re.findall(r"\b([a-z_]+)\s*(?:=~|!=|!~|=)\s*\"", query))
    for group in re.findall(r"\b(?:by|ignoring|on)\s*\(([^)]*)\)", query):
        used |= {label.strip() for label in group.split(",") if label.strip()}
    assert used <= labels, f"{name} uses labels that do not exist: {used - labels}"


def promtool(*arguments: str) -> None:
    """Runs promtool; a failure shows what it says."""
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_every_alert_and_every_query_of_the_dashboard(tmp_path):
    rules = []
    for name, query in queries():
        plain = query.replace("$__rate_interval", "5m").replace("$namespace", ".*").replace("$fleet", ".*")
        rules.append({"record": "query:" + re.sub(r"[^a-z]", "_", name.lower()), "expr": plain, "labels": {"n": str(len(rules))}})
    (tmp_path / "queries.yaml").write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    promtool("check", "rules", str(tmp_path / "queries.yaml"))
    promtool("check", "rules", str(CHART / "alerts" / "hedgerow.yaml"))


def test_every_alert_says_how_bad_it_is_and_what_to_do():
    for rule in alerts():
        assert rule["labels"]["severity"] in {"critical", "warning", "info"}
        assert len(rule["annotations"]["summary"]) > 20 and len(rule["annotations"]["description"]) > 60, rule["alert"]


def test_every_panel_says_what_to_see_and_no_two_overlap():
    taken = set()
    ids = set()
    for panel in panels():
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & taken and place["x"] + place["w"] <= 24, panel["title"]
        taken |= cells
        assert panel["id"] not in ids
        ids.add(panel["id"])
        if panel["type"] == "row":
            assert panel["title"].endswith("?"), "rows are the questions of whoever is on call"
        else:
            assert panel["description"], panel["title"]


def test_monitoring_objects_select_what_the_chart_and_the_operator_label():
    found = objects("monitored")
    service = only(found, "Service")
    monitor = only(found, "ServiceMonitor")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] in {port["name"] for port in service["spec"]["ports"]}
    assert monitor["spec"]["endpoints"][0]["honorLabels"] is True
    pods = only(found, "PodMonitor")
    assert pods["spec"]["selector"]["matchLabels"] == {"app.kubernetes.io/name": "hedgerow-gateway"}
    assert pods["spec"]["podMetricsEndpoints"][0]["port"] == "admin"
    for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule"):
        assert only(found, kind)["metadata"]["labels"]["release"] == "prometheus"
    rule = only(found, "PrometheusRule")["spec"]
    assert rule == yaml.safe_load((CHART / "alerts" / "hedgerow.yaml").read_text())
    dashboard = only(found, "ConfigMap", "hedgerow-dashboard")
    assert json.loads(dashboard["data"]["hedgerow.json"])["uid"] == "hedgerow"
    assert dashboard["metadata"]["labels"]["grafana_dashboard"] == "1"


def test_nothing_of_it_is_there_unless_asked_for():
    found = objects("defaults")
    assert not [one for kind in ("ServiceMonitor", "PodMonitor", "PrometheusRule") for one in of_kind(found, kind)]
    assert not [one for one in of_kind(found, "ConfigMap") if "dashboard" in one["metadata"]["name"]]
