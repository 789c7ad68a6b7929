"""`dpdl peer`: what a person types before a run, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from dpdl.cli import outcome
from dpdl.peer.home import Home
from dpdl.peer.keys import last_digits

EXPERIMENT = """
algorithm = "dpdl-sound"
graph = "complete"
model = "mlp"
rounds = 3
batch = 8
sigma = 5.0
"""


@pytest.fixture
def said(capsys):
    """Gives a command; exit code, standard output and standard error."""

    def give(*words: str) -> tuple[int, str, str]:
        code = outcome(["peer", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return give


def records(path: Path) -> Path:
    generator = np.random.default_rng(0)
    x = generator.standard_normal((60, 6)).astype(np.float32)
    np.savez(path, x=x, y=generator.integers(0, 3, 60))
    return path


def test_two_sites_agree_by_commands_alone(said, tmp_path):
    (tmp_path / "experiment.toml").write_text(EXPERIMENT)
    for name in ("mercy", "olav"):
        home = ("--home", str(tmp_path / name))
        code, out, _ = said(
            "init", name, "--url", f"https://{name}.example:8443", *home
        )
        assert code == 0
        assert "Fingerprint" in out
        file = records(tmp_path / f"{name}.npz")
        form = ("--shape", "6", "--predict", "3 classes")
        words = ("data", "add", "lungs", str(file), "--budget", "40:1e-5")
        code, out, err = said(*words, "--declare", "40", *form, *home)
        assert code == 0, err
        assert "40 records are declared" in out
    for name, other in (("mercy", "olav"), ("olav", "mercy")):
        card = tmp_path / other / "card.toml"
        home = ("--home", str(tmp_path / name))
        code, _, err = said("admit", str(card), "--digits", "00000000", *home)
        assert code == 2
        assert "not the last 8 digits" in err
        digits = said("show", str(card), "--digits")[1].strip()
        assert digits == last_digits(Home.open(tmp_path / other).signing.public)
        assert said("admit", str(card), "--digits", digits, *home)[0] == 0
        assert said("admit", str(card), *home)[0] == 0, "a known key needs no telephone"
    mercy = ("--home", str(tmp_path / "mercy"))
    out_folder = tmp_path / "proposal"
    file = str(tmp_path / "experiment.toml")
    words = ("propose", file, "--members", "mercy,olav", "--out", str(out_folder))
    code, out, err = said(*words, *mercy)
    assert code == 0, err
    assert "olav: epsilon" in out
    manifest = str(out_folder / "manifest.toml")
    code, out, _ = said("review", manifest, *mercy)
    assert code == 0
    assert "What leaves this site" in out
    code, out, _ = said("review", manifest, "--json", *mercy)
    assert json.loads(out)["site"] == "mercy"
    code, _, err = said("approve", manifest, *mercy)
    assert code == 2
    assert "--person" in err
    code, out, _ = said("approve", manifest, "--person", "A Person", *mercy)
    assert code == 0
    assert "Approved by A Person" in out
    code, out, _ = said("status", *mercy)
    assert code == 0
    assert "waits for the approval of" in out
    assert said("approve", manifest, "--withdraw", *mercy)[0] == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("init", "Not A Name"), "name"),
        (("status", "--home", "nowhere"), "nowhere"),
        (("show", "nowhere.toml"), "cannot be read"),
        (("admit", "nowhere.toml", "--home", "nowhere"), "nowhere"),
        (("run", "abcd", "--home", "nowhere"), "nowhere"),
        (("review", "nowhere.toml", "--home", "nowhere"), "nowhere"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    said, words, sentence, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    code, out, err = said(*words)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert sentence in err
