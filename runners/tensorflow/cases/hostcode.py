"""tf.numpy_function: Python on the host between tensors."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial


def elementwise(trial: Trial, shape: Sequence[int], dtype: str) -> None:
    """NumPy's output becomes a tensor of the declared dtype; the Python function gets NumPy arrays."""
    host = trial.random(*shape, dtype=dtype, seed=1)
    seen: list[type] = []

    def on_host(values: Any) -> Any:
        seen.append(type(values))
        return np.asarray(values * values + values, dtype=host.dtype)

    output = trial.call(on_host, [trial.tensor(host)], trial.dtype(dtype))
    wide = host.astype("complex128" if dtype.startswith("complex") else "float64")
    trial.close(output, wide * wide + wide, dtype=dtype)
    trial.check(len(seen) == 1, f"the Python function was called {len(seen)} times, not once")
    trial.check(issubclass(seen[0], (np.ndarray, np.generic)), f"NumPy was given a {seen[0].__name__}")


def several_outputs(trial: Trial) -> None:
    """Outputs of different dtypes and of sizes that depend on values are returned in order."""
    host = np.random.RandomState(2).randint(0, 20, 200).astype("int64")

    def on_host(values: Any) -> Any:
        unique, counts = np.unique(values, return_counts=True)
        return unique, counts.astype("int32"), np.float64(values.mean())

    dtypes = [trial.dtype(name) for name in ("int64", "int32", "float64")]
    unique, counts, mean = trial.call(on_host, [trial.tensor(host)], dtypes)
    wanted = sorted(set(host.tolist()))
    trial.close(unique, wanted, dtype="int64")
    trial.close(counts, [int((host == value).sum()) for value in wanted], dtype="int32")
    trial.close(mean, sum(host.tolist()) / 200, dtype="float64")


def strings(trial: Trial) -> None:
    """Strings reach Python as bytes and are returned as strings."""
    words = trial.tensor(["kernel", "", "Gerät"], dtype="string")
    output = trial.call(lambda values: np.asarray([word[::-1] for word in values], object), [words], tf.string)
    trial.equal(trial.dtype_name(output), "string")
    trial.equal(trial.numpy(output).tolist(), [b"lenrek", b"", "Gerät".encode()[::-1]])


def in_function(trial: Trial) -> None:
    """In a tf.function, traced once, Python runs at every call and gets that call's values."""
    hosts = [trial.random(3, 5, seed=seed) for seed in (3, 4, 5)]
    tensors = [trial.tensor(host) for host in hosts]
    calls: list[int] = []

    def on_host(values: Any) -> Any:
        calls.append(1)
        return np.sort(values, axis=-1)

    def body(numpy_function: Callable[..., Any]) -> Any:
        del calls[:]
        ordered = tf.function(lambda values: numpy_function(on_host, [values], tf.float32) * 2.0)
        return [ordered(tensor) for tensor in tensors]

    outputs = trial.call_inside(body)
    for output, host in zip(outputs, hosts):
        trial.close(output, 2 * np.sort(host, axis=-1), dtype="float32")
    trial.equal(len(calls), 3)


def custom_gradient(trial: Trial) -> None:
    """TensorFlow cannot differentiate through it (None); with tf.custom_gradient the given gradient is used."""
    host = trial.random(7, dtype="float64", seed=6)
    values = trial.tensor(host)

    def body(numpy_function: Callable[..., Any]) -> Any:
        def sine(x: Any) -> Any:
            return numpy_function(np.sin, [x], tf.float64)

        @tf.custom_gradient
        def smooth(x: Any) -> Any:
            return sine(x), lambda incoming: incoming * numpy_function(np.cos, [x], tf.float64)

        with tf.GradientTape(persistent=True) as tape:
            tape.watch(values)
            plain, wrapped = sine(values), smooth(values)
        return plain, tape.gradient(plain, values), wrapped, tape.gradient(wrapped, values)

    plain, no_slope, wrapped, slope = trial.call_inside(body)
    trial.close(plain, np.sin(host), dtype="float64")
    trial.check(no_slope is None, "a gradient came out of an opaque Python function")
    trial.close(wrapped, np.sin(host), dtype="float64")
    trial.close(slope, np.cos(host), dtype="float64")


def in_dataset(trial: Trial, size: int) -> None:
    """As the function of a data set's map it is applied to each element, in order."""

    def body(numpy_function: Callable[..., Any]) -> Any:
        source = tf.data.Dataset.range(size)
        return list(source.map(lambda x: numpy_function(lambda v: np.int64(v**3 - v), [x], tf.int64)))

    outputs = trial.call_inside(body)
    trial.equal([trial.dtype_name(output) for output in outputs], ["int64"] * size)
    trial.equal(trial.numpy(outputs), [x**3 - x for x in range(size)])


