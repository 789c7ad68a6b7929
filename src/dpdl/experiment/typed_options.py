"""The options of an experiment, for type checkers and editors: their types, names and meaning.

Made by `python tools/typed_options.py` from the options that are declared; do not edit it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, TypedDict

from dpdl.options import Value

if TYPE_CHECKING:
    from dpdl.algorithms import Algorithm

DatasetName = Literal[
    "cifar10",
    "digits",
    "fashion-mnist",
    "mnist",
]
LossName = Literal[
    "binary-cross-entropy",
    "cross-entropy",
    "squared-error",
]
ScoreName = Literal[
    "accuracy",
    "label-accuracy",
    "squared-error",
]
ModelName = Literal[
    "cnn",
    "deep-patch-linear",
    "lenet",
    "mlp",
    "patch-linear",
    "scatter-cnn",
    "scatter-linear",
]
CentreName = Literal["private",]
GraphName = Literal[
    "bipartite",
    "bipartite-hub",
    "complete",
    "erdos-renyi",
    "exponential",
    "hypercube",
    "path",
    "ring",
    "star",
    "torus",
]
WeightsName = Literal[
    "given",
    "metropolis",
    "sinkhorn",
    "uniform",
]
PartitionName = Literal[
    "dirichlet-agent",
    "dirichlet-class",
    "iid",
    "quantity",
    "shards",
]
AlgorithmName = Literal[
    "async-dpsgd",
    "cga",
    "concord",
    "corn-dsgd",
    "d-psgd",
    "decor",
    "dfedsam",
    "dmsgd",
    "dp-admm",
    "dp-cga",
    "dp-dmsgd",
    "dp-dpsgd",
    "dp-netfleet",
    "dpdl",
    "dpdl-sound",
    "epidemic",
    "exact-diffusion",
    "gradient-tracking",
    "gut",
    "momentum-tracking",
    "muffliato",
    "net-fleet",
    "ngm",
    "pdsl",
    "porter",
    "qg-momentum",
]
SamplingName = Literal[
    "fixed",
    "poisson",
]
CompressName = Literal[
    "none",
    "sign",
]
ClipUnitName = Literal[
    "batch",
    "chunks",
    "none",
    "sample",
]
NoiseName = Literal[
    "accountant",
    "none",
    "public-code",
    "theorem1",
]
ThreatName = Literal[
    "eavesdropper",
    "final-model",
]
RelationName = Literal[
    "add-remove",
    "replace-one",
]
RandomnessName = Literal[
    "reproducible",
    "secure",
]
DtypeName = Literal[
    "float32",
    "float64",
]
CosineName = Literal[
    "tensor",
    "vector",
]
LrScheduleName = Literal[
    "constant",
    "cosine",
    "linear",
    "steps",
]
NoiseSplitName = Literal[
    "calibrated",
    "equal",
]
QpName = Literal[
    "tensor",
    "vector",
]


class ExperimentOptions(TypedDict, total=False):
    """What `Experiment(...)` takes: the shared options, then those of algorithms."""

    dataset: DatasetName | str
    """data set (PATH.npz, PATH.csv or module:function) [default 'mnist']"""

    sites: Sequence[str] | None
    """the records of every agent in a place of its own, PATH.npz, PATH.csv or
    module:function, in the order of the agents, instead of one data set that is divided
    [default None]"""

    shape: str | None
    """shape of a record at sites, such as 30 or 1,28,28; without it, records look like
    those of the data set [default None]"""

    scaling: str | None
    """how pixels at sites become numbers: 'pixels' for x/255, or MEAN/STD for (x/255 -
    MEAN)/STD, with commas for one of each channel; without it, records of a given shape
    are floating numbers and stay as they are [default None]"""

    test: str | None
    """public test records for all sites, PATH.npz with x and y; without it, every site
    tests on records of its own [default None]"""

    predict: str | None
    """what is predicted of your own records: classes, labels or numbers, or how many of
    them, such as '3 classes'; without it, classes [default None]"""

    loss: LossName | str | None
    """loss (or module:function) [default by predict]"""

    score: ScoreName | str | None
    """what models are tested by (or module:function) [default by predict]"""

    model: ModelName | str | None
    """model; scatter models are small ones on fixed wavelet features, patch models on
    answers to fixed patches; a class of your own is called without arguments (or
    module:Class) [default by data set]"""

    centre: CentreName | None
    """'private': features are taken from their mean, which is released once, with
    noise, before the first round; for models that are linear in fixed features [default
    None]"""

    centre_noise: float | None
    """noise multiplier of that release, as the accountant counts it; an agent adds as
    much as that takes [default by centre]"""

    graph: GraphName | str
    """graph (or a file with edges or an adjacency matrix) [default 'ring']"""

    agents: int
    """number of agents N [default 10]"""

    weights: WeightsName
    """rule for the mixing weights W; 'given' takes those of a file [default
    'metropolis']"""

    partition: PartitionName
    """how the records are given to agents [default 'dirichlet-class']"""

    alpha_d: float
    """concentration of the Dirichlet partitions; a smaller one makes agents less alike
    [default 0.25]"""

    records: str | None
    """number of records that agents declare, one for all or one for each, with commas,
    or 'exact'; rate, noise and epsilon depend on it alone; without it, the true numbers
    cut to two digits [default None]"""

    classes_per_agent: int
    """classes per agent for the partition 'shards' [default 2]"""

    algorithm: AlgorithmName | str | Algorithm
    """algorithm (or module:Class) [default 'dpdl']"""

    rounds: int
    """rounds T [default 200]"""

    batch: int | None
    """expected batch size B of every agent, who gets at least so many records [default
    by data set]"""

    rate: float | None
    """share of the declared records of every agent that is expected in a batch, instead
    of one size for all; B is then so much of the mean of the declared numbers [default
    None]"""

    sampling: SamplingName
    """how batches are drawn; 'poisson': every record takes part with probability B /
    D_i, with D_i as declared; 'fixed': exactly B records [default 'poisson']"""

    compress: CompressName
    """compression of cross-gradients; 'sign': they travel as signs, with error feedback
    [default 'none']"""

    clip: float | None
    """clipping norm C [default by data set]"""

    clip_unit: ClipUnitName
    """what is clipped to C: every sample, the mean of a batch, of chunks of it, or none
    [default 'sample']"""

    chunks: int
    """number of chunks for the clip unit 'chunks' [default 4]"""

    noise: NoiseName
    """rule that sets the noise multiplier sigma; 'accountant' takes the least that
    proves epsilon against the threat; 'theorem1' and 'public-code' are the paper's and
    its code's, which prove less than they say [default 'accountant']"""

    sigma: float | None
    """fixed noise multiplier, instead of a rule [default None]"""

    epsilon: float | None
    """privacy budget epsilon that the rule aims at [default by noise rule]"""

    delta: float
    """delta; keep it well below 1 / (records of an agent) [default 1e-05]"""

    threat: ThreatName | str
    """who listens; noise and budget are made for it (where K is a number of neighbours)
    [default 'eavesdropper']"""

    relation: RelationName
    """what one record more or less means; sampling 'fixed' needs 'replace-one' under
    the accountant [default 'add-remove']"""

    budget: str | None
    """epsilon that no agent may exceed, or one for each agent, with commas, each as E
    or E:D with a delta D of its own; the run stops before it would [default None]"""

    c2: float
    """constant c_2 of Theorem 1, which the paper does not give [default 1.0]"""

    h: float
    """constant h of Theorem 1; 1 is its smallest possible value, so the least noise
    [default 1.0]"""

    randomness: RandomnessName
    """where batches and noise are from: the seed, or 'secure': the operating system
    [default 'reproducible']"""

    dtype: DtypeName
    """number type of models [default 'float32']"""

    seed: int
    """seed of everything that is reproducible [default 0]"""

    average: float
    """share of the rounds, the last ones, whose models are averaged: the mean is what
    is tested and given back [default 0.0]"""

    eval_every: int
    """rounds between two evaluations; the first and the last round are always evaluated
    [default 20]"""

    checkpoint_every: int
    """rounds between two checkpoints [default 20]"""

    stop_after_stalled: int | None
    """end the run when the mean training loss, which is not private, has not fallen in
    so many evaluations [default None]"""

    alpha: float
    """dpdl, dpdl-sound: weight of the calibration [default by graph]"""

    consensus: float
    """porter: consensus step gamma: share of the way to the neighbours' mean [default
    0.5]"""

    consensus_steps: int
    """concord: most exchanges of a round; refused where the exact mean takes more
    [default 64]"""

    correlation: float | None
    """concord: noise c that cancels between two agents with a secret, over the agent's
    own [default by graph of secrets]. decor: noise c that cancels on a link, over the
    agent's own [default 3.0]"""

    cosine: CosineName
    """dpdl, dpdl-sound: one cosine for the whole vector, or one per parameter tensor
    [default 'vector']"""

    data_share: float
    """ngm: share a of the gradients on the neighbours' data [default 0.5]"""

    fanout: int
    """epidemic: neighbours s that every agent draws in a round [default 2]"""

    gossip_steps: int | None
    """muffliato: gossip steps K of a round [default by spectral gap]"""

    horizon: int
    """corn-dsgd: rounds K of mixing after which the least noise shall be left [default
    1]"""

    lazy: bool
    """exact-diffusion: whether to mix with (I + W) / 2 (exact diffusion) or with W
    (D^2) [default True]"""

    local_steps: int
    """dfedsam, dp-netfleet, net-fleet: rounds tau from one exchange to the next
    [default 1]"""

    lr: float
    """all: step size eta [default by data set]"""

    lr_decay: float
    """all: factor on the step size [default 1.0]"""

    lr_decay_every: int
    """all: rounds between two such factors [default 30]"""

    lr_schedule: LrScheduleName
    """all: how the step size goes down; 'linear' and 'cosine': to 0 over all rounds;
    'steps': by lr_decay [default 'steps']"""

    margin: float
    """cga, dp-cga: least multiplier of a neighbour's gradient [default 0.5]"""

    momentum: float
    """cga, dfedsam, dmsgd, dp-cga, dp-dmsgd, dpdl, dpdl-sound, momentum-tracking, ngm,
    pdsl: momentum beta [default 0.7]. concord, qg-momentum: momentum beta [default
    0.9]. corn-dsgd, d-psgd, decor, dp-dpsgd: momentum beta [default 0.0]"""

    noise_split: NoiseSplitName
    """dpdl-sound: 'calibrated' gives less noise to the answers that the update weighs
    more, at the same epsilon [default 'equal']"""

    penalty: float
    """dp-admm: penalty kappa of the disagreement, times the step size [default 0.5]"""

    permutations: int
    """pdsl: orders of the neighbours that are tried [default 8]"""

    qp: QpName
    """cga, dp-cga: one problem for the whole vector, or one per parameter tensor
    [default 'vector']"""

    sam_radius: float
    """dfedsam: length rho of the ascent step [default 0.01]"""

    secrets: str | None
    """concord: pairs that have a secret: complete, links or regular:K [default by
    number of agents]"""

    signs: bool
    """porter: whether differences leave as signs and sizes, or as they are [default
    True]"""

    tracking: float
    """gut: share mu of the last correction that is added to a step [default 0.1].
    qg-momentum: share mu of the running mean that is kept [default 0.9]"""

    validation: int
    """pdsl: public records that are held out of the training data; it needs some
    [default 0]"""

    weight_decay: float
    """all: weight decay, added to the gradient of the step [default 0.0]"""

    options: Mapping[str, Value]
    """options of the algorithm, together"""
