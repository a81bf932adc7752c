"""The table and the results page: figures, their ratios, and on what they were measured."""

import pathlib
import platform
import subprocess

# What a ratio or value of the gateway must not pass: (figure, compared with, limit).
MUST = {
    "cpu-1k": ("ratioToHyper", 2.0),
    "added-p50": ("ratioToNginx", 1.5),
    "added-p99": ("ratioToNginx", 1.5),
    "cpu-event": ("ratioToHyper", 1.3),
    "held-plain": ("value", 40),
    "held-tls-h2": ("value", 40),
    "held-tls-h1": ("value", 55),
    "held-100k": ("value", 70),
    "rss-idle": ("value", 15),
    "rss-256": ("value", 40),
    "cpu-100k-prose": ("ratioToHyper", 1.5),
    "cpu-100k-code": ("ratioToHyper", 2.2),
    "start": ("value", 0.2),
    "hedged-tls-h2": ("value", 1.6),
    "hedged-tls-h1": ("value", 2.5),
    "two-workers": ("value", 1.1),
}


def table(rows: list[dict]) -> str:
    """Markdown: one line per figure and target."""
    lines = ["| figure | target | value | of nginx | of hyper | must | holds |", "| --- | --- | --- | --- | --- | --- | --- |"]
    show = lambda value: "" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"
    for row in sorted(rows, key=lambda row: row["figure"]):
        must = holds = ""
        if row["target"] == "hedgerow" and row["figure"] in MUST:
            of, limit = MUST[row["figure"]]
            name = {"ratioToHyper": " x hyper", "ratioToNginx": " x nginx", "value": f" {row['unit']}"}[of]
            must = f"<= {limit}{name}"
            holds = "" if row[of] is None else "yes" if row[of] <= limit else "**no**"
        cells = [row["figure"], row["target"], f"{show(row['value'])} {row['unit']}", show(row["ratioToNginx"]),
                 show(row["ratioToHyper"]), must, holds]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def machine() -> list[str]:
    """What the figures were measured on."""
    cpu = pathlib.Path("/proc/cpuinfo").read_text()
    names = {line.split(":", 1)[1].strip() for line in cpu.splitlines() if line.startswith("model name")}
    said = lambda *command: subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    load = pathlib.Path("/proc/loadavg").read_text().split()[:3]
    return [
        f"- machine: {cpu.count('processor')} processors, {', '.join(names) or platform.machine()}, Linux {platform.release()}",
        f"- load at the end: {' '.join(load)} (other work on the machine shows in the latencies first)",
        f"- commit: {said('git', 'rev-parse', '--short=12', 'HEAD')}, {said('rustc', '--version')}",
    ]


def of(rows: list[dict], command: str) -> str:
    """The whole page."""
    head = ["# Benchmarks", "", "Written by the command below; what each figure means: [tests/bench/README.md](README.md).", ""]
    return "\n".join([*head, f"- command: `{command}`", *machine(), "", table(rows), ""])
