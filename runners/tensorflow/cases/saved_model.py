"""tf.compat.v1.saved_model.simple_save: what a loaded model computes and describes."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder
from runners.tensorflow.graph_mode import beside, building

v1 = tf.compat.v1


class _Model(NamedTuple):
    """A graph that computes x w + 1, and a session with values of w."""

    graph: tf.Graph
    session: Any
    x: Any
    weights: Any
    y: Any


@contextlib.contextmanager
def _model(trial: Trial, host: Any) -> Iterator[_Model]:
    with building(trial) as graph:
        x = v1.placeholder(host.dtype, [None, host.shape[0]], "x")
        weights = v1.Variable(np.zeros_like(host), name="weights", use_resource=True)
        y = tf.identity(tf.matmul(x, weights) + 1, "y")
        # Not the initial value: the session's value must be saved.
        change = weights.assign(tf.constant(host))
    with beside(graph), v1.Session() as session:
        session.run(change)
        yield _Model(graph, session, x, weights, y)


def _save(trial: Trial, model: _Model, inputs: Any = None, outputs: Any = None, **options: Any) -> str:
    folder = str(new_folder() / "model")
    # The folder must not exist, and each call adds to the graph.
    trial.repeatable = False
    returned = trial.call(model.session, folder, inputs or {"x": model.x}, outputs or {"y": model.y}, **options)
    trial.check(returned is None, f"saving returned {returned!r}")
    return folder


def _product(given: Any, host: Any) -> Any:
    wide = "complex128" if host.dtype.kind == "c" else "float64"
    return given.astype(wide) @ host.astype(wide) + 1


def served_in_session(trial: Trial, dtype: str) -> None:
    """Loaded into another session with the tag "serve", the graph computes with the saved session's values."""
    host, given = trial.random(3, 2, dtype=dtype, seed=3), trial.random(5, 3, dtype=dtype, seed=4)
    with _model(trial, host) as model:
        folder = _save(trial, model)
        model.session.run(model.weights.assign(np.ones_like(host)))
    with beside(tf.Graph()) as graph, v1.Session() as session:
        meta = v1.saved_model.load(session, ["serve"], folder)
        signature = meta.signature_def["serving_default"]
        x, y = (
            graph.get_tensor_by_name(part["x" if part is signature.inputs else "y"].name)
            for part in (signature.inputs, signature.outputs)
        )
        for rows in (5, 0):
            found = session.run(y, feed_dict={x: given[:rows]})
            check_dtype(found.dtype.name, dtype)
            trial.close(found, _product(given[:rows], host), rtol=1e-5, atol=1e-5)


def served_eagerly(trial: Trial, dtype: str) -> None:
    """Loaded as an object, its signature takes tensors with any number of rows and returns a dictionary of tensors."""
    host, given = trial.random(4, 3, dtype=dtype, seed=5), trial.random(6, 4, dtype=dtype, seed=6)
    with _model(trial, host) as model:
        folder = _save(trial, model)
    # A loaded model is placed as a whole, also its text, where TensorFlow can place it.
    with tf.device(None):
        loaded = tf.saved_model.load(folder)
        serve = loaded.signatures["serving_default"]
        for rows in (6, 1):
            output = serve(x=tf.constant(given[:rows]))
            trial.equal(sorted(output), ["y"])
            allowed = {"rtol": 1e-5, "atol": 1e-5} if dtype == "float32" else {}
            trial.close(output["y"], _product(given[:rows], host), dtype=dtype, **allowed)
        (variable,) = loaded.variables
        trial.exact(variable, host, dtype)


def signature(trial: Trial) -> None:
    """The file has one graph, tagged "serve", with the given inputs and outputs and the method "predict"."""
    host = trial.random(3, 2, seed=7)
    with _model(trial, host) as model:
        with tf.device(trial.device):
            scale = v1.placeholder(tf.int64, [2], "scale")
            named = {"doubled": model.y * 2.0, "counts": scale + 1}
        folder = _save(trial, model, {"rows": model.x, "scale": scale}, named)
    (meta,) = _meta_graphs(folder)
    trial.equal(list(meta.meta_info_def.tags), ["serve"])
    trial.equal(list(meta.signature_def), ["serving_default"])
    found = meta.signature_def["serving_default"]
    trial.equal(found.method_name, "tensorflow/serving/predict")
    trial.equal(_described(found.inputs), {"rows": ("float32", [-1, 3]), "scale": ("int64", [2])})
    trial.equal(_described(found.outputs), {"doubled": ("float32", [-1, 2]), "counts": ("int64", [2])})
    trial.equal((found.inputs["rows"].name, found.inputs["scale"].name), ("x:0", "scale:0"))


