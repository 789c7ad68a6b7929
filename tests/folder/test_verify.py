"""`dpdl privacy verify` finds what was changed, and says where."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
import torch

import dpdl
from dpdl.cli import cli
from dpdl.errors import InputError
from dpdl.folder.verify import _gaps
from dpdl.graph import build
from dpdl.planning.build import make_algorithm, make_privacy_model
from dpdl.privacy.threats import threat
from dpdl.tasks.data import Dataset
from dpdl.training.interrupt import Interrupted
from tests.conftest import small_module
from tests.folder.ledgers import as_format_1, edit
from tests.training.small import StopAt, changed, train

Found = dict[str, Any]
Lines = list[dict[str, Any]]


@pytest.fixture(scope="module")
def original(blobs: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("verify") / "run"
    sound = {
        "algorithm": "dpdl-sound",
        "noise_split": "calibrated",
        "threat": "neighbours:2",
    }
    train(blobs, changed(**sound, sigma=4.0, rounds=10), out=run)
    return run


@pytest.fixture
def run(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original, tmp_path / "run"))


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Callable[[Path], tuple[int, Found]]:
    """Exit code and JSON of the command."""

    def command(run: Path) -> tuple[int, Found]:
        code = cli.main(
            ["privacy", "verify", str(run), "--json"], standalone_mode=False
        )
        return int(code or 0), json.loads(capsys.readouterr().out)

    return command


def disagreeing(found: Found) -> set[str]:
    return {check["name"] for check in found["checks"] if check["agrees"] is False}


def rewrite(run: Path, change: Callable[[Lines], Any], hashed: bool) -> None:
    """Change the lines of a ledger; `hashed`: and all hashes, as somebody would who knows how they are made."""
    path = run / "ledger.jsonl"
    content = [json.loads(line) for line in path.read_text().splitlines()]
    change(content)
    head, written = "0" * 32, []
    for line in content:
        text = json.dumps({**line, "prev": head} if hashed else line)
        head = hashlib.sha256(text.encode()).hexdigest()[:32]
        written.append(text + "\n")
    path.write_text("".join(written))


def report(run: Path, change: Callable[[Found], Any]) -> None:
    path = run / "summary.json"
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


def test_an_honest_run_agrees_in_everything(run: Path, verify) -> None:
    code, found = verify(run)
    assert code == 0
    assert found["agrees"] is True
    assert all(check["agrees"] for check in found["checks"])
    assert (
        found["reported"]
        == found["recomputed"]
        == found["all"]["recomputed"]["neighbours:2"]
    )
    assert (
        found["ledger_head"]
        == json.loads((run / "summary.json").read_text())["ledger_head"]
    )
    names = {check["name"] for check in found["checks"]}
    assert {"chain", "head of the ledger", "sigma in summary.json", "graph in experiment.json", "privacy_statement",
            "sigma_eff, eavesdropper", "rounds in summary.json", "rounds in metrics.jsonl", "rounds in the checkpoint",
            "noise_factors in the ledger", "claimed_theorem1", "eavesdropper"} <= names  # fmt: skip


def test_a_run_at_a_rate_agrees_and_goes_on(
    blobs: Dataset, tmp_path: Path, verify
) -> None:
    at_rate = {
        **changed(algorithm="decor", rounds=6, rate=0.2).as_dict(),
        "batch": None,
        "records": "120,100,80,110,60",
    }
    e = dpdl.Experiment(**at_rate)
    whole = train(blobs, e, out=tmp_path / "whole")
    header = json.loads((tmp_path / "whole/ledger.jsonl").read_text().split("\n")[0])
    said = header["records"]
    assert len(set(said)) > 1
    assert header["batch"] == round(0.2 * sum(said) / len(said))
    assert header["options"]["rate"] == 0.2
    assert verify(tmp_path / "whole")[0] == 0
    with pytest.raises(Interrupted):
        train(blobs, e, out=tmp_path / "part", callbacks=[StopAt(3)])
    again = dpdl.resume(tmp_path / "part", data=blobs, model=small_module())
    assert torch.equal(again.models, whole.models)
    # The guarantee is that of the rate, whatever the agents' numbers.
    one = dpdl.Experiment(**{**at_rate, "rate": None, "batch": 20})
    same = make_privacy_model(one, make_algorithm(one), build("ring", 5), [100] * 5, 77)
    at = same.with_noise(0.5).worst(threat("eavesdropper"))
    assert whole.summary.epsilon.proven["eavesdropper"].value == pytest.approx(at)


def test_every_comparison_is_printed(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.main(["privacy", "verify", str(run)], standalone_mode=False)
    out = capsys.readouterr().out
    assert "The ledger agrees with the report." in out
    assert "Head of the ledger: " in out
    report(run, lambda s: s.update(sigma=5.0))
    assert cli.main(["privacy", "verify", str(run)], standalone_mode=False) == 3
    out = capsys.readouterr().out
    assert (
        "DIFFERS  sigma in summary.json              reported 5   recomputed 4" in out
    )
    assert "The ledger does NOT agree with the report." in out


def sigma_of_20(lines: Lines) -> None:
    lines[0]["sigma"] = 20.0


def effective_sigma(lines: Lines) -> None:
    lines[0]["sigma_eff"] = {
        name: [2 * s for s in of] for name, of in lines[0]["sigma_eff"].items()
    }


def more_records(lines: Lines) -> None:
    lines[0]["records"] = [10 * n for n in lines[0]["records"]]


def the_last_rounds(lines: Lines) -> None:
    del lines[6:]


def the_middle_rounds(lines: Lines) -> None:
    del lines[3:6]


def other_weights(lines: Lines) -> None:
    lines[0]["weights"] = [
        [i, j, 0.2 if i != j else 0.6] for i, j, _ in lines[0]["weights"]
    ]


def larger_batch(lines: Lines) -> None:
    lines[0]["batch"] = 4


def other_noise_factors(lines: Lines) -> None:
    lines[0]["noise_factors"][0][0] = 3.0


def paid_by_one(lines: Lines) -> None:
    lines[4]["agents"] = [1]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (
            sigma_of_20,
            {
                "sigma in summary.json",
                "sigma in experiment.json",
                "sigma_eff, eavesdropper",
            },
        ),
        (effective_sigma, {"sigma_eff, eavesdropper", "sigma_eff, final-model"}),
        (more_records, {"fewest records", "most records", "eavesdropper"}),
        (
            the_last_rounds,
            {
                "rounds in summary.json",
                "rounds in metrics.jsonl",
                "rounds in the checkpoint",
            },
        ),
        (the_middle_rounds, {"rounds without a gap", "eavesdropper"}),
        (other_weights, {"graph in experiment.json", "noise_factors in the ledger"}),
        (larger_batch, {"batch in experiment.json", "eavesdropper"}),
        (other_noise_factors, {"noise_factors in the ledger"}),
        (paid_by_one, {"agents of round 4"}),
    ],
)
@pytest.mark.parametrize("hashed", [False, True])
def test_a_changed_ledger_is_found(
    run: Path, verify, change, names: set[str], hashed: bool
) -> None:
    rewrite(run, change, hashed)
    code, found = verify(run)
    assert code == 3
    assert not found["agrees"]
    expected = (
        names | {"head of the ledger"}
        if hashed or change is the_last_rounds
        else names | {"chain"}
    )
    assert expected <= disagreeing(found)


def test_a_break_in_the_chain_names_the_line(run: Path, verify) -> None:
    rewrite(run, the_middle_rounds, hashed=False)
    _, found = verify(run)
    (chain,) = [check for check in found["checks"] if check["name"] == "chain"]
    assert chain["recomputed"] == "line 4 does not follow what is above it"


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda s: s["epsilon"].update(eavesdropper=0.1), "eavesdropper"),
        (lambda s: s["epsilon"].update(final_model="unbounded"), "final_model"),
        (lambda s: s["epsilon"].update(claimed_theorem1=0.001), "claimed_theorem1"),
        (lambda s: s["epsilon"].update(somebody=0.1), "somebody"),
        (lambda s: s.update(rounds=100), "rounds in summary.json"),
        (lambda s: s.update(sigma=1.0), "sigma in summary.json"),
        (lambda s: s.update(parameters=12), "parameters in summary.json"),
        (lambda s: s.update(ledger_head="0" * 32), "head of the ledger"),
        (lambda s: s["records"].update(fewest=1), "fewest records"),
    ],
)
def test_a_changed_summary_is_found(run: Path, verify, change, name: str) -> None:
    report(run, change)
    code, found = verify(run)
    assert code == 3
    assert disagreeing(found) == {name}


@pytest.mark.parametrize(
    "forged",
    [
        lambda text: text.replace("Proven: (", "Proven: (0."),
        lambda text: text.replace("over 10 rounds", "over 100 rounds"),
        lambda text: text.replace("a simulation: it protects nobody", "private"),
    ],
)
def test_a_changed_statement_is_found(run: Path, verify, forged) -> None:
    honest = json.loads((run / "summary.json").read_text())["privacy_statement"]
    assert forged(honest) != honest
    report(run, lambda s: s.update(privacy_statement=forged(honest)))
    code, found = verify(run)
    assert code == 3
    assert disagreeing(found) == {"privacy_statement"}


def test_of_another_versions_statement_the_numbers_are_compared(
    run: Path, verify
) -> None:
    def older(s: Found) -> None:
        s["versions"]["dpdl"] = "0.0.9"
        s["privacy_statement"] = s["privacy_statement"].replace(
            "Epsilon is that of", "This epsilon is of"
        )

    report(run, older)
    code, found = verify(run)
    assert code == 0
    assert found["checks"][0]["reported"].startswith("dpdl 0.0.9 wrote this")
    report(
        run,
        lambda s: s.update(
            privacy_statement=s["privacy_statement"].replace("Proven: (", "Proven: (0.")
        ),
    )
    code, found = verify(run)
    assert code == 3
    assert disagreeing(found) == {"privacy_statement, its numbers"}


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"batch": 9}, "batch in experiment.json"),
        ({"rounds": 11}, "rounds planned in experiment.json"),
        ({"sigma": 5.0}, "sigma in experiment.json"),
        ({"lr": 0.5}, "other options in experiment.json"),
        ({"delta": 1e-6}, "delta in experiment.json"),
    ],
)
def test_a_changed_experiment_is_found(
    run: Path, verify, options: dict, name: str
) -> None:
    edit(run, **options)
    code, found = verify(run)
    assert code == 3
    assert name in disagreeing(found)


def test_missing_metrics_are_found(run: Path, verify) -> None:
    text = (run / "metrics.jsonl").read_text().splitlines()
    (run / "metrics.jsonl").write_text("\n".join(text[:-1]) + "\n")
    code, found = verify(run)
    assert code == 3
    assert disagreeing(found) == {"rounds in metrics.jsonl"}


def test_a_damaged_line_is_an_error_and_a_cut_off_one_is_not(run: Path, verify) -> None:
    path = run / "ledger.jsonl"
    honest = path.read_text()
    path.write_text(honest + '{"round": 11, "pr')
    assert verify(run)[0] == 0
    path.write_text(honest.replace('{"round": 5,', '{"round" 5,'))
    with pytest.raises(InputError, match="damaged in line 6"):
        verify(run)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda lines: lines[0].update(weights=[[0, 1]]),
        lambda lines: lines[0].update(records=["many"] * 5),
        lambda lines: lines[0].update(algorithm="nothing"),
        lambda lines: lines[0].update(ledger=9),
        lambda lines: lines[0].pop("options"),
    ],
)
def test_a_header_that_makes_no_sense_is_one_sentence(run: Path, spoil) -> None:
    rewrite(run, spoil, hashed=True)
    with pytest.raises((InputError, click.ClickException)) as refused:
        cli.main(["privacy", "verify", str(run)], standalone_mode=False)
    assert "\n" not in str(refused.value)


# ------------------------------------------------------------------- format 1
def test_an_old_ledger_is_compared_as_far_as_it_goes(run: Path, verify) -> None:
    as_format_1(run)
    report(run, lambda s: s.pop("ledger_head"))
    code, found = verify(run)
    assert (code, found["agrees"]) == (0, True)
    assert {check["name"] for check in found["checks"] if check["agrees"] is None} == {
        "chain"
    }
    content = json.loads((run / "ledger.jsonl").read_text().splitlines()[0])
    rest = (run / "ledger.jsonl").read_text().split("\n", 1)[1]
    (run / "ledger.jsonl").write_text(
        json.dumps({**content, "sigma": 20.0}) + "\n" + rest
    )
    code, found = verify(run)
    assert code == 3
    assert {
        "sigma in summary.json",
        "sigma_eff, eavesdropper",
        "eavesdropper",
    } <= disagreeing(found)


def test_an_old_ledger_of_a_graph_without_a_name_is_taken_at_its_word(
    run: Path, verify
) -> None:
    as_format_1(run)
    report(run, lambda s: s.pop("ledger_head"))
    content = json.loads((run / "experiment.json").read_text())
    (run / "experiment.json").write_text(
        json.dumps({**content, "graph_sha256": "of a graph that was given"})
    )
    code, found = verify(run)
    assert (code, found["agrees"]) == (0, True)
    unknown = {check["name"] for check in found["checks"] if check["agrees"] is None}
    assert unknown == {"chain", "sigma_eff", "privacy_statement"}
    report(run, lambda s: s["epsilon"].update(eavesdropper=0.1))
    assert disagreeing(verify(run)[1]) == {"eavesdropper"}


def a_round_far_away(lines: Lines) -> None:
    lines[-1]["round"] = 999_999_999


def test_a_gap_of_a_billion_rounds_is_named_at_once(run: Path, verify) -> None:
    """Rounds were once counted one by one, in gigabytes of memory."""
    rewrite(run, a_round_far_away, hashed=True)
    started = time.process_time()
    _, found = verify(run)
    (gap,) = (c for c in found["checks"] if c["name"] == "rounds without a gap")
    assert not gap["agrees"]
    assert gap["recomputed"].endswith(" to 999999998")
    assert time.process_time() - started < 20


def test_gaps_are_named_by_their_ends() -> None:
    assert _gaps({1, 2, 4, 9}) == ["3", "5 to 8"]
    assert _gaps({2}) == ["1"]
    assert _gaps(set()) == []
