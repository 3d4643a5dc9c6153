"""tf.train.list_variables: the names and shapes of the variables in a checkpoint.

Folders stay in the run's temporary folder, because repeated calls for the steady time read the files again.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import beside, building

v1 = tf.compat.v1

_GRAPH = ("_CHECKPOINTABLE_OBJECT_GRAPH", [])
"""The entry in which a checkpoint of objects keeps their graph: a single string."""


def new_folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="saved-"))


def objects(trial: Trial, dtype: str, shape: Sequence[int]) -> None:
    """A checkpoint of objects lists each variable's path and shape, sorted by path, and the object graph."""
    host = trial.random(*shape, dtype=dtype, seed=1)
    weights = tf.Variable(trial.tensor(host, dtype))
    flat = tf.Variable(trial.tensor(host.reshape(-1), dtype))
    checkpoint = tf.train.Checkpoint(weights=weights, bias=flat)
    found = trial.call(checkpoint.write(str(new_folder() / "kept")))
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    trial.equal(found, [_GRAPH, ("bias" + end, [host.size]), ("weights" + end, list(shape))])


def nested_objects(trial: Trial) -> None:
    """Variables in lists, dictionaries, modules and optimizer slots are listed by their paths."""
    kernel, bias = (tf.Variable(trial.tensor(trial.random(*shape, seed=1))) for shape in ((3, 5), (5,)))
    module = tf.Module()
    module.layers = [kernel, {"bias": bias}]
    checkpoint = tf.train.Checkpoint(model=module, step=tf.Variable(trial.tensor(np.int64(3))))
    found = trial.call(checkpoint.save(str(new_folder() / "kept")))
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    names = ["model/layers/0", "model/layers/1/bias", "save_counter", "step"]
    trial.equal(found, [_GRAPH, *((name + end, shape) for name, shape in zip(names, ([3, 5], [5], [], [])))])


def slots(trial: Trial, dtype: str) -> None:
    """The slots that an optimizer keeps for a variable are listed after the variable, with its shape, in a checkpoint
    of objects and in one of a graph."""
    hosts = [trial.random(*shape, dtype=dtype, seed=1) for shape in ((3, 5), (2,))]
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    variables = [tf.Variable(trial.tensor(host), name=name) for host, name in zip(hosts, "ab")]
    optimizer = v1.train.MomentumOptimizer(0.5, 0.5)
    optimizer.apply_gradients([(trial.tensor(host), variable) for host, variable in zip(hosts, variables)])
    checkpoint = tf.train.Checkpoint(a=variables[0], b=variables[1], optimizer=optimizer)
    names = [name + middle + end for name in "ab" for middle in ("", "/.OPTIMIZER_SLOT/optimizer/momentum")]
    found = trial.call(checkpoint.write(str(new_folder() / "kept")))
    shapes = dict(zip(names, ([3, 5], [3, 5], [2], [2])))
    trial.equal(found, [_GRAPH, *((name, shapes[name]) for name in sorted(names))])
    with building(trial) as graph:
        given = [v1.Variable(host, name=name, use_resource=True) for host, name in zip(hosts, ("part/a", "b"))]
        v1.train.MomentumOptimizer(0.5, 0.5).minimize(tf.add_n([tf.reduce_sum(each) for each in given]))
    with beside(graph), v1.Session() as session:
        session.run(v1.global_variables_initializer())
        path = v1.train.Saver().save(session, str(new_folder() / "kept"))
    shapes = {"b": [2], "b/Momentum": [2], "part/a": [3, 5], "part/a/Momentum": [3, 5]}
    trial.equal(trial.call(path), list(shapes.items()))


def names_in_graph(trial: Trial, dtype: str) -> None:
    """A saver's checkpoint lists the saved variables by their names in the graph with scopes, sorted."""
    shapes = {"z": [2, 3], "outer/b": [], "outer/inner/a": [0, 4]}
    with building(trial) as graph:
        variables = [
            v1.Variable(trial.random(*shape, dtype=dtype, seed=1), name=name, use_resource=True)
            for name, shape in shapes.items()
        ]
        v1.Variable(1.0, name="left_out", use_resource=True)
        start = v1.global_variables_initializer()
    path = new_folder() / "model.ckpt"
    with beside(graph), v1.Session() as session:
        saver = v1.train.Saver(variables)
        session.run(start)
        path = saver.save(session, str(path), global_step=7)
    trial.equal(path.endswith("model.ckpt-7"), True)
    trial.equal(trial.call(path), sorted((name, shape) for name, shape in shapes.items()))


def latest_in_folder(trial: Trial) -> None:
    """For a folder it lists the latest checkpoint; an older one is listed by its own path, also after it was written
    again."""
    folder = new_folder()
    path = {}
    for size in (2, 5, 3):
        checkpoint = tf.train.Checkpoint(v=tf.Variable(trial.tensor(np.arange(size, dtype="float32"))))
        manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=None)
        path[size] = manager.save(checkpoint_number=size)
    key = "v/.ATTRIBUTES/VARIABLE_VALUE"
    counter = ("save_counter/.ATTRIBUTES/VARIABLE_VALUE", [])
    trial.equal(trial.call(str(folder)), [_GRAPH, counter, (key, [3])])
    trial.equal(trial.call(path[5]), [_GRAPH, counter, (key, [5])])
    tf.train.Checkpoint(v=tf.Variable(trial.tensor(np.zeros((1, 4), "float32")))).write(path[5])
    trial.equal(trial.call(path[5]), [_GRAPH, (key, [1, 4])])
    # The folder's state says which checkpoint is the latest, not the time of the files.
    v1.train.update_checkpoint_state(str(folder), path[2])
    trial.equal(trial.call(ckpt_dir_or_file=str(folder)), [_GRAPH, counter, (key, [2])])