def _meta_graphs(folder: str) -> Any:
    saved = saved_model_pb2.SavedModel.FromString((Path(folder) / "saved_model.pb").read_bytes())
    return saved.meta_graphs


def _described(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: (tf.as_dtype(part.dtype).name, [dimension.size for dimension in part.tensor_shape.dim])
        for name, part in parts.items()
    }


def movable(trial: Trial) -> None:
    """The file has no devices, so that any device can serve the model; the graph in memory keeps its own."""
    with _model(trial, trial.random(2, 2, seed=8)) as model:
        folder = _save(trial, model)
        trial.check(model.y.device != "", "the graph in memory lost its devices")
    (meta,) = _meta_graphs(folder)
    nodes = {node.name: node.device for node in meta.graph_def.node}
    trial.check({"x", "weights", "y"} <= set(nodes), f"the graph holds {sorted(nodes)}")
    trial.equal({device for device in nodes.values() if device}, set())


def start_operation(trial: Trial) -> None:
    """The given operation runs when the model is loaded: it sets what is not saved."""
    host = trial.random(2, 3, seed=9)
    with _model(trial, host) as model:
        with tf.device(trial.device):
            local = v1.Variable(0.5, name="local", collections=[v1.GraphKeys.LOCAL_VARIABLES], use_resource=True)
            start = local.assign(41.0)
            total = tf.identity(model.y + local, "total")
        folder = _save(trial, model, outputs={"total": total}, legacy_init_op=tf.group(start))
    with beside(tf.Graph()), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], folder)
        given = trial.random(4, 2, seed=10)
        found = session.run("total:0", feed_dict={"x:0": given})
    trial.close(found, _product(given, host) + 41, rtol=1e-5, atol=1e-5)
    trial.equal([name for name, _ in tf.train.list_variables(folder + "/variables/variables")], ["weights"])


def assets(trial: Trial) -> None:
    """A file that the graph needs is copied into the model, which names the copy and its tensor."""
    words = new_folder() / "words.txt"
    words.write_text("kernel\nbias\n")
    with _model(trial, trial.random(2, 2, seed=11)) as model:
        name = tf.constant(str(words), name="file_name")
        model.graph.add_to_collection(v1.GraphKeys.ASSET_FILEPATHS, name)
        folder = _save(trial, model)
    trial.equal((Path(folder) / "assets" / "words.txt").read_text(), "kernel\nbias\n")
    (meta,) = _meta_graphs(folder)
    (packed,) = meta.collection_def["saved_model_assets"].any_list.value
    asset = meta_graph_pb2.AssetFileDef.FromString(packed.value)
    trial.equal((asset.filename, asset.tensor_info.name), ("words.txt", "file_name:0"))


def whole(trial: Trial, size: int) -> None:
    """A large variable is restored bit by bit."""
    host = trial.random(size, 100, seed=12)
    with _model(trial, host) as model:
        folder = _save(trial, model)
    found = tf.train.load_variable(folder + "/variables/variables", "weights")
    check_dtype(found.dtype.name, "float32")
    trial.equal(found, host)


def saves_again(trial: Trial) -> None:
    """Each of two models, saved after each other, has the values of its time, and its own inputs and outputs."""
    hosts = [trial.random(3, 2, seed=seed) for seed in (13, 14)]
    given = trial.random(4, 3, seed=15)
    with _model(trial, hosts[0]) as model:
        folders = [_save(trial, model)]
        model.session.run(model.weights.assign(hosts[1]))
        folders.append(_save(trial, model, {"rows": model.x, "w": model.weights}, {"out": model.y, "same": model.x}))
    for folder, host, names in zip(folders, hosts, (("x", "y"), ("rows", "out"))):
        with beside(tf.Graph()), v1.Session() as session:
            found = v1.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
            x, y = found.inputs[names[0]].name, found.outputs[names[1]].name
            trial.close(session.run(y, {x: given}), _product(given, host), rtol=1e-5, atol=1e-5)
    trial.equal((sorted(found.inputs), sorted(found.outputs)), (["rows", "w"], ["out", "same"]))
