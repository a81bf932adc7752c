"""Every alert fires when it should and only then, evaluated by Prometheus' own promtool."""

import subprocess

import pytest
import yaml

from release import CHART

RULES = CHART / "alerts" / "hedgerow.yaml"
FLEET = 'namespace="team-a",fleet="default"'
ACTIONS = f"hedgerow_user_actions_total{{{FLEET},cohort=\"chat\",lane=\"batch\",status_class=\"%s\"}}"
PODS = f"hedgerow_operator_pods{{{FLEET},state=\"%s\"}}"
STATE = 'hedgerow_operator_cohort_state{namespace="team-a",policy="chat",cohort="stream",state="%s"}'
BREAKER = f"hedgerow_breaker_state{{{FLEET},route=\"east\",state=\"%s\"}}"
LEADER = 'hedgerow_operator_leader{pod="%s"}'

# Alert, samples a minute at which it fires after an hour, samples at which it does not.
CASES = [
    (
        "HedgerowErrors",
        {ACTIONS % "success": "0+900x60", ACTIONS % "upstream_error": "0+100x60"},
        {ACTIONS % "success": "0+960x60", ACTIONS % "gateway_error": "0+40x60", ACTIONS % "shed": "0+100x60"},
    ),
    (
        "HedgerowErrors",
        {ACTIONS % "success": "0+900x60", ACTIONS % "gateway_error": "0+100x60", ACTIONS % "canceled": "0+5000x60"},
        {ACTIONS % "success": "0+1000x60", ACTIONS % "client_error": "0+500x60"},
    ),
    ("HedgerowRouteOpen", {BREAKER % "Open": "1x60"}, {BREAKER % "Open": "0x60", BREAKER % "Slow": "1x60"}),
    ("HedgerowRouteOpen", {BREAKER % "QuotaOpen": "1x60"}, {BREAKER % "Throttled": "1x60"}),
    (
        "HedgerowShedding",
        {f"hedgerow_shed_total{{{FLEET},lane=\"batch\",reason=\"LaneFull\"}}": "0+10x60", ACTIONS % "success": "0+90x60", ACTIONS % "shed": "0+10x60"},
        {f"hedgerow_shed_total{{{FLEET},lane=\"batch\",reason=\"LaneFull\"}}": "0+1x60", ACTIONS % "success": "0+90x60", ACTIONS % "shed": "0+1x60"},
    ),
    (
        "HedgerowBudgetEmpty",
        {f"hedgerow_budget_tokens{{{FLEET},model=\"m\",pod=\"a\"}}": "0.5x60", f"hedgerow_budget_tokens{{{FLEET},model=\"m\",pod=\"b\"}}": "9x60"},
        {f"hedgerow_budget_tokens{{{FLEET},model=\"m\",pod=\"a\"}}": "0.5x20 5x40"},
    ),
    ("HedgerowConfigRejected", {f"hedgerow_config_rejected_total{{{FLEET}}}": "0+1x60"}, {f"hedgerow_config_rejected_total{{{FLEET}}}": "3x60"}),
    (
        "HedgerowCertificateUnusable",
        {f"hedgerow_certificate_unusable{{{FLEET},pod=\"a\"}}": "0x60", f"hedgerow_certificate_unusable{{{FLEET},pod=\"b\"}}": "1x60"},
        {f"hedgerow_certificate_unusable{{{FLEET},pod=\"a\"}}": "1x55 0x5"},
    ),
    ("HedgerowRecordsDropped", {f"hedgerow_records_dropped_total{{{FLEET}}}": "0+5x60"}, {f"hedgerow_records_dropped_total{{{FLEET}}}": "0x60"}),
    ("HedgerowSpansDropped", {f"hedgerow_spans_dropped_total{{{FLEET}}}": "0+5x60"}, {f"hedgerow_spans_dropped_total{{{FLEET}}}": "0x60"}),
    ("HedgerowHedgingSuspended", {STATE % "Suspended": "1x60"}, {STATE % "Trial": "1x60", STATE % "Suspended": "1x50 _x10"}),
    ("HedgerowNotProgrammed", {PODS % "ready": "3x60", PODS % "programmed": "2x60"}, {PODS % "ready": "3x60", PODS % "programmed": "3x60"}),
    (
        "HedgerowUnread",
        {f"hedgerow_operator_scrape_failures_total{{{FLEET}}}": "0+12x60"},
        {f"hedgerow_operator_scrape_failures_total{{{FLEET}}}": "0+1x60"},
    ),
    (
        "HedgerowOperatorErrors",
        {'hedgerow_operator_reconcile_errors_total{step="apply"}': "0+1x60"},
        {'hedgerow_operator_reconcile_errors_total{step="apply"}': "0+1x20 20x40"},
    ),
    ("HedgerowNoLeader", {LEADER % "a": "0x60", LEADER % "b": "0x60"}, {LEADER % "a": "0x60", LEADER % "b": "1x60"}),
    ("HedgerowNoLeader", {}, {LEADER % "a": "1x58 0x2", LEADER % "b": "0x59 1x1"}),
]


def firing(folder, alert: str, series: dict[str, str], expected: int) -> None:
    """Evaluates an hour of samples and counts the firing alerts of a name at its end."""
    samples = [{"labels": "{}", "value": expected}] if expected else []
    case = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [
            {
                "interval": "1m",
                "input_series": [{"series": name, "values": values} for name, values in series.items()],
                "promql_expr_test": [
                    {"expr": f'count(ALERTS{{alertname="{alert}",alertstate="firing"}})', "eval_time": "60m", "exp_samples": samples}
                ],
            }
        ],
    }
    path = folder / "case.yaml"
    path.write_text(yaml.safe_dump(case))
    done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(("alert", "fires", "_"), CASES)
def test_the_alert_fires(alert, fires, _, tmp_path):
    firing(tmp_path, alert, fires, 1)


@pytest.mark.parametrize(("alert", "_", "quiet"), CASES)
def test_the_alert_is_quiet(alert, _, quiet, tmp_path):
    firing(tmp_path, alert, quiet, 0)


def test_every_alert_has_a_case():
    groups = yaml.safe_load(RULES.read_text())["groups"]
    assert {rule["alert"] for group in groups for rule in group["rules"]} == {alert for alert, _, _ in CASES}
