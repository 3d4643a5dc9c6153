"""What is written to files and found there again: checkpoints, the hook that saves them, saved models.

Folders stay in the run's temporary one: where calls are repeated for their steady time the files must still be there.
Models lie on the target's device; savers are host code and are built beside them.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any, Iterator, Mapping, NamedTuple, Sequence

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2, saved_model_pb2

from runners.core.testing.compare import check_dtype
from runners.core.testing.trial import Trial
from runners.tensorflow.graph_mode import beside, building

v1 = tf.compat.v1

_GRAPH = ("_CHECKPOINTABLE_OBJECT_GRAPH", [])
"""Where a checkpoint of objects keeps how they hang together; a single string."""


def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="saved-"))


# tf.train.list_variables


def objects(trial: Trial, dtype: str, shape: Sequence[int]) -> None:
    """A checkpoint of objects lists the path and the shape of each variable, sorted by path, and its graph."""
    host = trial.random(*shape, dtype=dtype, seed=1)
    weights = tf.Variable(trial.tensor(host, dtype))
    flat = tf.Variable(trial.tensor(host.reshape(-1), dtype))
    checkpoint = tf.train.Checkpoint(weights=weights, bias=flat)
    found = trial.call(checkpoint.write(str(_folder() / "kept")))
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    trial.equal(found, [_GRAPH, ("bias" + end, [host.size]), ("weights" + end, list(shape))])


def nested_objects(trial: Trial) -> None:
    """Variables in lists, dictionaries, modules and optimizers' slots are listed by the way that leads to them."""
    kernel, bias = (tf.Variable(trial.tensor(trial.random(*shape, seed=1))) for shape in ((3, 5), (5,)))
    module = tf.Module()
    module.layers = [kernel, {"bias": bias}]
    checkpoint = tf.train.Checkpoint(model=module, step=tf.Variable(trial.tensor(np.int64(3))))
    found = trial.call(checkpoint.save(str(_folder() / "kept")))
    end = "/.ATTRIBUTES/VARIABLE_VALUE"
    names = ["model/layers/0", "model/layers/1/bias", "save_counter", "step"]
    trial.equal(found, [_GRAPH, *((name + end, shape) for name, shape in zip(names, ([3, 5], [5], [], [])))])


def names_in_graph(trial: Trial, dtype: str) -> None:
    """A saver's checkpoint lists the names in the graph, scopes before them, sorted; not what was not saved."""
    shapes = {"z": [2, 3], "outer/b": [], "outer/inner/a": [0, 4]}
    with building(trial) as graph:
        variables = [
            v1.Variable(trial.random(*shape, dtype=dtype, seed=1), name=name, use_resource=True)
            for name, shape in shapes.items()
        ]
        v1.Variable(1.0, name="left_out", use_resource=True)
        start = v1.global_variables_initializer()
    path = _folder() / "model.ckpt"
    with beside(graph), v1.Session() as session:
        saver = v1.train.Saver(variables)
        session.run(start)
        path = saver.save(session, str(path), global_step=7)
    trial.equal(path.endswith("model.ckpt-7"), True)
    trial.equal(trial.call(path), sorted((name, shape) for name, shape in shapes.items()))


def latest_in_folder(trial: Trial) -> None:
    """Given a folder, it lists the newest checkpoint in it; an older one is reached by its own path."""
    folder = _folder()
    path = {}
    for size in (2, 5, 3):
        checkpoint = tf.train.Checkpoint(v=tf.Variable(trial.tensor(np.arange(size, dtype="float32"))))
        manager = tf.train.CheckpointManager(checkpoint, str(folder), max_to_keep=None)
        path[size] = manager.save(checkpoint_number=size)
    key = "v/.ATTRIBUTES/VARIABLE_VALUE"
    counter = ("save_counter/.ATTRIBUTES/VARIABLE_VALUE", [])
    trial.equal(trial.call(str(folder)), [_GRAPH, counter, (key, [3])])
    trial.equal(trial.call(path[5]), [_GRAPH, counter, (key, [5])])


