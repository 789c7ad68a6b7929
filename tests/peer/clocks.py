"""Processes whose clock is wrong: the time of the day, not the one that waits are measured by."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.peer.group import Group

HOME = Path(__file__).parents[2]
SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static int true_time(clockid_t which, struct timespec *found) {
    static int (*known)(clockid_t, struct timespec *);
    if (!known) known = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    return known(which, found);
}
int clock_gettime(clockid_t which, struct timespec *found) {
    int failed = true_time(which, found);
    if (!failed && which == CLOCK_REALTIME) found->tv_sec += atol(getenv("CLOCK_WRONG_BY"));
    return failed;
}
time_t time(time_t *found) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (found) *found = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *found, void *zone) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    found->tv_sec = now.tv_sec;
    found->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""
PROGRAM = (
    "import sys; from pathlib import Path; from tests.peer.group import Group, run_site; "
    "run_site(Group(Path(sys.argv[1])), int(sys.argv[2]), None)"
)


def wrong_clock(folder: Path) -> Path:
    """A library that a process is started with; skips where there is no compiler."""
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("a wrong clock needs Linux and a C compiler")
    source, made = folder / "clock.c", folder / "clock.so"
    source.write_text(SOURCE)
    words = [compiler, "-shared", "-fPIC", "-o", made, source, "-ldl"]
    subprocess.run(words, check=True)
    return made


def site_with_clock(
    group: Group, number: int, library: Path, seconds: int
) -> subprocess.Popen[bytes]:
    """A site whose clock is so many seconds ahead."""
    more = {"LD_PRELOAD": str(library), "CLOCK_WRONG_BY": str(seconds)}
    words = [sys.executable, "-c", PROGRAM, str(group.path), str(number)]
    return subprocess.Popen(words, cwd=HOME, env={**os.environ, **more})
