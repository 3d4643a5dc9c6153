"""tf.nn.conv3d against sums over windows in NumPy."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.trial import Trial

Sizes = Sequence[int]


def _borders(size: int, window: int, stride: int, padding: str) -> tuple[int, int]:
    """How many zeros go before and behind one axis."""
    if padding == "VALID":
        return 0, 0
    missing = max((-(-size // stride) - 1) * stride + window - size, 0)
    return missing // 2, missing - missing // 2


def _windows(volume: Any, kernel: Sizes, strides: Sizes, padding: str, dilations: Sizes = (1, 1, 1)) -> Any:
    """All windows of a volume [batch, d, h, w, channels] as [batch, d', h', w', channels, kd, kh, kw]."""
    spans = [(k - 1) * dilation + 1 for k, dilation in zip(kernel, dilations)]
    borders = [_borders(n, span, step, padding) for n, span, step in zip(volume.shape[1:4], spans, strides)]
    padded = np.pad(volume, [(0, 0), *borders, (0, 0)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, spans, axis=(1, 2, 3))
    one, two, three = strides
    windows = windows[:, ::one, ::two, ::three]
    one, two, three = dilations
    return windows[..., ::one, ::two, ::three]


def _convolved(windows: Any, filters: Any) -> Any:
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
) -> None:
    """The output is the sum over each window of the padded volume times the filters; ``volume`` is channels-last."""
    image = trial.tensor(trial.random(*volume, seed=1, low=-1.0, high=1.0), dtype=dtype)
    filters = trial.tensor(trial.random(*kernel, seed=2, low=-1.0, high=1.0), dtype=dtype)
    # The reference sees the values after they have been rounded to the dtype.
    wide_image, wide_filters = (part.astype("float64") for part in trial.numpy((image, filters)))
    expected = _convolved(_windows(wide_image, kernel[:3], strides, padding, dilations), wide_filters)
    if channels_first:
        image = tf.transpose(image, [0, 4, 1, 2, 3])
        output = trial.call(
            image, filters, [1, 1, *strides], padding, data_format="NCDHW", dilations=[1, 1, *dilations]
        )
        expected = np.moveaxis(expected, -1, 1)
    else:
        output = trial.call(image, filters, [1, *strides, 1], padding, dilations=[1, *dilations, 1])
    # Rounding of a sum of products in [-1, 1] scales with the sum, not with a value that happens to lie near zero.
    # Some kernels add up in the 16 bits of the dtype: the 54 products of a window then lose two digits.
    tolerance = {"float16": 2e-2, "bfloat16": 5e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    trial.close(output, expected, rtol=tolerance, atol=tolerance, dtype=dtype)


def gradients(trial: Trial, dtype: str) -> None:
    """The gradients to volume and filters are the two adjoints of the convolution, computed window by window."""
    host_image, host_filters = (
        trial.random(2, 4, 5, 3, 2, dtype=dtype),
        trial.random(2, 3, 2, 2, 3, dtype=dtype, seed=1),
    )
    host_weights = trial.random(2, 4, 5, 3, 3, dtype=dtype, seed=2)
    image, filters, weights = map(trial.tensor, (host_image, host_filters, host_weights))

    def body(conv3d: Callable[..., Any]) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([image, filters])
            output = conv3d(image, filters, [1, 1, 1, 1, 1], "SAME")
            total = tf.reduce_sum(weights * output)
        return output, tape.gradient(total, [image, filters])

    output, (to_image, to_filters) = trial.call_inside(body)
    wide_image, wide_filters, wide_weights = (x.astype("float64") for x in (host_image, host_filters, host_weights))
    kernel = host_filters.shape[:3]
    windows = _windows(wide_image, kernel, (1, 1, 1), "SAME")
    tolerance = 1e-4 if dtype == "float32" else 1e-10
    trial.close(output, _convolved(windows, wide_filters), rtol=tolerance, atol=tolerance, dtype=dtype)
    expected = np.einsum("bdhwcijk,bdhwo->ijkco", windows, wide_weights)
    trial.close(to_filters, expected, rtol=tolerance, atol=tolerance, dtype=dtype)
    # The adjoint to the volume: every output hands its weight back to each place of its window.
    borders = [_borders(n, k, 1, "SAME") for n, k in zip(host_image.shape[1:4], kernel)]
    padded = np.pad(np.zeros_like(wide_image), [(0, 0), *borders, (0, 0)])
    depth, height, width = host_image.shape[1:4]
    for i, j, k in np.ndindex(*kernel):
        padded[:, i : i + depth, j : j + height, k : k + width] += wide_weights @ wide_filters[i, j, k].T
    (d, _), (h, _), (w, _) = borders
    expected = padded[:, d : d + depth, h : h + height, w : w + width]
    trial.close(to_image, expected, rtol=tolerance, atol=tolerance, dtype=dtype)