def partitioned(trial: Trial, parts: int) -> None:
    """A variable that was saved in slices is listed once, with its whole shape."""
    with building(trial) as graph:
        partitioner = v1.fixed_size_partitioner(parts, axis=0)
        whole = v1.get_variable("table", [12, 3], partitioner=partitioner, use_resource=True)
        slices = list(whole)
        start = v1.global_variables_initializer()
    trial.equal(len(slices), parts)
    with beside(graph), v1.Session() as session:
        saver = v1.train.Saver()
        session.run(start)
        path = saver.save(session, str(_folder() / "model.ckpt"))
    trial.equal(trial.call(path), [("table", [12, 3])])


def many_variables(trial: Trial, count: int) -> None:
    """Hundreds of variables are listed in the order of their names as texts, each with its own shape."""
    variables = {
        f"v{number}": tf.Variable(trial.tensor(np.zeros((number % 7, 2), "float32"))) for number in range(count)
    }
    path = tf.train.Checkpoint(**variables).write(str(_folder() / "kept"))
    wanted = sorted((f"v{number}/.ATTRIBUTES/VARIABLE_VALUE", [number % 7, 2]) for number in range(count))
    trial.equal(trial.call(path), [_GRAPH, *wanted])


# tf.estimator.CheckpointSaverHook


class _Training(NamedTuple):
    """A graph with a variable that starts at ``host`` and is doubled at each step."""

    graph: tf.Graph
    train: Any
    host: Any


def _training(trial: Trial, dtype: str = "float32") -> _Training:
    host = trial.random(4, dtype=dtype, seed=2).astype(trial.dtype(dtype).as_numpy_dtype)
    with building(trial) as graph:
        step = v1.train.get_or_create_global_step()
        weights = v1.Variable(host, name="weights", use_resource=True)
        train = tf.group(weights.assign_add(weights.read_value()), step.assign_add(1))
    return _Training(graph, train, host)


def _train(training: _Training, hook: Any, steps: int) -> int:
    """Trains with the hook for at most so many steps; returns how many it were."""
    done = 0
    try:
        with beside(training.graph), v1.train.SingularMonitoredSession(hooks=[hook]) as session:
            while done < steps and not session.should_stop():
                session.run(training.train)
                done += 1
    finally:
        v1.summary.FileWriterCache.clear()
    return done


def _saved_steps(folder: Path, name: str = "model.ckpt") -> list[int]:
    return sorted(int(file.stem.split("-")[-1]) for file in folder.glob(f"{name}-*.index"))


def _check_saved(
    trial: Trial, training: _Training, folder: Path, step: int, dtype: str, name: str = "model.ckpt"
) -> None:
    """Raises unless the checkpoint of a step holds what the variables were then."""
    reader = tf.train.load_checkpoint(str(folder / f"{name}-{step}"))
    trial.equal(sorted(reader.get_variable_to_shape_map()), ["global_step", "weights"])
    trial.equal(int(reader.get_tensor("global_step")), step)
    weights = reader.get_tensor("weights")
    check_dtype(weights.dtype.name, dtype)
    wide = training.host.astype("complex128" if dtype.startswith("complex") else "float64")
    # Doubling is exact.
    trial.close(weights.astype(wide.dtype), wide * 2**step, rtol=0.0, atol=0.0)


def every_steps(trial: Trial, period: int, steps: int) -> None:
    """It saves before the first step, then each time that so many steps have passed, and at the end."""
    training, folder = _training(trial), _folder()
    hook = trial.call(str(folder), save_steps=period)
    _train(training, hook, steps)
    expected = sorted({*range(0, steps + 1, period), steps})
    trial.equal(_saved_steps(folder), expected[-5:])  # A saver keeps five.
    for step in expected[-5:]:
        _check_saved(trial, training, folder, step, "float32")
    trial.equal(tf.train.latest_checkpoint(str(folder)), str(folder / f"model.ckpt-{steps}"))


def dtypes(trial: Trial, dtype: str) -> None:
    """The checkpoint holds a variable of any dtype exactly as it was at the end."""
    training, folder = _training(trial, dtype), _folder()
    _train(training, trial.call(str(folder), save_steps=100), 3)
    trial.equal(_saved_steps(folder), [0, 3])
    for step in (0, 3):
        _check_saved(trial, training, folder, step, dtype)


