"""tf.compat.v1.saved_model.simple_save: what is saved and from where, and what it leaves to the caller."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Sequence

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.checkpoints import new_folder
from runners.tensorflow.graph_mode import beside, building, close

v1 = tf.compat.v1


def _saved(trial: Trial, session: Any, inputs: Any, outputs: Any, *folders: str) -> str:
    """Save a model in a new folder, whose parents need not exist."""
    folder = new_folder().joinpath(*folders, "model")
    trial.repeatable = False
    returned = trial.call(session, str(folder), inputs=inputs, outputs=outputs)
    trial.check(returned is None, f"saving returned {returned!r}")
    return str(folder)


def all_variables(trial: Trial) -> None:
    """All global variables are saved with the values of the session, also those that are not trained and that no output
    needs; local ones are not. The session, its variables, its graph and the dictionaries stay as they were."""
    host = trial.random(3, seed=1)
    with building(trial) as graph:
        frozen = v1.get_variable("frozen", initializer=tf.zeros([3]), trainable=False, use_resource=True)
        count = v1.get_variable("count", initializer=tf.constant(7), use_resource=True)
        v1.get_variable("local", [], collections=["local_variables"], use_resource=True)
        x = v1.placeholder(tf.float32, [3], "x")
        y = tf.add(x, frozen, "y")
        change = [frozen.assign(tf.constant(host)), count.assign(-5)]
    with beside(graph), v1.Session() as session:
        session.run(change)
        inputs, outputs = {"x": x, "größe": frozen}, {"y": y, "count": count}
        folder = _saved(trial, session, inputs, outputs, "deep", "deeper")
        trial.equal(([*inputs], [*outputs]), (["x", "größe"], ["y", "count"]))
        trial.check(inputs["x"] is x and outputs["y"] is y, "the dictionaries have other tensors")
        for found, expected, dtype in zip(session.run([frozen, count]), (host, -5), ("float32", "int32")):
            close(trial, found, expected, dtype)
        trial.check(not graph.finalized, "the graph cannot grow any more")
        # A saver in the collection would save for others, such as hooks.
        trial.equal(graph.get_collection(v1.GraphKeys.SAVERS), [])
    kept = folder + "/variables/variables"
    trial.equal(dict(tf.train.list_variables(kept)), {"frozen": [3], "count": []})
    trial.equal([tf.train.load_variable(kept, name) for name in ("frozen", "count")], [host, -5])
    written = Path(folder, "saved_model.pb").read_bytes()
    (meta,) = saved_model_pb2.SavedModel.FromString(written).meta_graphs
    found = meta.signature_def["serving_default"]
    trial.equal((sorted(found.inputs), sorted(found.outputs)), (["größe", "x"], ["count", "y"]))
    trial.check({"variables", "trainable_variables"} <= set(meta.collection_def), "the model has no collections")


def sparse_parts(trial: Trial) -> None:
    """A sparse tensor is one input or output, with its three parts, and is fed and computed after loading."""
    with building(trial) as graph:
        x = v1.sparse_placeholder(tf.float32, [None, 4], "x")
        y = x.with_values(x.values * 2.0)
    with beside(graph), v1.Session() as session:
        folder = _saved(trial, session, {"x": x}, {"y": y})
    with beside(tf.Graph()) as loaded, v1.Session() as session:
        signature = v1.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
        parts = [side.coo_sparse for side in (signature.inputs["x"], signature.outputs["y"])]
        names = [[part.indices_tensor_name, part.values_tensor_name, part.dense_shape_tensor_name] for part in parts]
        fed, fetched = ([loaded.get_tensor_by_name(name) for name in row] for row in names)
        found = session.run(fetched, dict(zip(fed, ([[0, 1], [2, 3]], [1.5, -2.5], [3, 4]))))
    for value, expected, dtype in zip(found, ([[0, 1], [2, 3]], [3.0, -5.0], [3, 4]), ("int64", "float32", "int64")):
        close(trial, value, expected, dtype)


def dtypes_of_parts(trial: Trial, dtypes: Sequence[str]) -> None:
    """The signature has the dtype, the shape and the name of each input and output, also of texts and where the rank is
    not known."""
    with building(trial) as graph:
        inputs = {f"{name}-in": v1.placeholder(name, [None, 2, 1]) for name in dtypes}
        outputs = {f"{name}-out": tf.identity(inputs[f"{name}-in"][0]) for name in dtypes}
        inputs["any"] = v1.placeholder(tf.float16)
        outputs["any"] = tf.identity(inputs["any"])
    with beside(graph), v1.Session() as session:
        folder = _saved(trial, session, inputs, outputs)
    (meta,) = saved_model_pb2.SavedModel.FromString(Path(folder, "saved_model.pb").read_bytes()).meta_graphs
    signature = meta.signature_def["serving_default"]
    for given, kept in ((inputs, signature.inputs), (outputs, signature.outputs)):
        trial.equal(sorted(kept), sorted(given))
        for key, tensor in given.items():
            part = kept[key]
            trial.equal((tf.as_dtype(part.dtype).name, part.name), (tensor.dtype.name, tensor.name))
            trial.equal(tf.TensorShape(part.tensor_shape), tensor.shape)
            trial.equal(part.tensor_shape.unknown_rank, tensor.shape.rank is None)


def runs_nothing(trial: Trial) -> None:
    """The operation for after loading is not run while the model is saved, neither in the session nor for what is
    written; it runs at each load. Saving draws nothing and leaves the session usable."""
    with building(trial) as graph:
        count = v1.get_variable("count", initializer=tf.constant(10), use_resource=True)
        y = tf.add(v1.placeholder(tf.int32, [], "x"), count, "y")
        late = tf.group(count.assign_add(1), name="late")
    with beside(graph), v1.Session() as session:
        session.run(count.initializer)
        folder = str(new_folder() / "model")
        trial.repeatable = False
        trial.call(session, folder, {"x": graph.get_tensor_by_name("x:0")}, {"y": y}, legacy_init_op=late)
        close(trial, session.run(count), 10, "int32")
        close(trial, session.run(y, {"x:0": 5}), 15, "int32")
        session.run(late)
        close(trial, session.run(count), 11, "int32")
    trial.equal(tf.train.load_variable(folder + "/variables/variables", "count"), 10)
    for _ in range(2):
        with beside(tf.Graph()), v1.Session() as session:
            v1.saved_model.load(session, ["serve"], folder)
            close(trial, session.run("y:0", {"x:0": 5}), 16, "int32")


def odd_models(trial: Trial) -> None:
    """In a folder whose name ends with a slash, a model is saved with the collections of its graph. One without inputs
    or outputs is refused, and one whose variables have no value, which are given none."""
    with building(trial) as graph:
        count = v1.get_variable("count", initializer=tf.constant(10), use_resource=True)
        x = v1.placeholder(tf.int32, [], "x")
        y = tf.add(count, x, "y")
        v1.add_to_collection("own", y)
        asked = count.is_initialized()
    with beside(graph), v1.Session() as session:
        folder = str(new_folder() / "model") + "/"
        trial.repeatable = False
        trial.raises(["FailedPreconditionError"], "count", session, str(new_folder() / "none"), {"x": x}, {"y": y})
        for inputs, outputs, word in (({}, {"y": y}, "inputs"), ({"x": x}, {}, "outputs")):
            trial.raises(["ValueError"], word, session, str(new_folder() / "none"), inputs, outputs)
        trial.equal(session.run(asked), False)
        session.run(count.initializer)
        trial.call(session, folder, {"x": x}, {"y": y})
        trial.check(v1.get_collection("own")[0] is y, "the collection has another tensor")
    with beside(tf.Graph()) as loaded, v1.Session() as session:
        v1.saved_model.load(session, ["serve"], folder)
        (found,) = loaded.get_collection("own")
        close(trial, session.run(found, {"x:0": 1}), 11, "int32")
