"""Noise of links is the same at both ends, cancels to the last bit, and stays on the grid."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from scipy import integrate, stats

from dpdl import graph as graphs
from dpdl.errors import InputError, RunFailed
from dpdl.net import Net
from dpdl.privacy.clip import PerSample
from dpdl.privacy.grid import grid, perturb_on_grid
from dpdl.privacy.link_noise import RARE, LinkKeys, add_link_noise, check_link_noise
from dpdl.privacy.noise import Secure
from dpdl.tasks.task import Task
from tests.conftest import small_module
from tests.mechanisms import mechanism, private_gradient

KEY, STD, SIZE = bytes(range(32)), 0.25, 20_000
FACTORS = pytest.mark.parametrize("c", [0.01, 0.3, 1.0, 3.0, 60.0])
BOTH_TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def perturbed(dtype=np.float32, std: float = STD, key: bytes = bytes(32)) -> np.ndarray:
    """A gradient with the noise of its agent."""
    row = (np.random.default_rng(1).normal(size=SIZE) / 9).astype(dtype)
    perturb_on_grid(key, row, std, row)
    return row


def linked(row: np.ndarray, std: float, key: bytes = KEY) -> np.ndarray:
    into = np.empty_like(row)
    add_link_noise(key, row, std, STD, into)
    return into


# ------------------------------------------------------------------ bits
@FACTORS
@BOTH_TYPES
def test_both_ends_have_the_same_noise_and_it_cancels_to_the_last_bit(c, dtype) -> None:
    one, other = perturbed(dtype), perturbed(dtype, key=bytes([1] * 32))
    sums = linked(one, c * STD) + linked(other, -c * STD)
    assert np.array_equal(sums, one + other)


@FACTORS
@BOTH_TYPES
def test_what_leaves_is_on_the_grid_of_the_own_noise(c, dtype) -> None:
    row = perturbed(dtype)
    steps = linked(row, c * STD).astype(np.float64) / grid(STD)
    assert np.array_equal(steps, np.rint(steps))
    # Not on a coarser one, as far as the own noise goes.
    assert (steps % 2 == 1).mean() > 0.4


@FACTORS
def test_it_is_gaussian_with_the_declared_deviation(c) -> None:
    zeros = np.zeros(SIZE, np.float32)
    drawn = linked(zeros, c * STD).astype(np.float64) / (c * STD)
    step = max(grid(STD), grid(c * STD)) / (c * STD)
    # Within a step, which for a small c is wide: a uniform of that width makes it smooth again.
    smooth = drawn + step * (np.random.default_rng(2).random(SIZE) - 0.5)
    width = math.sqrt(1 + step**2 / 12)
    assert stats.kstest(smooth / width, "norm").pvalue > 1e-4


def test_all_cells_of_a_rounded_noise_have_one_width() -> None:
    """Rounding halves to even would make even steps likelier: here by a part in 64."""
    drawn = linked(np.zeros(400_000, np.float32), 0.011 * STD)
    even = (drawn / grid(STD) % 2 == 0).mean()
    assert even == pytest.approx(0.5, abs=0.003)


def test_it_is_a_function_of_the_key() -> None:
    zeros = np.zeros(SIZE, np.float32)
    one, other = linked(zeros, STD), linked(zeros, STD, bytes(32))
    assert np.array_equal(one, linked(zeros, STD))
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.04


def test_a_row_may_be_changed_in_place() -> None:
    row = perturbed()
    apart = linked(row, STD)
    add_link_noise(KEY, row, STD, STD, row)
    assert np.array_equal(row, apart)


# ------------------------------------------------------------------ the attack on the bits
def between_steps(message: np.ndarray) -> np.ndarray:
    """What of a message lies between the steps of the grid, as a part of one."""
    steps = message.astype(np.float64) / grid(STD)
    return steps - np.rint(steps)


def right_decisions(send) -> int:
    """How often digits between the steps tell which of two gradients is underneath, of 40."""
    rng = np.random.default_rng(5)
    right = 0
    for k in range(40):
        candidates = rng.normal(size=(2, 500)).astype(np.float32) / 100
        taken = int(rng.integers(2))
        left = between_steps(send(candidates[taken], bytes([k] * 32)))
        far = [np.abs(between_steps(c) - left).mean() for c in candidates]
        right += int(np.argmin(far)) == taken
    return right


def noise_before_gradient(gradient: np.ndarray, key: bytes) -> np.ndarray:
    """The mutant: noise is drawn on its grid, and the gradient added to it."""
    noise = np.zeros_like(gradient)
    perturb_on_grid(key, noise, STD, noise)
    return gradient + linked(noise, 3 * STD, key[::-1])


def honest(gradient: np.ndarray, key: bytes) -> np.ndarray:
    row = np.empty_like(gradient)
    perturb_on_grid(key, gradient, STD, row)
    return linked(row, 3 * STD, key[::-1])


def test_digits_between_the_steps_decide_nothing() -> None:
    assert right_decisions(noise_before_gradient) == 40
    assert stats.binomtest(right_decisions(honest), 40).pvalue > 1e-3


# ------------------------------------------------------------------ the law of `docs/noise.md`
def law_of_links(c: float, step: float, points: np.ndarray) -> np.ndarray:
    """The density of z_1 + Z, z_2 - Z at some points, with std 1: a sum over the steps of Z."""
    cells = step * np.arange(-round(12 * c / step), round(12 * c / step) + 1)
    edges = stats.norm.cdf(cells + step / 2, scale=c)
    mass = edges - stats.norm.cdf(cells - step / 2, scale=c)
    ends = stats.norm.pdf(points[:, :1] - cells) * stats.norm.pdf(points[:, 1:] + cells)
    return ends @ mass


def law_by_the_lemma(c: float, step: float, points: np.ndarray) -> np.ndarray:
    """The density with Z = N(0, c^2) + U: what an ideal mechanism sends, and a blur of it."""
    noise = np.eye(2) + c**2 * np.array([[1, -1], [-1, 1]])
    ideal = stats.multivariate_normal(cov=noise)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    blurs = [ideal.pdf(points - step / 2 * u * np.array([1, -1])) for u in nodes]
    return np.tensordot(weights / 2, np.array(blurs), 1)


@pytest.mark.parametrize("c", [0.7, 1.0, 3.0])
def test_steps_of_links_are_invisible_beneath_own_noise(c: float) -> None:
    """Steps here are wide, 1/2 of the own deviation and not 1/512: the bound is still far below."""
    points = np.random.default_rng(3).normal(size=(50, 2)) * [2, 2]
    step = 0.5 * max(1, c) / 2
    found = law_of_links(c, step, points) / law_by_the_lemma(c, step, points)
    exponent = 2 * np.pi**2 / (step**2 * (c**-2 + 2))
    assert np.abs(found - 1).max() < 2.1 * math.exp(-exponent) + 1e-9


def test_wide_steps_are_visible() -> None:
    """Where the bound says so: so the test above can fail."""
    points = np.random.default_rng(3).normal(size=(50, 2)) * [2, 2]
    found = law_of_links(3.0, 9.0, points) / law_by_the_lemma(3.0, 9.0, points)
    assert np.abs(found - 1).max() > 0.1


def test_the_roughest_grid_that_is_allowed_is_fine_enough() -> None:
    exponent = 2 * math.pi**2 * 512**2 / 2**15
    assert exponent > 157
    # sum over whole numbers of exp(-a k^2), to the power of the number of links, minus 1
    assert 1e8 * math.log1p(2.01 * math.exp(-exponent)) < 2.0**-180


# ------------------------------------------------------------------ what is refused
def test_a_row_between_the_steps_is_refused() -> None:
    row = perturbed()
    row[7] += grid(STD) / 2
    with pytest.raises(InputError, match="weight_decay must be 0"):
        linked(row, STD)


def test_a_row_so_large_that_sums_would_be_rounded_is_refused() -> None:
    row = np.array([2.0**24 * grid(STD)], np.float32)
    linked(row, STD)
    with pytest.raises(RunFailed, match="use dtype float64"):
        linked(2 * row, STD)
    linked(2 * row.astype(np.float64), STD)


def test_what_is_not_a_number_stays_none() -> None:
    row = perturbed()
    row[3] = math.nan
    assert np.isnan(linked(row, STD)).tolist().count(True) == 1


@pytest.mark.parametrize(
    ("factor", "degree", "fine"),
    [
        (0.0, 2, True),
        (0.001, 2, False),
        (0.006, 2, True),
        (3.0, 999, True),
        (90.0, 2, True),
        (91.0, 2, False),
        (0.5, 20_000, False),
    ],
)
def test_a_correlation_without_a_proof_is_refused(
    factor: float, degree: int, fine: bool
) -> None:
    made = mechanism(PerSample(1.0), 2.0, 50)
    if fine:
        check_link_noise(made, factor, degree, 4)
        return
    with pytest.raises(InputError, match=r"from 0\.0055 to"):
        check_link_noise(made, factor, degree, 4)


def test_of_links_that_differ_the_smallest_factor_and_the_largest_count() -> None:
    made = mechanism(PerSample(1.0), 2.0, 50)
    check_link_noise(made, 8.0, 127, 4, least=1 / 16)
    with pytest.raises(InputError):
        check_link_noise(made, 8.0, 127, 4, least=1 / 32)
    with pytest.raises(InputError):
        check_link_noise(made, 16.0, 127, 4, least=1 / 16)


def test_without_noise_there_is_none_on_links() -> None:
    check_link_noise(mechanism(PerSample(1.0), 0.0, 50), 1e9, 2, 4)


def test_a_batch_too_large_to_be_exact_is_refused_unless_in_float64() -> None:
    made = mechanism(PerSample(1.0), 0.01, 500, 10_000)
    with pytest.raises(InputError, match="use dtype float64"):
        check_link_noise(made, 3.0, 2, 4)
    check_link_noise(made, 3.0, 2, 8)
    check_link_noise(made.with_noise(0.1), 3.0, 2, 4)


def test_the_largest_gradient_that_passes_the_check_passes_the_sum() -> None:
    made = mechanism(PerSample(1.0), 0.055, 500, 10_000)
    check_link_noise(made, 3.0, 2, 4)
    largest = made.largest_batch(RARE)
    row = np.full(4, largest / made.batch_size, np.float32)  # all records pull one way
    perturb_on_grid(KEY, row, made.std, row)
    add_link_noise(KEY, row, 3 * made.std, made.std, row)
    assert np.abs(row / grid(made.std)).max() > 2**23  # not by a wide margin
    with pytest.raises(InputError):
        check_link_noise(made.with_noise(made.noise_multiplier / 2), 3.0, 2, 4)


# ------------------------------------------------------------------ keys of one process
def test_the_second_end_takes_the_key_of_the_first_and_then_it_is_gone() -> None:
    keys, where = LinkKeys(), (1, 0, 4)
    first = keys.key("link", where, subtracts=False)
    assert keys.key("link", where, subtracts=True) == first
    again = keys.key("link", where, subtracts=True)
    assert again != first and len(again) == 32
    assert keys.key("link", where, subtracts=False) == again


def test_links_purposes_and_objects_have_keys_of_their_own() -> None:
    keys = LinkKeys()
    drawn = [
        keys.key("link", (1, 0, 4), False),
        keys.key("link", (1, 0, 3), False),
        keys.key("other", (1, 0, 4), False),
        LinkKeys().key("link", (1, 0, 4), False),
    ]
    assert len(set(drawn)) == 4


@pytest.mark.parametrize(
    ("where", "subtracts"), [((1, 0, 4), False), ((2, 0, 4), True)]
)
def test_an_end_that_was_left_alone_stops_the_run(where, subtracts: bool) -> None:
    keys = LinkKeys()
    keys.key("link", (1, 0, 4), False)
    for _ in range(2):
        with pytest.raises(RunFailed, match=r"one end of link 0-4 .* in round 1"):
            keys.key("link", where, subtracts)


def test_ends_in_many_threads_find_each_other() -> None:
    keys = LinkKeys()

    def drawn(at: int) -> tuple[int, bytes]:
        link, subtracts = divmod(at, 2)
        return link, keys.key("link", (1, link, link + 1), bool(subtracts))

    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(drawn, range(400)))
    assert len(set(found)) == 200 == len({key for _, key in found})


# ------------------------------------------------------------------ all agents of a graph
def _noises(graph: graphs.Graph, c: float, randomness: Secure) -> tuple:
    task = Task(small_module())
    grad = private_gradient(task, PerSample(0.6), 1.5, 6, randomness)
    net = Net(graph)
    own = grad.perturbed(torch.zeros(len(graph), SIZE), net.agents, 3, "noise")
    return own, grad.paired(own, net.visits, c, 3), grad


@pytest.mark.parametrize("graph", [graphs.ring(6), graphs.complete(4), graphs.star(5)])
@pytest.mark.parametrize("c", [0.3, 2.0])
def test_secure_noise_of_links_has_the_laplacian_and_vanishes_from_the_sum(
    graph: graphs.Graph, c: float
) -> None:
    own, sent, grad = _noises(graph, c, Secure())
    assert torch.equal(own.double().sum(0), sent.double().sum(0))
    links = (graph.W > 0) & ~np.eye(len(graph), dtype=bool)
    laplacian = np.diag(links.sum(axis=1)) - links
    rows = (sent - own).double()
    found = (rows @ rows.T / SIZE).numpy() / (c * grad.std) ** 2
    assert np.abs(found - laplacian).max() < 6 * laplacian.max() / math.sqrt(SIZE)


def test_a_round_that_is_played_again_has_other_noise_on_its_links() -> None:
    randomness = Secure()
    rows = [
        sent - own
        for own, sent, _ in (_noises(graphs.ring(4), 2.0, randomness) for _ in "ab")
    ]
    cosine = torch.cosine_similarity(rows[0], rows[1], dim=1)
    assert float(cosine.abs().max()) < 0.04


def test_gaussian_integrals_agree_with_the_sum_over_steps() -> None:
    """One link and one end: the sum over steps is the integral of the lemma."""
    c, step, at = 1.5, 0.75, 0.4
    cells = step * np.arange(-40, 41)
    mass = stats.norm.cdf(cells + step / 2, scale=c) - stats.norm.cdf(
        cells - step / 2, scale=c
    )
    total = float(stats.norm.pdf(at - cells) @ mass)
    width = math.sqrt(1 + c**2)
    blurred, _ = integrate.quad(
        lambda u: stats.norm.pdf(at - u, scale=width) / step, -step / 2, step / 2
    )
    assert total == pytest.approx(blurred, rel=1e-6)
