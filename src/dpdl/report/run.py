"""One run: what was trained, how well, and what it gave away."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dpdl.report.page import Section, picture, said, table


def of_run(summary: Mapping[str, Any], folder: Path) -> Section:
    """From `summary.json` and the curves beside it."""
    s = summary
    title = f"{s['algorithm']} on {s['dataset']}, {s['graph']} of {s['agents']} agents"
    accuracy = s["accuracy"]
    rows = [
        ("test accuracy, mean over agents", f"{accuracy['mean']:.2%}"),
        ("worst and best agent", f"{accuracy['worst']:.2%} and {accuracy['best']:.2%}"),
        ("average of all models", f"{accuracy['average_model']:.2%}"),
        ("rounds", f"{s['rounds']:,}"),
        ("sent by all agents", f"{s['bytes_sent'] / 1e6:,.0f} MB"),
        ("time", f"{s['seconds']:,.0f} s"),
        *((_epsilon(name), _number(value)) for name, value in s["epsilon"].items() if value is not None),
    ]
    html = [said(s["privacy_statement"]), table(["what", "value"], rows, f"Result of {title}.")]
    curves = folder / "training.png"
    if curves.exists():
        words = f"Test accuracy and training loss over the rounds; the last accuracy is {accuracy['mean']:.1%}."
        html.append(picture(curves, words, "Mean over agents; the band reaches from the worst to the best."))
    return Section(f"run-{_key(folder)}", title, "\n".join(html))


def _epsilon(name: str) -> str:
    words = "claimed by Theorem 1" if name == "claimed_theorem1" else f"proven, {name.replace('_', ' ')}"
    return f"epsilon, {words}"


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _key(folder: Path) -> str:
    return "".join(c if c.isalnum() else "-" for c in folder.resolve().name)
