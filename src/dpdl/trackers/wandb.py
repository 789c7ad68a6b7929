"""Weights & Biases: `wandb/offline-run-.../` in the run folder, for `wandb sync` or nobody.

`WANDB_MODE=online` sends instead; `WANDB_PROJECT`, `WANDB_ENTITY`, `WANDB_DIR` and the like hold as
everywhere. Neither an API key nor a login makes us send: people have them for other work.

Offline, its server keeps small runs in memory until they are closed. So a round counts as kept only
then; when a killed run goes on, its rounds are told again, in a second folder of the same id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

from dpdl.trackers.base import (
    PROJECT,
    About,
    Destination,
    Entries,
    Environment,
    Outcome,
    TrackerFailed,
    unless_said,
)

MODE = "WANDB_MODE"
OFFLINE = ("offline", "dryrun", "disabled")
EXIT = {Outcome.FINISHED: 0, Outcome.INTERRUPTED: 130, Outcome.FAILED: 1}


@final
class Wandb:
    """Opens runs of Weights & Biases."""

    def libraries(self, environment: Environment) -> Sequence[str]:
        """One, with a server that it starts."""
        return ("wandb",)

    def destination(self, environment: Environment) -> Destination:
        """Its server in any mode that is not offline; otherwise a folder."""
        if _mode(environment) in OFFLINE:
            return Destination(environment.get("WANDB_DIR") or Destination().where)
        server = environment.get("WANDB_BASE_URL") or "wandb.ai"
        return Destination(server, sends=True)

    def open(self, about: About, environment: Environment) -> WandbSession:
        """Begin, or go on under the id that the run has."""
        unless_said(WANDB_ERROR_REPORTING="false")  # it reports over the network
        import wandb

        sends = self.destination(environment).sends
        if sends and not wandb.login(prompt=False):
            raise TrackerFailed("nobody is logged in; say: wandb login")
        run = wandb.init(
            project=environment.get("WANDB_PROJECT") or PROJECT,
            name=about.name,
            id=about.id,
            resume="allow" if sends and about.id else None,  # offline it means nothing
            dir=environment.get("WANDB_DIR") or str(about.home.parent),
            mode=_mode(environment),
            config=dict(about.options),
            allow_val_change=True,  # a run may be given more rounds
            reinit="create_new",
            settings=_settings(wandb),
        )
        return WandbSession(wandb, run, about.kept)


def _mode(environment: Environment) -> str:
    return environment.get(MODE) or OFFLINE[0]


def _settings(library: Any) -> Any:
    """Silent, and about the run alone: neither the terminal's text nor code nor the machine."""
    return library.Settings(
        silent=True,
        console="off",
        host="",
        disable_code=True,
        disable_git=True,
        x_disable_meta=True,
        x_disable_stats=True,
        x_disable_machine_info=True,
        x_save_requirements=False,
    )


@final
class WandbSession:
    """One open run; `run` is what `library.init` gave."""

    def __init__(self, library: Any, run: Any, kept: int) -> None:
        self._library = library
        self._run = run
        self._kept = kept
        self._last = kept

    @property
    def id(self) -> str:
        """Also the end of the folder's name."""
        return str(self._run.id)

    @property
    def kept(self) -> int:
        """What was kept before, until the run is closed."""
        return self._kept

    def log(self, t: int, values: Mapping[str, float]) -> None:
        """One row of the history."""
        self._run.log(dict(values), step=t, commit=True)
        self._last = t

    def close(self, outcome: Outcome, summary: Entries) -> None:
        """An interrupted run has the exit code of Ctrl-C."""
        self._run.summary.update(dict(summary))
        self._run.finish(exit_code=EXIT[outcome])
        # The file is written after that, and surely when the server has ended. Somebody else in
        # this process may need the server; then nothing is sure, and told again one day.
        if self._library.setup().most_recent_active_run is None:
            self._library.teardown()
            self._kept = self._last
