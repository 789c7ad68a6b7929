"""Graphs read from files, and what is said about files that are wrong."""

from __future__ import annotations

import numpy as np
import pytest

from dpdl.errors import InputError
from dpdl.graph import build, from_file


def pattern(graph):
    return (graph.W > 0).tolist()


@pytest.fixture
def write(tmp_path):
    def write_file(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write_file


PENTAGON = "# a ring\n0 1\n1,2\n2, 3\n\n3\t4  # the last but one\n4 0\n"


def test_an_edge_list_gives_the_pattern(write):
    path = write("ring.edges", PENTAGON)
    assert np.array_equal(build(path).W, build("ring", 5).W)
    assert np.array_equal(
        build(path, 5, "sinkhorn", 3).W, build("ring", 5, "sinkhorn", 3).W
    )
    assert build(path).name == "ring.edges"


@pytest.mark.parametrize("name", ["w.adj", "w.csv", "w.txt", "w.npy", "w.edges"])
@pytest.mark.parametrize("spec", ["torus", "star"])
def test_weights_survive_a_file_bit_by_bit(tmp_path, name, spec):
    graph = build(spec, 12, "sinkhorn", 1)
    path = tmp_path / name
    if name.endswith(".npy"):
        np.save(path, graph.W)
    elif name.endswith(".edges"):
        path.write_text(
            "\n".join(f"{i} {j} {float(graph.W[i, j])!r}" for i, j in graph.edges)
        )
    else:
        np.savetxt(
            path, graph.W, delimiter="," if name == "w.csv" else " ", fmt="%.17g"
        )
    assert np.array_equal(from_file(path, 12, "given").W, graph.W)
    assert np.array_equal(from_file(path).W, build(spec, 12).W)


def test_missing_self_weights_are_what_is_left_of_one(write):
    for path in (
        write("w.edges", "0 1 0.5\n1 2 0.25\n"),
        write("w.adj", "0 .5 0\n.5 0 .25\n0 .25 0\n"),
    ):
        assert from_file(path, weights="given").W.tolist() == [
            [0.5, 0.5, 0],
            [0.5, 0.25, 0.25],
            [0, 0.25, 0.75],
        ]


@pytest.mark.parametrize(
    ("text", "agents"),
    [
        ("0 1\n1 2\n", 3),
        ("0 2\n2 1\n", 3),
        ("0 1\n1 0\n", 2),
        ("0.5 0.5\n0.5 0.5\n", 2),
        ("1 1\n1 1\n", 2),
        ("0 1 1\n1 0 1\n1 1 0\n", 3),
        ("0 1 0.3\n1 2 0.3\n2 3 0.3\n", 4),
        ("0 1 0.3\n1 2 0.3\n", 3),
    ],
)
def test_small_tables_without_a_telling_extension_are_read_by_shape(
    write, text, agents
):
    assert agents == build(write("small.txt", text)).N


def test_the_extension_decides_what_a_small_table_is(write):
    assert build(write("w.edges", "0 1\n1 0\n0 2")).N == 3
    assert pattern(build(write("w.adj", "0 1\n1 2\n"))) == [[True, True], [True, True]]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.edges", "0 1\n1 two\n", "Line 2 holds 'two', which is not a number"),
        ("g.edges", "0 1\n1,,2\n", "Line 2 holds '', which is not a number"),
        ("g.edges", "0 1\n1 2.5\n", "Line 2 names agent 2.5"),
        ("g.edges", "0 1\n1 -2\n", "Line 2 holds -2"),
        ("g.edges", "0 1\n1 1e300\n", "Line 2 names agent 1e+300"),
        (
            "g.edges",
            "0 1\n\n1\n",
            "Line 3 has length 1, but an edge is 'i j' or 'i j w'",
        ),
        ("g.edges", "0 1 nan\n", "Line 1 holds nan"),
        ("g.edges", "0 1 0\n", "Line 1 gives edge 0 1 the weight 0"),
        (
            "g.edges",
            "0 1 .2\n1 0 .3\n",
            "Line 2 gives edge 0 1 the weight 0.3, but line 1 says 0.2",
        ),
        ("g.edges", "1 2\n2 3\n", "agents are numbered from 0, but the lowest is 1"),
        (
            "g.edges",
            "0 1\n2 3\n",
            "not connected: agents 2, 3 cannot be reached from agent 0",
        ),
        ("g.edges", "# nothing\n", "It holds no numbers"),
        (
            "g.adj",
            "0 1 0\n1 0\n0 1 0\n",
            "Line 2 has length 2, but a matrix of 3 lines needs 3",
        ),
        (
            "g.csv",
            "0,1,0,0\n1,0,1,0\n0,1,0,1\n0,0,0,0\n",
            "Line 3 has an edge from agent 2 to agent 3, but line 4",
        ),
        (
            "g.txt",
            "1 0 0 0\n0 1 0 0\n0 0 1 0\n0 0 0 1\n",
            "not connected: agents 1, 2, 3",
        ),
    ],
)
def test_a_wrong_file_is_refused_by_name_and_line(write, name, text, said):
    path = write(name, text)
    with pytest.raises(InputError) as error:
        build(path)
    assert said in str(error.value)
    assert path in str(error.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("g.edges", "0 1\n1 2\n", "because weights are 'given'"),
        ("g.edges", "0 1 0.6\n0 2 0.4\n", "edges of agent 0 already weigh 1"),
        ("g.edges", "0 1 0.5\n0 0 0.4\n", "Row 0 of W sums to 0.9, not 1"),
        ("g.adj", ".5 .5\n.4 .6\n", "w[0,1] = 0.5 but w[1,0] = 0.4"),
    ],
)
def test_wrong_given_weights_are_refused(write, name, text, said):
    with pytest.raises(InputError) as error:
        build(write(name, text), weights="given")
    assert said in str(error.value)


def test_the_number_of_agents_must_agree_with_the_file(write):
    with pytest.raises(InputError, match="It holds 5 agents, but agents = 10"):
        build(write("ring.edges", PENTAGON), 10)


def test_a_missing_file_a_folder_and_binary_rubbish_are_refused(tmp_path):
    with pytest.raises(InputError, match="No such file"):
        build(str(tmp_path / "nothing.edges"))
    with pytest.raises(InputError, match="cannot be read"):
        build(f"{tmp_path}/")
    (tmp_path / "x.adj").write_bytes(b"\xff\xfe\x00\x81")
    with pytest.raises(InputError, match="not a text file"):
        build(str(tmp_path / "x.adj"))


def test_numpy_files_are_never_unpickled(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.array([[{}]], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="one plain array"):
        build(str(path))
    path.write_bytes(b"not numpy")
    with pytest.raises(InputError, match="one plain array"):
        build(str(path))
    np.save(path, np.array([[0.0, 1.0], [0.0, 0.0]]))
    with pytest.raises(
        InputError, match="Row 0 has an edge from agent 0 to agent 1, but row 1"
    ):
        build(str(path))
    np.save(path, np.ones((2, 3)))
    with pytest.raises(InputError, match="square"):
        build(str(path))


def test_unknown_weights_do_not_blame_the_file(write):
    with pytest.raises(InputError, match=r"^Unknown weights"):
        build(write("ring.edges", PENTAGON), weights="metro")
