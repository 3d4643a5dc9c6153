"""tf.nn.conv3d and tf.nn.conv2d_transpose, compared with sums over windows in NumPy."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import seen, traced, weighted_gradients

Sizes = Sequence[int]


def _borders(size: int, window: int, stride: int, padding: str) -> tuple[int, int]:
    """Return the number of zeros before and after one axis."""
    if padding == "VALID":
        return 0, 0
    missing = max((-(-size // stride) - 1) * stride + window - size, 0)
    return missing // 2, missing - missing // 2


def windows_of(volume: Any, kernel: Sizes, strides: Sizes, padding: str, dilations: Sizes = (1, 1, 1)) -> Any:
    """Return all windows of a volume [batch, d, h, w, channels] as [batch, d', h', w', channels, kd, kh, kw]."""
    spans = [(k - 1) * dilation + 1 for k, dilation in zip(kernel, dilations)]
    borders = [_borders(n, span, step, padding) for n, span, step in zip(volume.shape[1:4], spans, strides)]
    padded = np.pad(volume, [(0, 0), *borders, (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, spans, axis=(1, 2, 3))
    one, two, three = strides
    windows = windows[:, ::one, ::two, ::three]
    one, two, three = dilations
    return windows[..., ::one, ::two, ::three]


def convolved(windows: Any, filters: Any) -> Any:
    return np.einsum("bdhwcijk,ijkco->bdhwo", windows, filters)


def forward(
    trial: Trial,
    volume: Sizes,
    kernel: Sizes,
    dtype: str = "float32",
    strides: Sizes = (1, 1, 1),
    padding: str = "SAME",
    dilations: Sizes = (1, 1, 1),
    channels_first: bool = False,
    special: str | None = None,
) -> None:
    """The output is the sum over each window of the padded volume times the filters; ``volume`` is channels-last."""
    image = trial.tensor(trial.random(*volume, seed=1, low=-1.0, high=1.0, special=special), dtype=dtype)
    filters = trial.tensor(trial.random(*kernel, seed=2, low=-1.0, high=1.0), dtype=dtype)
    # The reference gets the values after they are rounded to the dtype.
    wide_image, wide_filters = (part.astype("float64") for part in trial.numpy((image, filters)))
    expected = convolved(windows_of(wide_image, kernel[:3], strides, padding, dilations), wide_filters)
    if channels_first:
        image = tf.transpose(image, [0, 4, 1, 2, 3])
        output = trial.call(
            image, filters, [1, 1, *strides], padding, data_format="NCDHW", dilations=[1, 1, *dilations]
        )
        expected = np.moveaxis(expected, -1, 1)
    else:
        output = trial.call(image, filters, [1, *strides, 1], padding, dilations=[1, *dilations, 1])
    # The rounding of a sum of products in [-1, 1] scales with the terms, not with a sum that is near zero.
    # Some kernels add in the 16 bits of the dtype: the 54 products of a window then lose two digits.
    tolerance = {"float16": 2e-2, "bfloat16": 5e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    trial.close(output, expected, rtol=tolerance, atol=tolerance, dtype=dtype)


def gradients(
    trial: Trial,
    dtype: str,
    strides: Sizes = (1, 1, 1),
    padding: str = "SAME",
    dilations: Sizes = (1, 1, 1),
    batch: int = 2,
) -> None:
    """The gradients of volume and filters are the two adjoints of the convolution, computed window by window."""
    host_image, host_filters = (
        trial.random(batch, 4, 5, 3, 2, dtype=dtype),
        trial.random(2, 3, 2, 2, 3, dtype=dtype, seed=1),
    )
    wide_image, wide_filters = host_image.astype("float64"), host_filters.astype("float64")
    kernel = host_filters.shape[:3]
    windows = windows_of(wide_image, kernel, strides, padding, dilations)
    host_weights = trial.random(*windows.shape[:4], 3, dtype=dtype, seed=2)
    wide_weights = host_weights.astype("float64")
    image, filters, weights = map(trial.tensor, (host_image, host_filters, host_weights))

    def body(conv3d: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([image, filters])
            output = conv3d(image, filters, [1, *strides, 1], padding, dilations=[1, *dilations, 1])
            total = tf.reduce_sum(weights * output)
        return output, tape.gradient(total, [image, filters])

    output, (to_image, to_filters) = trial.call_inside(body)
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    trial.close(output, convolved(windows, wide_filters), rtol=tolerance, atol=tolerance, dtype=dtype)
    expected = np.einsum("bdhwcijk,bdhwo->ijkco", windows, wide_weights)
    trial.close(to_filters, expected, rtol=tolerance, atol=tolerance, dtype=dtype)
    # The adjoint for the volume: every output returns its weight to each place of its window.
    spans = [(k - 1) * dilation + 1 for k, dilation in zip(kernel, dilations)]
    borders = [_borders(n, span, step, padding) for n, span, step in zip(host_image.shape[1:4], spans, strides)]
    padded = np.pad(np.zeros_like(wide_image), [(0, 0), *borders, (0, 0)])
    depth, height, width = host_image.shape[1:4]
    counts = wide_weights.shape[1:4]
    for place in np.ndindex(*kernel):
        starts = [number * dilation for number, dilation in zip(place, dilations)]
        reached = [slice(a, a + (n - 1) * step + 1, step) for a, n, step in zip(starts, counts, strides)]
        padded[(slice(None), *reached)] += wide_weights @ wide_filters[place].T
    (d, _), (h, _), (w, _) = borders
    expected = padded[:, d : d + depth, h : h + height, w : w + width]
    trial.close(to_image, expected, rtol=tolerance, atol=tolerance, dtype=dtype)


def forward_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for volumes of unknown size, convolves several, with strides."""
    hosts = [trial.random(*shape, seed=3) for shape in ((1, 4, 5, 6, 2), (2, 3, 2, 9, 2))]
    host_filters = trial.random(2, 2, 3, 2, 3, seed=4)
    tensors, filters = [trial.tensor(host) for host in hosts], trial.tensor(host_filters)

    def body(conv3d: Callable[..., Any]) -> Any:
        spec = tf.TensorSpec([None, None, None, None, 2], tf.float32)
        apply = traced(lambda volume: conv3d(volume, filters, [1, 1, 2, 1, 1], "SAME"), [spec])
        return [apply(tensor) for tensor in tensors]

    for output, host in zip(trial.call_inside(body), hosts):
        windows = windows_of(host.astype("float64"), host_filters.shape[:3], (1, 2, 1), "SAME")
        trial.close(output, convolved(windows, host_filters.astype("float64")), 1e-5, 1e-5, dtype="float32")


# tf.nn.conv2d_transpose


def transposed(image: Any, filters: Any, size: Sizes, strides: Sizes, padding: Any, dilations: Sizes = (1, 1)) -> Any:
    """Add each input pixel's multiple of the filters to the output, then cut off the border.

    ``image`` is [batch, h, w, in], ``filters`` [kh, kw, out, in], ``size`` the height and width of the output. An
    explicit ``padding`` has the rows before and after, and the columns.
    """
    spans = [(k - 1) * dilation + 1 for k, dilation in zip(filters.shape, dilations)]
    reach = [(n - 1) * step + span for n, step, span in zip(image.shape[1:3], strides, spans)]
    before = [max(full - n, 0) // 2 if padding == "SAME" else 0 for full, n in zip(reach, size)]
    if not isinstance(padding, str):
        before = [rows_or_columns[0] for rows_or_columns in padding]
    whole = np.zeros([image.shape[0], *(max(full, n) + 2 for full, n in zip(reach, size)), filters.shape[2]])
    for i, j in np.ndindex(*filters.shape[:2]):
        part = image @ filters[i, j].T
        rows = slice(i * dilations[0], i * dilations[0] + image.shape[1] * strides[0], strides[0])
        columns = slice(j * dilations[1], j * dilations[1] + image.shape[2] * strides[1], strides[1])
        target = whole[:, rows, columns]
        target += part[:, : target.shape[1], : target.shape[2]]
    return whole[:, before[0] : before[0] + size[0], before[1] : before[1] + size[1]]


def transposed_convolution(
    trial: Trial,
    image: Sizes,
    kernel: Sizes,
    size: Sizes,
    dtype: str = "float32",
    strides: Sizes = (2, 2),
    padding: Any = "SAME",
    dilations: Sizes = (1, 1),
    channels_first: bool = False,
    special: str | None = None,
    all_axes: bool = False,
) -> None:
    """Each pixel adds its multiple of the filters to the output; ``image`` is channels-last, ``size`` the output's.
    With ``all_axes``, strides and dilations are given for the four axes, else for two."""
    pixels = trial.tensor(trial.random(*image, seed=13, low=-1.0, high=1.0, special=special), dtype=dtype)
    filters = trial.tensor(trial.random(*kernel, seed=14, low=-1.0, high=1.0), dtype=dtype)
    expected = transposed(seen(trial, pixels), seen(trial, filters), size, strides, padding, dilations)
    if channels_first:
        given = tf.transpose(pixels, [0, 3, 1, 2])
        shape = [image[0], kernel[2], *size]
        steps, skips = ([1, 1, *strides], [1, 1, *dilations]) if all_axes else (list(strides), list(dilations))
        output = trial.call(given, filters, shape, steps, padding, data_format="NCHW", dilations=skips)
        expected = np.moveaxis(expected, -1, 1)
    else:
        shape = [image[0], *size, kernel[2]]
        steps, skips = ([1, *strides, 1], [1, *dilations, 1]) if all_axes else (list(strides), list(dilations))
        borders = padding if isinstance(padding, str) else [[0, 0], *padding, [0, 0]]
        output = trial.call(pixels, filters, shape, steps, borders, dilations=skips)
    # The rounding of a sum of products in [-1, 1] scales with the terms, not with a sum that is near zero.
    # Some kernels add in the 16 bits of the dtype: sums of dozens of products then lose two digits.
    tolerance = {"float16": 2e-2, "bfloat16": 8e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    trial.close(output, expected, rtol=tolerance, atol=tolerance, dtype=dtype)


def transposed_gradients(
    trial: Trial,
    dtype: str,
    size: Sizes = (6, 8),
    strides: Sizes = (2, 2),
    padding: str = "SAME",
    dilations: Sizes = (1, 1),
) -> None:
    """The output is linear in image and filters: its weighted sum is the sum of each one's gradient times it."""
    options = (size, strides, padding, dilations)
    host_image, host_filters = (
        trial.random(2, 3, 4, 2, dtype=dtype, seed=15),
        trial.random(3, 3, 3, 2, dtype=dtype, seed=16),
    )
    host_weights = trial.random(2, *size, 3, dtype=dtype, seed=17)
    weights = trial.tensor(host_weights)

    def body(transpose: Callable[..., Any], *inputs: Any) -> Any:
        def apply(x: Any, filters: Any) -> Any:
            return transpose(x, filters, [2, *size, 3], strides, padding, dilations=dilations)

        return weighted_gradients(apply, inputs, weights)

    output, slopes = trial.call_inside(body, trial.tensor(host_image), trial.tensor(host_filters))
    wide = [host_image.astype("float64"), host_filters.astype("float64")]
    tolerance = {"float32": 1e-4, "float64": 1e-10}[dtype]
    trial.close(output, transposed(*wide, *options), rtol=tolerance, atol=tolerance, dtype=dtype)
    for number, slope in enumerate(slopes):
        expected = np.zeros(wide[number].size)
        for place in range(expected.size):
            unit = np.zeros(expected.size)
            unit[place] = 1.0
            parts = list(wide)
            parts[number] = unit.reshape(wide[number].shape)
            expected[place] = (host_weights * transposed(*parts, *options)).sum()
        trial.close(slope, expected.reshape(wide[number].shape), rtol=tolerance, atol=tolerance, dtype=dtype)


def transposed_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for images of unknown size, computes the output's size when it runs."""
    shapes = [(1, 3, 5, 2), (2, 7, 1, 2)]
    hosts = [trial.random(*shape, seed=18) for shape in shapes]
    host_filters = trial.random(2, 3, 4, 2, seed=19)
    tensors, filters = [trial.tensor(host) for host in hosts], trial.tensor(host_filters)

    def body(transpose: Callable[..., Any]) -> Any:
        def apply(image: Any) -> Any:
            batch, height, width, _ = tf.unstack(tf.shape(image))
            return transpose(image, filters, tf.stack([batch, 2 * height, 2 * width, 4]), strides=2)

        enlarge = traced(apply, [tf.TensorSpec([None, None, None, 2], tf.float32)])
        return [enlarge(tensor) for tensor in tensors]

    for output, host in zip(trial.call_inside(body), hosts):
        size = (2 * host.shape[1], 2 * host.shape[2])
        expected = transposed(host.astype("float64"), host_filters.astype("float64"), size, (2, 2), "SAME")
        trial.close(output, expected, rtol=1e-5, atol=1e-5, dtype="float32")
