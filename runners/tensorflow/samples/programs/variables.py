"""Operations of ``tf.raw_ops`` on variables: by their handles, and by references in a graph of TensorFlow 1."""

from __future__ import annotations

import importlib
from typing import Any, Callable, Mapping, Sequence

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, in_session, new_name

_v1 = tf.compat.v1
_OPTIMIZERS = (
    *("AdaMax", "Adadelta", "Adagrad", "AdagradDA", "AdagradV2", "Adam", "AdamWithAmsgrad", "AddSign"),
    *("CenteredRMSProp", "Ftrl", "FtrlV2", "GradientDescent", "KerasMomentum", "Momentum", "PowerSign"),
    *("ProximalAdagrad", "ProximalGradientDescent", "RMSProp"),
)
_SCATTERED = ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update")
_SCATTERED_AT = ("Add", "Max", "Min", "Sub", "Update")
_OTHERS = {"lr_power": -0.5}
"""Settings that are not 0.1."""


def _given(operation: str, x: Any, variable: Callable[[Any], Any]) -> Mapping[str, Any]:
    """The inputs of an operation, by its definition. ``variable`` gives what stands for a variable of a value."""
    definition = importlib.import_module("tensorflow.python.framework.op_def_registry").get(operation)
    names = [each.name for each in definition.input_arg]
    found = {}
    for each in definition.input_arg:
        if each.is_ref or each.type == tf.resource.as_datatype_enum:
            found[each.name] = variable(x)
        elif each.name in ("grad", "delta"):
            found[each.name] = x[:2] if "indices" in names else x
        elif each.name == "indices":
            found[each.name] = tf.constant([2, 0])
        elif each.name == "global_step":
            found[each.name] = tf.constant(1, tf.int64)
        else:
            found[each.name] = tf.constant(_OTHERS.get(each.name, 0.1), x.dtype)
    return found


def _applied(operation: str) -> Lines:
    """What an optimizer's operation leaves in its variables."""

    def lines(function: Any, x: Any) -> Any:
        variables = []

        def handle(value: Any) -> Any:
            variables.append(tf.Variable(value))
            return variables[-1].handle

        function(**_given(operation, x, handle))
        return [tf.convert_to_tensor(each) for each in variables]

    return lines


def _reference(session: Any, value: Any) -> Any:
    variable = _v1.Variable(value, use_resource=False)
    session.run(variable.initializer)
    return variable._ref()


def _applied_by_reference(operation: str) -> Lines:
    def lines(function: Any, session: Any, x: Any) -> Any:
        variables: list[Any] = []

        def reference(value: Any) -> Any:
            variables.append(_reference(session, value))
            return variables[-1]

        session.run(function(**_given(operation, tf.constant(x), reference)))
        return session.run(variables)

    return in_session(lines)


def _at(**names: Any) -> Lines:
    """What an operation leaves in a variable. One of ``names`` is the argument of its handle, with the value None;
    arguments that are functions are of the tensor."""

    def lines(function: Any, x: Any) -> Any:
        variable = tf.Variable(x)
        found = {
            name: variable.handle if value is None else value(x) if callable(value) else value
            for name, value in names.items()
        }
        result = function(**found)
        return [tf.convert_to_tensor(variable), *([] if result is None else [result])]

    return lines


def _by_reference(*names: str, **more: Any) -> Lines:
    """The same with a reference, in a graph: ``names`` are the arguments of the reference."""

    def lines(function: Any, session: Any, x: Any) -> Any:
        reference = _reference(session, x)
        given = {name: value(x) if callable(value) else value for name, value in more.items()}
        result = session.run(function(**dict.fromkeys(names, reference), **given))
        return [session.run(reference), *([] if result is None else [result])]

    return in_session(lines)


def _counted(function: Any, x: Any) -> Any:
    counter = tf.Variable(3)
    found = function(resource=counter.handle, limit=10, T=tf.int32)
    return [found, tf.convert_to_tensor(counter)]


def _counted_by_reference(function: Any, session: Any, x: Any) -> Any:
    reference = _reference(session, 3)
    return [session.run(function(ref=reference, limit=10)), session.run(reference)]


def _created(function: Any, x: Any) -> Any:
    handle = function(dtype=x.dtype, shape=x.shape, shared_name=new_name())
    tf.raw_ops.AssignVariableOp(resource=handle, value=x)
    return tf.raw_ops.ReadVariableOp(resource=handle, dtype=x.dtype)


def _created_reference(function: Any, session: Any, x: Any) -> Any:
    reference = function(shape=x.shape, dtype=x.dtype)
    session.run(tf.raw_ops.Assign(ref=reference, value=x))
    return session.run(reference)


def _temporary(function: Any, session: Any, x: Any) -> Any:
    reference = function(shape=x.shape, dtype=x.dtype, var_name="held")
    assigned = tf.raw_ops.Assign(ref=reference, value=x)
    return session.run(tf.raw_ops.DestroyTemporaryVariable(ref=assigned, var_name="held"))


def _destroyed(function: Any, session: Any, x: Any) -> Any:
    reference = tf.raw_ops.TemporaryVariable(shape=x.shape, dtype=x.dtype, var_name="held")
    return session.run(function(ref=tf.raw_ops.Assign(ref=reference, value=x), var_name="held"))


