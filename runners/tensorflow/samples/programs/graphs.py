"""More functions of ``tf.compat.v1``, and those that work in a graph alone: collections, steps, savers, scopes."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Sequence

import tensorflow as tf

from runners.tensorflow.samples.programs.lines import Lines, in_session, initialize

_v1 = tf.compat.v1
_LOCAL = "local_variables"


def _local_initialized(function: Any, session: Any, x: Any) -> Any:
    variable = _v1.get_variable("variable", initializer=x, collections=[_LOCAL])
    session.run(function())
    return session.run(variable)


def _listed(collection: str) -> Lines:
    """The names of the variables that the function lists, of two in this collection and one in no other."""

    def lines(function: Any, session: Any, x: Any) -> Any:
        for name in ("first", "second"):
            _v1.get_variable(name, initializer=x, collections=[collection])
        _v1.get_variable("third", initializer=x, collections=["others"])
        return [each.name for each in function()]

    return in_session(lines)


def _told(lines: Callable[..., Any]) -> Lines:
    """What lines without a tensor return, in a graph of their own."""
    return in_session(lambda function, session, x: lines(function))


def _scope_names(function: Any) -> Sequence[str]:
    with _v1.variable_scope("outer"), _v1.variable_scope("inner"):
        inner = function().name
    return [inner, function().name]


def _same_draws(function: Any, x: Any) -> Any:
    """Whether a seed gives the same draws again, and another one others."""
    found = []
    for seed in (5, 5, 6):
        with tf.Graph().as_default(), _v1.Session() as session:
            function(seed)
            found.append(session.run(tf.random.uniform((4,))).tolist())
    return tf.constant([found[0] == found[1], found[0] == found[2]])


def _with_table(function: Any, session: Any, x: Any) -> Any:
    keys = tf.constant([1, 2, 3], tf.int64)
    table = _v1.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, x[:, 0]), x[0, 0] * 0)
    session.run(function())
    return session.run(table.lookup(keys[::-1]))


def _made_table(function: Any, session: Any, x: Any) -> Any:
    keys = tf.constant([1, 2, 3], tf.int64)
    table = function(tf.lookup.KeyValueTensorInitializer(keys, x[:, 0]), x[0, 0] * 0)
    session.run(_v1.tables_initializer())
    return session.run(table.lookup(keys[::-1]))


def _vocabulary(function: Any, session: Any, x: Any) -> Any:
    words = tf.constant(["a", "b"])
    table = function(tf.lookup.KeyValueTensorInitializer(words, tf.constant([0, 1], tf.int64)), 2)
    session.run(_v1.tables_initializer())
    return session.run(table.lookup(tf.constant(["b", "c", "a"])))


def _collected(function: Any) -> Any:
    _v1.add_to_collection("things", 3)
    _v1.add_to_collection("things", 5)
    return list(function("things"))


def _added(function: Any) -> Any:
    function("things", 3)
    function("things", 5)
    return _v1.get_collection("things")


def _added_to_each(function: Any) -> Any:
    function(["things", "others"], 3)
    return _v1.get_collection("things") + _v1.get_collection("others")


def _in_context(*given: Any) -> Lines:
    """A sum inside of the context that the function makes of these arguments, or of the tensor."""

    def lines(function: Any, session: Any, x: Any) -> Any:
        value = tf.constant(x)
        with function(*(each(value) if callable(each) else each for each in given)):
            found = value + value
        return session.run(found)

    return in_session(lines)


def _grouped(function: Any, session: Any, x: Any) -> Any:
    variable, other = (_v1.get_variable(name, initializer=x) for name in ("first", "second"))
    initialize(session)
    session.run(function(_v1.assign_add(variable, x), _v1.assign_sub(other, x * x)))
    return session.run([variable, other])


def _after_nothing(function: Any, session: Any, x: Any) -> Any:
    with tf.control_dependencies([function()]):
        found = tf.constant(x) * 2
    return session.run(found)


def _called_on_host(function: Any, session: Any, x: Any) -> Any:
    return session.run(function(lambda a: a + a, [x], x.dtype))


def _printed(function: Any, session: Any, x: Any) -> Any:
    return session.run(function(tf.constant(x), [tf.constant([1, 2])], "values: "))


def _default_session(function: Any, session: Any, x: Any) -> Any:
    return [function() is session, function().graph is _v1.get_default_graph()]


def _emptied(function: Any, x: Any) -> Any:
    before = tf.Graph()
    with before.as_default():
        tf.constant(1)
    # Outside of any graph's context, it is the default graph that is replaced.
    first = _v1.get_default_graph()
    function()
    return tf.constant([_v1.get_default_graph() is first, len(_v1.get_default_graph().get_operations()) == 0])


def _is_initialized(function: Any, session: Any, x: Any) -> Any:
    variable = _v1.get_variable("variable", initializer=x)
    before = session.run(function(variable))
    initialize(session)
    return [before, session.run(function(variable))]


def _uninitialized(function: Any, session: Any, x: Any) -> Any:
    variable = _v1.get_variable("first", initializer=x)
    _v1.get_variable("second", initializer=x)
    session.run(variable.initializer)
    return session.run(function())


def _checked_variables(function: Any, session: Any, x: Any) -> Any:
    variable = _v1.Variable(x, use_resource=False)
    session.run(variable.initializer)
    session.run(function([variable]))
    return session.run(variable)


def _fed_sparse(function: Any, session: Any, x: Any) -> Any:
    given = function(x.dtype, (3, 4))
    fed = _v1.SparseTensorValue([[0, 1], [2, 0]], x[0, :2], (3, 4))
    return session.run(tf.sparse.to_dense(given) * 2, {given: fed})


def _fed_ragged(function: Any, session: Any, x: Any) -> Any:
    given = function(x.dtype, 1, (4,))
    fed = _v1.ragged.constant_value([x[:2].tolist(), x[2:].tolist()], x.dtype, ragged_rank=1)
    return session.run(tf.reduce_sum(given, 1), {given: fed})


def _counted(function: Any, session: Any, x: Any) -> Any:
    variable = _v1.Variable(3)
    session.run(variable.initializer)
    return [session.run(function(variable, 10)), session.run(variable)]


def _shared(function: Any, session: Any, x: Any) -> Any:
    """A template that is called twice has one variable."""
    scaled = function("scaled", lambda a: a * _v1.get_variable("scale", initializer=x, dtype=x.dtype))
    first, second = scaled(x), scaled(x + 1)
    initialize(session)
    return [*session.run([first, second]), len(_v1.global_variables())]


def _local(function: Any, session: Any, x: Any) -> Any:
    variable = function("variable", initializer=x)
    initialize(session)
    return [session.run(variable), len(_v1.local_variables()), len(_v1.global_variables())]


def _imported(function: Any, session: Any, x: Any) -> Any:
    with tf.Graph().as_default() as other:
        tf.identity(tf.constant(x) * 2, name="doubled")
    (found,) = function(other.as_graph_def(), return_elements=["doubled:0"], name="")
    return session.run(found)


def _partitioned(*given: Any) -> Lines:
    """How a partitioner divides a variable."""

    def lines(function: Any, x: Any) -> Any:
        return tf.constant(list(function(*given)(shape=tf.TensorShape([12, 4]), dtype=tf.float32)))

    return lines


def _created(function: Any, session: Any, x: Any) -> Any:
    """A scope in which variables are twice as large."""

    def creator(following: Any, **settings: Any) -> Any:
        return following(**{**settings, "initial_value": x * 2})

    with function(creator):
        variable = _v1.Variable(x, use_resource=True)
    session.run(variable.initializer)
    return session.run(variable)


def _converted(function: Any, x: Any) -> Any:
    """A function with a condition on a tensor, converted and put in a graph."""

    def clipped(a: Any) -> Any:
        if tf.reduce_sum(a) > 0:
            a = a * 2
        return a

    converted = function(clipped)
    with tf.Graph().as_default(), _v1.Session() as session:
        found = session.run(converted(tf.constant(x.numpy())))
    return tf.constant(found)


def _two(iterator: Any, session: Any) -> Any:
    following = iterator.get_next()
    return [session.run(following), session.run(following)]


def _both(iterator: Any, session: Any) -> Any:
    session.run(iterator.initializer)
    return _two(iterator, session)


LINES: Mapping[str, Lines] = {
    "tf.compat.v1.Print": in_session(_printed),
    "tf.compat.v1.add_to_collection": _told(_added),
    "tf.compat.v1.add_to_collections": _told(_added_to_each),
    "tf.compat.v1.all_variables": _listed("variables"),
    "tf.compat.v1.assert_variables_initialized": in_session(_checked_variables),
    "tf.compat.v1.autograph.to_graph": _converted,
    "tf.compat.v1.colocate_with": _in_context(lambda value: value.op),
    "tf.compat.v1.container": _in_context("box"),
    "tf.compat.v1.control_flow_v2_enabled": lambda function, x: tf.constant(function()),
    "tf.compat.v1.count_up_to": in_session(_counted),
    "tf.compat.v1.data.make_initializable_iterator": in_session(
        lambda function, session, x: _both(function(_v1.data.Dataset.from_tensor_slices(x)), session)
    ),
    "tf.compat.v1.data.make_one_shot_iterator": in_session(
        lambda function, session, x: _two(function(_v1.data.Dataset.from_tensor_slices(x)), session)
    ),
    "tf.compat.v1.device": _in_context(None),
    "tf.compat.v1.executing_eagerly": _told(lambda function: function()),
    "tf.compat.v1.executing_eagerly_outside_functions": lambda function, x: tf.constant(function()),
    "tf.compat.v1.fixed_size_partitioner": _partitioned(3),
    "tf.compat.v1.get_collection": _told(_collected),
    "tf.compat.v1.get_collection_ref": _told(_collected),
    "tf.compat.v1.get_default_graph": _told(lambda function: function() is tf.zeros(()).graph),
    "tf.compat.v1.get_default_session": in_session(_default_session),
    "tf.compat.v1.get_local_variable": in_session(_local),
    "tf.compat.v1.get_seed": _told(lambda function: list(function(7))),
    "tf.compat.v1.get_variable_scope": _told(_scope_names),
    "tf.compat.v1.global_variables": _listed("variables"),
    "tf.compat.v1.initialize_all_tables": in_session(_with_table),
    "tf.compat.v1.initialize_local_variables": in_session(_local_initialized),
    "tf.compat.v1.is_variable_initialized": in_session(_is_initialized),
    "tf.compat.v1.local_variables": _listed(_LOCAL),
    "tf.compat.v1.local_variables_initializer": in_session(_local_initialized),
    "tf.compat.v1.lookup.StaticHashTable": in_session(_made_table),
    "tf.compat.v1.lookup.StaticVocabularyTable": in_session(_vocabulary),
    "tf.compat.v1.make_template": in_session(_shared),
    "tf.compat.v1.min_max_variable_partitioner": _partitioned(4),
    "tf.compat.v1.model_variables": _listed("model_variables"),
    "tf.compat.v1.moving_average_variables": _listed("moving_average_variables"),
    "tf.compat.v1.op_scope": _in_context([], "scope"),
    "tf.compat.v1.py_func": in_session(_called_on_host),
    "tf.compat.v1.ragged.placeholder": in_session(_fed_ragged),
    "tf.compat.v1.report_uninitialized_variables": in_session(_uninitialized),
    "tf.compat.v1.reset_default_graph": _emptied,
    "tf.compat.v1.resource_variables_enabled": lambda function, x: tf.constant(function()),
    "tf.compat.v1.set_random_seed": _same_draws,
    "tf.compat.v1.sparse_placeholder": in_session(_fed_sparse),
    "tf.compat.v1.tables_initializer": in_session(_with_table),
    "tf.compat.v1.trainable_variables": _listed("trainable_variables"),
    "tf.compat.v1.variable_axis_size_partitioner": _partitioned(64),
    "tf.compat.v1.variable_creator_scope": in_session(_created),
    "tf.compat.v1.variable_op_scope": _in_context([], "scope"),
    "tf.group": in_session(_grouped),
    "tf.import_graph_def": in_session(_imported),
    "tf.no_op": in_session(_after_nothing),
}