def several_inputs(trial: Trial) -> None:
    """The function gets one array for each input, of its dtype and shape, in order; a tuple of dtypes, a name and a
    function without state are accepted."""
    names = ("float16", "bool", "uint8", "int64", "complex64")
    shapes = ((2, 3), (), (4,), (0, 2), (1, 1, 3))
    hosts = [trial.random(*shape, dtype=name, seed=7 + len(shape)) for name, shape in zip(names, shapes)]
    given: list[Any] = []

    def on_host(*parts: Any) -> Any:
        del given[:]
        given.extend((np.asarray(part).dtype.name, np.asarray(part).copy()) for part in parts)
        return parts[0] + np.float16(1), np.int64(parts[2].sum(dtype="int64"))

    tensors = [trial.tensor(host, name) for host, name in zip(hosts, names)]
    outputs = trial.call(on_host, tensors, (tf.float16, tf.int64), stateful=False, name="mixed")
    trial.equal([name for name, _ in given], list(names))
    for (_, array), host in zip(given, hosts):
        trial.equal(array, host)
    trial.close(outputs[0], hosts[0].astype("float64") + 1, dtype="float16")
    trial.close(outputs[1], hosts[2].astype("int64").sum(), dtype="int64")
    trial.close(trial.call(lambda: np.float32(2.5), [], tf.float32), 2.5, dtype="float32")


def has_effects(trial: Trial) -> None:
    """In a tf.function a call whose output is not used is made all the same, each time, and equal calls are not
    merged."""
    value = trial.tensor(np.float32(1.5))
    seen: list[float] = []

    def note(x: Any) -> Any:
        seen.append(float(x))
        return np.asarray([x, len(seen)], "float32")

    def body(numpy_function: Callable[..., Any]) -> Any:
        del seen[:]

        @tf.function(autograph=False)
        def twice(x: Any) -> Any:
            numpy_function(note, [x * 2], tf.float32)
            return numpy_function(note, [x], tf.float32), numpy_function(note, [x], tf.float32)

        return [twice(value), twice(value)]

    outputs = [output for pair in trial.call_inside(body) for output in pair]
    trial.equal(sorted(seen), [1.5] * 4 + [3.0] * 2)
    numbers = [float(trial.numpy(output).ravel()[-1]) for output in outputs]
    for output, number in zip(outputs, numbers):
        trial.close(output, [1.5, number], dtype="float32")
    trial.check(len(set(numbers)) == 4, f"calls were merged: {numbers}")


def refuses_output(trial: Trial, what: str) -> None:
    """An output of another dtype or another number of outputs than declared, or an error of the Python function, is an
    error."""
    on_host, word = {
        "dtype": (lambda x: x.astype("float64"), "double"),
        "count": (lambda x: (x, x, x), "3 values"),
        "error": (lambda x: int("zz"), "zz"),
    }[what]
    host = trial.random(3, seed=8)
    value = trial.tensor(host)

    def body(numpy_function: Callable[..., Any], call: Callable[..., Any] = on_host) -> Any:
        dtypes = [tf.float32, tf.float32] if what == "count" else [tf.float32]
        return tf.function(lambda x: numpy_function(call, [x], dtypes))(value)

    # The same call with an output as declared.
    outputs = trial.call_inside(body, (lambda x: (x, -x)) if what == "count" else lambda x: x)
    for output, expected in zip(outputs, (host, -host)):
        trial.exact(output, expected, "float32")
    trial.raises_inside(["InvalidArgumentError", "UnknownError", "ValueError"], word, body)


def without_state(trial: Trial) -> None:
    """A function without state is called again when any of its inputs has other values."""
    hosts = [trial.random(3, dtype="float64", seed=20 + number) for number in range(4)]
    orders = [(0, 1, 2), (0, 1, 3), (0, 3, 2), (3, 1, 2), (1, 0, 2), (0, 1, 2)]
    tensors = [trial.tensor(host) for host in hosts]

    def on_host(x: Any, y: Any, z: Any) -> Any:
        return x - 2 * y + 4 * z

    def body(numpy_function: Callable[..., Any]) -> Any:
        def apply(*given: Any) -> Any:
            return numpy_function(on_host, given, tf.float64, stateful=False)

        return [call(*(tensors[n] for n in order)) for call in (apply, tf.function(apply)) for order in orders]

    for output, order in zip(trial.call_inside(body), orders * 2):
        trial.close(output, on_host(*(hosts[n] for n in order)), dtype="float64")


def many_inputs(trial: Trial, count: int) -> None:
    """Each of many inputs, and of as many outputs, is at its place."""
    hosts = [trial.random(2, 1, number % 3 + 1, 1, seed=number) for number in range(count)]
    output = trial.call(lambda *parts: [2 * part for part in parts], [*map(trial.tensor, hosts)], [tf.float32] * count)
    trial.equal(len(output), count)
    for value, host in zip(output, hosts):
        trial.close(value, 2 * host.astype("float64"), dtype="float32")


def strings_of_any_bytes(trial: Trial) -> None:
    """Each byte of a string arrives, NUL at its end too, on the way in and out, of scalars and arrays, in a tf.function
    as well."""
    words = [b"a\0b\0\0", b"\0", b"", b"\xff\xfe\0", bytes(range(256))]
    # An array of bytes would lose NULs, one of objects does not.
    *texts, together = [trial.tensor(np.asarray(each, object), "string") for each in (*words, words)]
    given: list[Any] = []

    def on_host(values: Any) -> Any:
        array = np.asarray(values, object)
        given.extend(array.ravel().tolist())
        return array

    def body(numpy_function: Callable[..., Any]) -> Any:
        del given[:]

        def apply(x: Any) -> Any:
            return numpy_function(on_host, [x], tf.string)

        return [call(each) for call in (apply, tf.function(apply)) for each in (together, *texts)]

    outputs = trial.call_inside(body)
    trial.equal(given, words * 4)
    for output, expected in zip(outputs, [words, *words] * 2):
        trial.equal(trial.numpy(output).tolist(), expected)
