"""tf.image.draw_bounding_boxes, compared with lines drawn in NumPy."""

from __future__ import annotations

from typing import Any, Callable, Sequence

import numpy as np
import tensorflow as tf

from runners.core.testing.arrays import widened
from runners.core.testing.trial import Trial
from runners.tensorflow.cases.tensors import traced

Sizes = Sequence[int]

DEFAULT_COLORS = np.asarray(
    [
        [1, 1, 0, 1],
        [0, 0, 1, 1],
        [1, 0, 0, 1],
        [0, 1, 0, 1],
        [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1],
        [0.5, 0, 0, 1],
        [0, 0, 0.5, 1],
        [0, 1, 1, 1],
        [1, 0, 1, 1],
    ]
)
"""Yellow, blue, red, lime, purple, olive, maroon, navy, aqua, fuchsia: used in turn if no colors are given."""


def _boxes(batch: int, count: int, seed: int, spread: float = 0.0) -> Any:
    """Return random boxes [ymin, xmin, ymax, xmax]; with a spread, edges are up to that far outside the image."""
    state = np.random.RandomState(seed)
    low = state.uniform(-spread, 0.45, (batch, count, 2))
    high = state.uniform(0.5, 1.0 + spread, (batch, count, 2))
    return np.concatenate([low, high], axis=-1).astype("float32")


def drawn(images: Any, boxes: Any, colors: Any) -> Any:
    """Draw each box's four edges, one pixel wide, in its color; edges outside the image are not drawn."""
    output = images.copy()
    _, height, width, depth = images.shape
    for number, image in enumerate(output):
        for box_number, box in enumerate(boxes[number]):
            color = colors[box_number % len(colors)][:depth]
            # Edges are at whole pixels, truncated towards zero in float32, like the boxes.
            top, bottom = (int(np.float32(edge) * np.float32(height - 1)) for edge in box[[0, 2]])
            left, right = (int(np.float32(edge) * np.float32(width - 1)) for edge in box[[1, 3]])
            rows, columns = slice(max(top, 0), bottom + 1), slice(max(left, 0), right + 1)
            for row in (top, bottom):
                if 0 <= row < height:
                    image[row, columns] = color
            for column in (left, right):
                if 0 <= column < width:
                    image[rows, column] = color
    return output


def boxes(
    trial: Trial,
    shape: Sizes,
    count: int,
    dtype: str = "float32",
    colors: int | None = None,
    spread: float = 0.0,
    special: str | None = None,
    color_depth: int | None = None,
) -> None:
    """The edges of each box have its color (given, or from the ten documented ones in turn); all other pixels are
    unchanged. Later boxes cover earlier ones. Colors may have more channels than the image, by ``color_depth``."""
    host = trial.random(*shape, dtype=dtype, seed=1, low=0.0, high=1.0, special=special)
    images = trial.tensor(host, dtype=dtype)
    host_boxes = _boxes(shape[0], count, seed=2, spread=spread)
    host_colors, given = DEFAULT_COLORS, None
    if colors is not None:
        host_colors = trial.random(colors, color_depth or shape[-1], seed=3, low=0.0, high=1.0)
        # Whole multiples of 1/256 are the same in float16.
        host_colors = np.round(host_colors * 256) / np.float32(256)
        given = trial.tensor(host_colors)
    elif shape[-1] == 1:
        # The kernel documents: an image with one channel gets boxes of ones.
        host_colors = np.ones([10, 1])
    output = trial.call(images, trial.tensor(host_boxes), given)
    expected = drawn(widened(trial.numpy(images)), host_boxes, host_colors)
    trial.exact(output, expected, dtype)


def none_drawn(trial: Trial) -> None:
    """Boxes outside the image, inverted boxes, and no boxes leave it unchanged; a later valid box is drawn."""
    host = trial.random(1, 6, 8, 3, seed=4, low=0.0, high=1.0)
    images = trial.tensor(host)
    outside = [[-0.9, 0.1, -0.5, 0.9], [0.1, 1.5, 0.9, 1.9], [0.8, 0.1, 0.2, 0.9], [0.1, 0.9, 0.9, 0.2]]
    colors = trial.tensor(np.asarray([[0.25, 0.5, 0.75]], "float32"))
    inside = [0.25, 0.3, 0.85, 0.95]
    output = trial.call(images, trial.tensor(np.asarray([[*outside, inside]], "float32")), colors)
    expected = drawn(host, np.asarray([[inside]], "float32"), np.asarray([[0.25, 0.5, 0.75]]))
    trial.close(output, expected, dtype="float32")
    trial.close(trial.call(images, trial.tensor(np.zeros([1, 0, 4], "float32")), colors), host, dtype="float32")


def flat_boxes(trial: Trial) -> None:
    """A box without height or width is a line, one without both is a pixel; a box may be as large as the image."""
    host = trial.random(1, 9, 17, 4, seed=8, low=0.0, high=1.0)
    corners = [[0, 0, 1, 1], [0.5, 0.25, 0.5, 0.75], [0.25, 0.125, 0.875, 0.125], [0.75, 0.875, 0.75, 0.875]]
    host_colors = trial.random(4, 4, seed=9, low=-2.0, high=2.0)
    output = trial.call(
        trial.tensor(host), trial.tensor(np.asarray([corners], "float32")), trial.tensor(host_colors), name="drawn"
    )
    trial.exact(output, drawn(host, np.asarray([corners], "float32"), host_colors), "float32")


def boxes_unknown_shape(trial: Trial) -> None:
    """One tf.function, traced for images of unknown size and any number of boxes, draws on several."""
    cases = [((1, 9, 12, 3), 2), ((2, 5, 7, 3), 3)]
    hosts = [(trial.random(*shape, seed=5), _boxes(shape[0], count, seed=6)) for shape, count in cases]
    tensors = [tuple(map(trial.tensor, pair)) for pair in hosts]
    host_colors = trial.random(2, 3, seed=7, low=0.0, high=1.0)
    colors = trial.tensor(host_colors)

    def body(draw: Callable[..., Any]) -> Any:
        specs = [tf.TensorSpec([None, None, None, 3], tf.float32), tf.TensorSpec([None, None, 4], tf.float32)]
        apply = traced(lambda images, corners: draw(images, corners, colors), specs)
        return [apply(*pair) for pair in tensors]

    for output, (images, corners) in zip(trial.call_inside(body), hosts):
        trial.close(output, drawn(images, corners, host_colors), dtype="float32")
