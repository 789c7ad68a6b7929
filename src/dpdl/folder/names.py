"""The names of the files and folders that dpdl writes: nowhere else are they spelt out.

`docs/architecture.md` describes the files of a run. A name that depends on a round, a
process or a seed is made by a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

Test = Callable[[str], bool]
"""Whether a name is one of some."""
LOCK = ".lock"
"""In every folder that one process at a time may write."""

# ------------------------------------------------------------------ a run
EXPERIMENT = "experiment.json"
METRICS = "metrics.jsonl"
LEDGER = "ledger.jsonl"
PARTITION = "partition.json"
STATE = "state.safetensors"
STATES = "state-*.safetensors"
"""A pattern: those of single processes, see `state_of`."""
SUMMARY = "summary.json"
TIMING = "timing.json"
TRAINING_CURVES = "training.png"
METRICS_TABLE = "metrics.csv"
TENSORBOARD = "tensorboard"
WANDB = "wandb"
MLFLOW = "mlflow"
TRACKIO = "trackio"
TRACKED = "tracked.json"
"""In the folder of a tracker: what it calls the run, and how far it knows it."""
AUDIT = "audit.json"
"""In a run: what `dpdl audit` certified. In its attack: what stands beside membership inference."""
REPORT = "report.html"
PUBLIC_REPORT = "public.html"
STATEMENT = "statement.html"
RECORDING = "recording"
ATTACK = "attack"

# ------------------------------------------------------------------ the ledger of a data set
DATA_LEDGER = "ledger.sqlite"
DATA_LEDGER_FOLDER = ".dpdl-ledger"
"""What the folder of a ledger is called, after the name of the data."""
LEDGER_NOTE = "data-ledger.json"
"""In a run: which ledger its rounds are debited in."""

# ------------------------------------------------------------------ an exported model
MODEL = "model"
"""In a run: what `dpdl export --to model` writes."""
PARAMETERS = "model.safetensors"
MODEL_CARD = "README.md"
LOADER = "load_model.py"
FEATURES: Mapping[str, tuple[str, ...]] = {
    "scattering": ("scattering.py",),
    "patches": ("patches.py", "patches.npz", "directions.py"),
    "deep_patches": (
        *("deep_patches.py", "deep_patches.npz"),
        *("patches.py", "patches.npz", "directions.py"),
    ),
}
DIRECTIONS = "directions.py"
"""The fixed features, where the model takes them."""

# ------------------------------------------------------------------ a recording
PUBLIC_FACTS = "public.json"
RECORDED_ROUNDS = "index.json"

# ------------------------------------------------------------------ an attack
ATTACK_RESULT = "attack.json"
GALLERY = "gallery.png"
GALLERY_OF_AGENTS = "agents.png"
MEMBERSHIP_CURVES = "membership.png"

# ------------------------------------------------------------------ a comparison
COMPARISON = "compare.json"
TABLE = "table.json"
TABLE_CSV = "table.csv"
COMPARISON_CURVES = "curves.png"
RUNS = "runs"
"""The runs of a comparison; and where runs go unless a folder is named."""

# ------------------------------------------------------------------ a search
SEARCH = "tune.json"
TRIALS = "trials.jsonl"
TRIAL_RUNS = "trials"
SEARCH_RESULT = "result.json"
BEST = "best.toml"

# ------------------------------------------------------------------ the demonstration
DEMO = "demo.json"
STORY = "story.json"
STORY_PICTURE = "rebuilt.png"

# ------------------------------------------------------------------ a reproduction
RESULTS = "results"
REPRODUCED = "reproduce"
"""In the folder of all runs: those of a reproduction."""
FIGURES = "figures"
ATTACK_RESULTS = "attack"


def state_of(process: int, before: bool = False) -> str:
    """The checkpoint of one process for the agents it hosts, or the one before it."""
    return f"state-{process}{'.before' if before else ''}.safetensors"


def recorded_round(t: int, batch: int | None = None, later: bool = False) -> str:
    """The messages of round t.

    `batch`: played with batches of that size; `later`: the round after it, played so too.
    """
    size = "" if batch is None else f"-b{batch}"
    return f"{t:06d}{size}{'-after' if later else ''}.safetensors"


def round_recorded_in(name: str) -> tuple[int, int | None] | None:
    """The round, and the size of batches, of a recorded file; None for a round played after."""
    found = _recorded(name)
    if found is None or found["after"]:
        return None
    return int(found["t"]), int(found["size"]) if found["size"] else None


def _recorded(name: str) -> re.Match[str] | None:
    number = "[0-9]{1,18}"  # fits into a machine's word
    form = rf"(?P<t>[0-9]{{6,18}})(-b(?P<size>{number}))?(?P<after>-after)?"
    return re.fullmatch(rf"{form}\.safetensors", name)


def is_of_run(name: str) -> bool:
    """Whether a process that trains writes a file of this name into the folder of its run."""
    facts = (EXPERIMENT, LEDGER, LEDGER_NOTE, PARTITION)
    whole = (*facts, METRICS, STATE, SUMMARY, TIMING)
    state = re.fullmatch(r"state-\d+(\.before)?\.safetensors", name)
    return name in (*whole, TRAINING_CURVES) or state is not None


def is_of_recording(name: str) -> bool:
    """Whether a process that records writes a file of this name into the folder of a recording."""
    return name in (PUBLIC_FACTS, RECORDED_ROUNDS) or _recorded(name) is not None


def is_of_tracker(name: str) -> bool:
    """Whether we write a file of this name into the folder of a tracker; the others are its own."""
    return name == TRACKED


def is_of_study(name: str) -> bool:
    """Whether a comparison or a search writes a file of this name into its folder."""
    compared = (COMPARISON, TABLE, TABLE_CSV, COMPARISON_CURVES)
    return name in (*compared, SEARCH, TRIALS, SEARCH_RESULT, BEST)


def reconstructions_of(case: str) -> str:
    """What was rebuilt in one case of an attack."""
    return f"{case}.safetensors"


def run_of_seed(algorithm: str, seed: int) -> str:
    """One run of a comparison."""
    return f"{algorithm}-seed{seed}"


def part_of_story(dataset: str, part: str) -> str:
    """One run of the demonstration."""
    return f"{dataset}-{part}"


def run_of_trial(k: int) -> str:
    """One run of a search."""
    return f"trial{k}"


def result_of(cell: str) -> str:
    """The result of a cell of the paper, or of a place that the paper attacked."""
    return f"{cell}.json"


def figure_of(mode: str, figure: str) -> str:
    """A figure of the paper, made again."""
    return f"{mode}-{figure}.png"