def partitioned(trial: Trial, parts: int) -> None:
    """A variable saved in slices is listed once, with its whole shape."""
    with building(trial) as graph:
        partitioner = v1.fixed_size_partitioner(parts, axis=0)
        whole = v1.get_variable("table", [12, 3], partitioner=partitioner, use_resource=True)
        slices = list(whole)
        start = v1.global_variables_initializer()
    trial.equal(len(slices), parts)
    with beside(graph), v1.Session() as session:
        saver = v1.train.Saver()
        session.run(start)
        path = saver.save(session, str(new_folder() / "model.ckpt"))
    trial.equal(trial.call(path), [("table", [12, 3])])


def many_variables(trial: Trial, count: int) -> None:
    """Hundreds of variables are listed in the order of their names, each with its own shape."""
    variables = {
        f"v{number}": tf.Variable(trial.tensor(np.zeros((number % 7, 2), "float32"))) for number in range(count)
    }
    path = tf.train.Checkpoint(**variables).write(str(new_folder() / "kept"))
    wanted = sorted((f"v{number}/.ATTRIBUTES/VARIABLE_VALUE", [number % 7, 2]) for number in range(count))
    trial.equal(trial.call(path), [_GRAPH, *wanted])


def sharded(trial: Trial) -> None:
    """A checkpoint in several files, of variables of several dtypes and names that differ in one letter, is listed as
    one."""
    shapes = {
        "a": ([2], "float32"),
        "B": ([], "int64"),
        "a/b": ([3, 1], "float64"),
        "a_1": ([0], "bool"),
        "é": ([1], "int8"),
    }
    with building(trial) as graph:
        variables = {
            name: v1.Variable(trial.random(*shape, dtype=dtype, seed=2), name=f"v{number}", use_resource=True)
            for number, (name, (shape, dtype)) in enumerate(shapes.items())
        }
        start = v1.global_variables_initializer()
    with beside(graph), v1.Session() as session:
        saver = v1.train.Saver(variables, sharded=True)
        session.run(start)
        path = saver.save(session, str(new_folder() / "model.ckpt"))
    wanted = sorted((name.encode(), shape) for name, (shape, _) in shapes.items())
    trial.equal(trial.call(path), [(name.decode(), shape) for name, shape in wanted])


def replaced(trial: Trial) -> None:
    """Checkpoints are listed in turn, each with its own variables. One that is written over is listed as it is now; one
    that is deleted is an error."""
    folder = new_folder()
    end = "/.ATTRIBUTES/VARIABLE_VALUE"

    def write(name: str, **shapes: Sequence[int]) -> str:
        variables = {key: tf.Variable(trial.tensor(np.zeros(shape, "float32"))) for key, shape in shapes.items()}
        return str(tf.train.Checkpoint(**variables).write(str(folder / name)))

    trial.repeatable = False
    one, two = write("one", a=[2, 3]), write("two", a=[4], b=[])
    for path, expected in ((one, {"a": [2, 3]}), (two, {"a": [4], "b": []}), (one, {"a": [2, 3]})):
        trial.equal(trial.call(path), [_GRAPH, *((key + end, shape) for key, shape in expected.items())])
    write("one", c=[5, 1])
    trial.equal(trial.call(one), [_GRAPH, ("c" + end, [5, 1])])
    for file in folder.glob("one*"):
        file.unlink()
    trial.raises(["NotFoundError", "OpError", "ValueError"], "one", one)


def refuses(trial: Trial, what: str) -> None:
    """A checkpoint whose index is cut or is something else, and a folder that names a missing one, are errors."""
    folder = new_folder()
    path = tf.train.Checkpoint(a=tf.Variable([1.0, 2.0])).save(str(folder / "kept"))
    index = folder / (Path(path).name + ".index")
    if what == "cut":
        index.write_bytes(index.read_bytes()[:-9])
    elif what == "other":
        index.write_text("no index" * 20, "utf-8")
    else:
        index.unlink()
    given = str(folder) if what == "missing" else path
    trial.raises(["OpError", "ValueError"], "find" if what == "missing" else "sstable", given)


def leaves_files(trial: Trial) -> None:
    """Listing reads the files and changes none of them. A folder and a prefix can be text or paths, also relative ones;
    each call gives a list of its own, which can be changed."""
    folder = new_folder()
    variable = tf.Variable(trial.tensor(trial.random(2, 3, seed=1)))
    prefix = tf.train.Checkpoint(kept=variable).save(str(folder / "kept"))

    def state() -> dict[str, tuple[int, int, bytes]]:
        paths = sorted(folder.iterdir())
        return {path.name: (path.stat().st_mtime_ns, path.stat().st_size, path.read_bytes()) for path in paths}

    before = state()
    names = [_GRAPH[0], "kept/.ATTRIBUTES/VARIABLE_VALUE", "save_counter/.ATTRIBUTES/VARIABLE_VALUE"]
    expected = list(zip(names, ([], [2, 3], [])))
    for given in (
        prefix,
        Path(prefix),
        str(folder),
        folder,
        f"{folder}/",
        os.path.relpath(prefix),
        os.path.relpath(folder),
    ):
        found = trial.call(given)
        trial.equal(found, expected)
        trial.equal([type(each) for each in (found, *found)], [list, tuple, tuple, tuple])
        trial.equal([(type(name), type(shape)) for name, shape in found], [(str, list)] * 3)
        found[1][1].append(7)
        found.clear()
    trial.check(state() == before, "the files of the checkpoint have changed")