def _drawn(**names: Any) -> Lines:
    """Numbers of a generator's state, and the state behind them."""

    def lines(function: Any, x: Any) -> Any:
        state = tf.Variable(tf.constant([5, 6, 7], tf.int64))
        given = {name: x.dtype if value is None else value for name, value in names.items()}
        found = function(resource=state.handle, algorithm=tf.constant(1, tf.int64), **given)
        return [tf.convert_to_tensor(state), *([] if found is None else [found])]

    return lines


_RANGE = {"minval": 2, "maxval": 9}
_SLICE: Mapping[str, Any] = {"begin": [0, 1], "end": [2, 3], "strides": [1, 1], "value": lambda x: x[:2, :2]}
_PLACES: Sequence[Any] = [[0], [2]]

LINES: Mapping[str, Lines] = {
    **{f"tf.raw_ops.ResourceApply{each}": _applied(f"ResourceApply{each}") for each in _OPTIMIZERS},
    **{
        f"tf.raw_ops.ResourceSparseApply{each}": _applied(f"ResourceSparseApply{each}")
        for each in _OPTIMIZERS
        if each not in ("AdaMax", "Adam", "AdamWithAmsgrad", "AddSign", "GradientDescent", "PowerSign")
    },
    **{
        f"tf.raw_ops.Apply{each}": _applied_by_reference(f"Apply{each}")
        for each in _OPTIMIZERS
        if each not in ("AdamWithAmsgrad", "KerasMomentum")
    },
    **{
        f"tf.raw_ops.SparseApply{each}": _applied_by_reference(f"SparseApply{each}")
        for each in _OPTIMIZERS
        if each not in ("AdaMax", "Adam", "AdamWithAmsgrad", "AddSign", "GradientDescent", "KerasMomentum", "PowerSign")
    },
    **{
        f"tf.raw_ops.ResourceScatter{each}": _at(resource=None, indices=[2, 0], updates=lambda x: x[:2])
        for each in _SCATTERED
    },
    **{
        f"tf.raw_ops.ResourceScatterNd{each}": _at(ref=None, indices=_PLACES, updates=lambda x: x[:2])
        for each in _SCATTERED_AT
    },
    **{
        f"tf.raw_ops.Scatter{each}": _by_reference("ref", indices=[2, 0], updates=lambda x: x[:2])
        for each in _SCATTERED
    },
    **{
        f"tf.raw_ops.ScatterNd{each}": _by_reference("ref", indices=_PLACES, updates=lambda x: x[:2])
        for each in _SCATTERED_AT
    },
    "tf.raw_ops.Assign": _by_reference("ref", value=lambda x: x + 1),
    "tf.raw_ops.AssignAdd": _by_reference("ref", value=lambda x: x + 1),
    "tf.raw_ops.AssignAddVariableOp": _at(resource=None, value=lambda x: x + 1),
    "tf.raw_ops.AssignSub": _by_reference("ref", value=lambda x: x + 1),
    "tf.raw_ops.AssignSubVariableOp": _at(resource=None, value=lambda x: x + 1),
    "tf.raw_ops.AssignVariableOp": _at(resource=None, value=lambda x: x + 1),
    "tf.raw_ops.CountUpTo": in_session(_counted_by_reference),
    "tf.raw_ops.DestroyTemporaryVariable": in_session(_destroyed),
    "tf.raw_ops.DisableCopyOnRead": _at(resource=None),
    "tf.raw_ops.IsVariableInitialized": _by_reference("ref"),
    "tf.raw_ops.ReadVariableOp": _at(resource=None, dtype=lambda x: x.dtype),
    "tf.raw_ops.RefIdentity": _by_reference("input"),
    "tf.raw_ops.ResourceCountUpTo": _counted,
    "tf.raw_ops.ResourceGather": _at(resource=None, indices=[2, 0], dtype=lambda x: x.dtype),
    "tf.raw_ops.ResourceGatherNd": _at(resource=None, indices=[[2, 0], [1, 3]], dtype=lambda x: x.dtype),
    "tf.raw_ops.ResourceStridedSliceAssign": _at(ref=None, **_SLICE),
    "tf.raw_ops.RngReadAndSkip": lambda function, x: _skipped(function),
    "tf.raw_ops.RngSkip": _drawn(delta=2),
    "tf.raw_ops.StatefulRandomBinomial": _drawn(shape=[4, 1], counts=[10.0], probs=[0.4], dtype=None),
    "tf.raw_ops.StatefulStandardNormalV2": _drawn(shape=[4], dtype=None),
    "tf.raw_ops.StatefulTruncatedNormal": _drawn(shape=[4], dtype=None),
    "tf.raw_ops.StatefulUniform": _drawn(shape=[4], dtype=None),
    "tf.raw_ops.StatefulUniformFullInt": _drawn(shape=[4], dtype=tf.int32),
    "tf.raw_ops.StatefulUniformInt": _drawn(shape=[4], **_RANGE),
    "tf.raw_ops.StridedSliceAssign": _by_reference("ref", **_SLICE),
    "tf.raw_ops.TemporaryVariable": in_session(_temporary),
    "tf.raw_ops.VarHandleOp": _created,
    "tf.raw_ops.VarIsInitializedOp": _at(resource=None),
    "tf.raw_ops.Variable": in_session(_created_reference),
    "tf.raw_ops.VariableShape": lambda function, x: function(input=tf.Variable(x).handle),
    "tf.raw_ops.VariableV2": in_session(_created_reference),
}


def _skipped(function: Any) -> Any:
    state = tf.Variable(tf.constant([5, 6, 7], tf.int64))
    found = function(resource=state.handle, alg=1, delta=tf.constant(2, tf.uint64))
    return [tf.convert_to_tensor(state), found]
