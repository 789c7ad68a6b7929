"""`dpdl data ledger`, and runs that pay into a ledger."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dpdl.folder.data_ledger_reader import LedgerReader
from dpdl.folder.ledger_content import read
from tests.commands import DIGITS, dpdl

LEDGER = "digits.dpdl-ledger"
SECURE = [
    *("run", *DIGITS[:-2], "--algorithm", "dp-dpsgd", "--sigma", "20", "--rounds", "6"),
    *("--randomness", "secure", "--ledger", LEDGER, "--quiet"),
]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RANK", raising=False)


@pytest.fixture
def command(monkeypatch, capsys):
    return lambda *words: dpdl(monkeypatch, capsys, *words)


@pytest.fixture
def _ledger(command) -> None:
    assert command("data", "ledger", "create", LEDGER, "--budget", "1:1e-5")[0] == 0


# ------------------------------------------------------------------ the ledger
def test_a_ledger_is_made_shown_and_verified(command) -> None:
    Path("lungs.npz").write_bytes(b"")
    words = ["lungs.npz", "--budget", "6:1e-6", "--about", "CT scans of the lung"]
    code, out, _ = command("data", "ledger", "create", *words)
    assert code == 0
    assert out == "lungs.npz.dpdl-ledger: epsilon 6 for delta 1e-06, add-remove\n"
    code, out, _ = command("data", "ledger", "show", "lungs.npz")
    assert code == 0 and "CT scans of the lung: epsilon 6 for delta 1e-06" in out
    assert "epsilon 0 is spent; 0 with what is reserved" in out
    code, out, _ = command("data", "ledger", "verify", "lungs.npz")
    assert code == 0 and "ok: 1 entries" in out
    head = out.split()[-1]
    assert command("data", "ledger", "verify", "lungs.npz", "--head", head)[0] == 0


def test_a_ledger_may_be_for_runs_that_are_planned_by_earlier_ones(command) -> None:
    words = ["x", "--budget", "6:1e-6", "--adaptive"]
    code, out, _ = command("data", "ledger", "create", *words)
    assert code == 0 and "also for runs planned by earlier ones" in out
    _, out, _ = command("data", "ledger", "show", "x", "--json")
    assert json.loads(out)["adaptive"] is True


@pytest.mark.usefixtures("_ledger")
def test_the_json_of_a_ledger_is_one_object(command) -> None:
    code, out, _ = command("data", "ledger", "show", LEDGER, "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["budget"], facts["delta"], facts["runs"]) == (1.0, 1e-5, [])
    assert facts["relation"] == "add-remove" and len(facts["head"]) == 64


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["create", "x"], "--budget"),
        (["create", "x", "--budget", "6"], "EPSILON:DELTA"),
        (["create", "x", "--budget", "0:1e-5"], "above 0"),
        (["create", "x", "--budget", "1:1e-5", "--relation", "x"], "add-remove"),
        (["create", "no/x", "--budget", "1:1e-5"], "cannot be made"),
        (["create", LEDGER, "--budget", "9:1e-5"], "already"),
        (["show", "nowhere"], "no ledger at 'nowhere'"),
        (["verify", "nowhere"], "no ledger at 'nowhere'"),
        (["verify", LEDGER, "--head", "abc"], "no entry with the hash 'abc'"),
        (["release", LEDGER, "abc"], "Unknown run 'abc'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
@pytest.mark.usefixtures("_ledger")
def test_wrong_input_gets_one_sentence(command, words: list[str], said: str) -> None:
    code, out, err = command("data", "ledger", *words)
    assert code == 2 and said in err and out == ""
    assert err.startswith("error: ") and len(err) <= 301 and err.count("\n") == 1


def test_another_file_is_no_ledger(command) -> None:
    Path("x").mkdir()
    Path("x/ledger.sqlite").write_bytes(b"something else" * 500)
    for what in ("show", "verify"):
        code, _, err = command("data", "ledger", what, "x")
        assert code == 2 and "Ledger 'x/ledger.sqlite' is damaged" in err


# ------------------------------------------------------------------ runs
@pytest.mark.usefixtures("_ledger")
def test_runs_pay_until_the_budget_is_spent(command) -> None:
    code, out, _ = command(*SECURE)
    assert code == 0 and f"Ledger {LEDGER}: epsilon" in out
    code, out, err = command(*SECURE, "--json")
    assert code == 0 and json.loads(out)["rounds"] == 6, "one object and nothing else"
    code, out, err = command(*SECURE, "--rounds", "600", "--sigma", "2")
    assert (code, out) == (3, "")
    assert "There is room for" in err and "of its 600 rounds" in err
    assert len(list(Path("runs").iterdir())) == 2, "what is refused leaves no folder"
    _, out, _ = command("data", "ledger", "show", LEDGER, "--json")
    assert [run["rounds_spent"] for run in json.loads(out)["runs"]] == [6, 6]


@pytest.mark.usefixtures("_ledger")
def test_a_ledger_that_does_not_fit_the_run_is_refused_before_torch(command) -> None:
    for words, said in (
        (["--randomness", "reproducible"], "--randomness secure"),
        (["--ledger", "nowhere"], "no ledger at 'nowhere'"),
        (["--relation", "replace-one"], "about add-remove"),
    ):
        code, _, err = command(*SECURE, *words)
        assert code == 2 and said in err
    assert not Path("runs").exists()


@pytest.mark.usefixtures("_ledger")
def test_a_run_goes_on_with_its_ledger(command) -> None:
    assert command(*SECURE, "--out", "run")[0] == 0
    code, out, _ = command("resume", "run", "--rounds", "9", "--quiet")
    assert code == 0 and f"{LEDGER}: epsilon" in out
    code, _, err = command("resume", "run", "--ledger", "nowhere")
    assert code == 2 and "no ledger at" in err
    with LedgerReader.open(LEDGER) as ledger:
        (run,) = ledger.runs().values()
    assert (run.rounds_spent, run.rounds_left) == (9, 0)


@pytest.mark.usefixtures("_ledger")
def test_what_a_run_that_is_given_up_has_reserved_is_returned_by_a_person(
    command,
) -> None:
    process = begun("--rounds", "3000", "--sigma", "400", "--out", "run")
    wait_for_rounds(2)
    process.kill()
    process.wait()
    with LedgerReader.open(LEDGER) as ledger:
        ((name, run),) = ledger.runs().items()
    assert run.rounds_spent >= 2 and run.rounds_spent + run.rounds_left == 3000
    code, out, _ = command("data", "ledger", "release", LEDGER, name)
    assert code == 0 and out == f"{name}: {run.rounds_left} rounds returned\n"


def begun(*words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "dpdl", *SECURE, *words])


def wait_for_rounds(count: int, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with LedgerReader.open(LEDGER) as ledger:
            if any(run.rounds_spent >= count for run in ledger.runs().values()):
                return
        time.sleep(0.02)
    raise TimeoutError


@pytest.mark.slow
@pytest.mark.usefixtures("_ledger")
def test_a_killed_run_has_paid_for_all_that_left_and_goes_on() -> None:
    words = ("--rounds", "400", "--sigma", "200", "--out", "run", "--resume")
    more = ("--checkpoint-every", "5")
    for kill in range(4):
        process = begun(*words, *more)
        wait_for_rounds(20 * (kill + 1))
        process.kill()
        process.wait()
        left = len(read(Path("run/ledger.jsonl")).entries)
        with LedgerReader.open(LEDGER) as ledger:
            (run,) = ledger.runs().values()
            assert left <= run.rounds_spent <= left + kill + 1
            assert ledger.verify() == ledger.head
    assert begun(*words, *more).wait() == 0
    left = len(read(Path("run/ledger.jsonl")).entries)
    with LedgerReader.open(LEDGER) as ledger:
        (run,) = ledger.runs().values()
        assert 400 < left <= run.rounds_spent <= left + 4
        assert run.rounds_left == 0


@pytest.mark.slow
@pytest.mark.usefixtures("_ledger")
def test_runs_at_once_share_one_budget() -> None:
    # One such run costs 0.62, two 0.82, three 0.98, four 1.12: more than the budget.
    words = ("--rounds", "30", "--partition", "iid", "--sigma", "1.4")
    runs = [begun(*words, "--out", f"run{k}", "--seed", str(k)) for k in range(4)]
    codes = sorted(run.wait() for run in runs)
    assert codes == [0, 0, 0, 3]
    with LedgerReader.open(LEDGER) as ledger:
        assert [run.rounds_spent for run in ledger.runs().values()] == [30] * 3
        assert 0.95 < ledger.epsilon().spent <= 1.0
        assert ledger.verify() == ledger.head