def long_period(trial: Trial, seconds: float) -> None:
    """With a period in seconds longer than the training it saves at the beginning and at the end; under its name."""
    training, folder = _training(trial), _folder()
    _train(training, trial.call(str(folder), save_secs=seconds, checkpoint_basename="kept"), 4)
    trial.equal(_saved_steps(folder, "kept"), [0, 4])
    _check_saved(trial, training, folder, 4, "float32", "kept")


def graph_files(trial: Trial, wanted: bool) -> None:
    """With ``save_graph_def`` the graph lies beside the checkpoints, as text and in a file for each; else not."""
    training, folder = _training(trial), _folder()
    _train(training, trial.call(str(folder), save_steps=2, save_graph_def=wanted), 3)
    trial.equal(_saved_steps(folder), [0, 2, 3])
    trial.equal((folder / "graph.pbtxt").exists(), wanted)
    trial.equal(
        sorted(file.name for file in folder.glob("*.meta")), [f"model.ckpt-{n}.meta" for n in (0, 2, 3) if wanted]
    )
    if wanted:
        with tf.Graph().as_default() as graph:
            v1.train.import_meta_graph(str(folder / "model.ckpt-2.meta"))
            trial.equal("weights" in [operation.name for operation in graph.get_operations()], True)


class _Listener(v1.train.CheckpointSaverListener):
    """Notes what it is told, with the weights that it finds, and may ask to stop."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.told: list[tuple[str, int]] = []
        self._stop_at = stop_at

    def begin(self) -> None:
        self.told.append(("begin", -1))

    def before_save(self, session: Any, global_step_value: Any) -> None:
        self.told.append(("before", int(global_step_value)))

    def after_save(self, session: Any, global_step_value: Any) -> bool:
        self.told.append(("after", int(global_step_value)))
        return int(global_step_value) == self._stop_at

    def end(self, session: Any, global_step_value: Any) -> None:
        self.told.append(("end", int(global_step_value)))


def listeners(trial: Trial) -> None:
    """Listeners hear of the beginning, of each checkpoint before and after it is saved, and of the end."""
    training, folder, listener = _training(trial), _folder(), _Listener()
    trial.equal(_train(training, trial.call(str(folder), save_steps=2, listeners=[listener]), 3), 3)
    saves = [(what, step) for step in (0, 2, 3) for what in ("before", "after")]
    trial.equal(listener.told, [("begin", -1), *saves, ("end", 3)])


def listener_stops(trial: Trial) -> None:
    """A listener that asks for it ends the training at its checkpoint."""
    training, folder, listener = _training(trial), _folder(), _Listener(stop_at=4)
    trial.equal(_train(training, trial.call(str(folder), save_steps=2, listeners=[listener]), 100), 4)
    trial.equal(_saved_steps(folder), [0, 2, 4])
    trial.equal(listener.told[-1], ("end", 4))


def own_saver(trial: Trial, given: str) -> None:
    """A saver of one's own, by itself or in a scaffold, decides which variables are saved and how many checkpoints."""
    training, folder = _training(trial), _folder()
    with beside(training.graph):
        (step,) = training.graph.get_collection(v1.GraphKeys.GLOBAL_STEP)
        saver = v1.train.Saver([step], max_to_keep=2)
        value = saver if given == "saver" else v1.train.Scaffold(saver=saver)
        hook = trial.call(str(folder), save_steps=1, **{given: value})
    _train(training, hook, 5)
    trial.equal(_saved_steps(folder), [4, 5])
    trial.equal(tf.train.list_variables(str(folder)), [("global_step", [])])


def saves_when_due(trial: Trial) -> None:
    """``after_run`` saves in the steps that are due and in no others."""
    training, folder = _training(trial), _folder()
    hook = trial.make(str(folder), save_steps=3)
    trial.repeatable = False
    with beside(training.graph):
        training.graph.add_to_collection(v1.GraphKeys.SAVERS, v1.train.Saver())
        start = v1.global_variables_initializer()
        hook.begin()
        with v1.Session() as session:
            session.run(start)
            hook.after_create_session(session, None)
            due = []
            for step in range(1, 8):
                context = v1.train.SessionRunContext(v1.train.SessionRunArgs(training.train), session)
                asked = hook.before_run(context)
                number, _ = session.run([asked.fetches, training.train])
                values = v1.train.SessionRunValues(number, None, None)
                trial.equal(trial.call_method(hook, "after_run", context, values), None)
                if step in _saved_steps(folder):
                    due.append(step)
                trial.check(not context.stop_requested, "the training was to be stopped")
    v1.summary.FileWriterCache.clear()
    trial.equal(due, [3, 6])
    for step in (0, 3, 6):
        _check_saved(trial, training, folder, step, "float32")


# tf.compat.v1.saved_model.simple_save


class _Model(NamedTuple):
    """A graph that computes x w + 1 in a session where w has its values."""

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
        # Not the initial value: what the session holds must be saved.
        change = weights.assign(tf.constant(host))
    with beside(graph), v1.Session() as session:
        session.run(change)
        yield _Model(graph, session, x, weights, y)


def _save(trial: Trial, model: _Model, inputs: Any = None, outputs: Any = None, **options: Any) -> str:
    folder = str(_folder() / "model")
    # The folder must not be there before, and each call adds to the graph.
    trial.repeatable = False
    returned = trial.call(model.session, folder, inputs or {"x": model.x}, outputs or {"y": model.y}, **options)
    trial.check(returned is None, f"saving returned {returned!r}")
    return folder


def _product(given: Any, host: Any) -> Any:
    wide = "complex128" if host.dtype.kind == "c" else "float64"
    return given.astype(wide) @ host.astype(wide) + 1


def served_in_session(trial: Trial, dtype: str) -> None:
    """Loaded into another session under the tag "serve", the graph computes with the values of the saved session."""
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
    """Loaded as an object, its signature takes tensors of any number of rows and gives a dictionary of tensors."""
    host, given = trial.random(4, 3, dtype=dtype, seed=5), trial.random(6, 4, dtype=dtype, seed=6)
    with _model(trial, host) as model:
        folder = _save(trial, model)
    # What is loaded is served as a whole, text included, where TensorFlow can place it.
    with tf.device(None):
        loaded = tf.saved_model.load(folder)
        serve = loaded.signatures["serving_default"]
        for rows in (6, 1):
            output = serve(x=tf.constant(given[:rows]))
            trial.equal(sorted(output), ["y"])
            trial.close(output["y"], _product(given[:rows], host), rtol=1e-5, atol=1e-5, dtype=dtype)
        (variable,) = loaded.variables
        trial.close(variable, host, rtol=0.0, atol=0.0, dtype=dtype)


def signature(trial: Trial) -> None:
    """The file names one graph, tagged "serve", with the inputs and outputs as given and the method "predict"."""
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
    """No device is written down, so that the model can be served anywhere; the graph that was saved keeps its own."""
    with _model(trial, trial.random(2, 2, seed=8)) as model:
        folder = _save(trial, model)
        trial.check(model.y.device != "", "the graph in memory lost its devices")
    (meta,) = _meta_graphs(folder)
    nodes = {node.name: node.device for node in meta.graph_def.node}
    trial.check({"x", "weights", "y"} <= set(nodes), f"the graph holds {sorted(nodes)}")
    trial.equal({device for device in nodes.values() if device}, set())


def start_operation(trial: Trial) -> None:
    """The operation that is given for it runs when the model is loaded: it sets what is not saved."""
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
    """A file that the graph needs is copied into the model, which names the copy and the tensor that stands for it."""
    words = _folder() / "words.txt"
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
    """A large variable comes back bit by bit."""
    host = trial.random(size, 100, seed=12)
    with _model(trial, host) as model:
        folder = _save(trial, model)
    found = tf.train.load_variable(folder + "/variables/variables", "weights")
    check_dtype(found.dtype.name, "float32")
    trial.equal(found, host)
