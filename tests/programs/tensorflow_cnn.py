"""Keras 3 on TensorFlow: a convolutional network with batch norm, trained by ``fit``."""

from __future__ import annotations

import keras
import numpy as np


def main() -> None:
    keras.utils.set_random_seed(0)
    images = np.random.default_rng(0).normal(size=(64, 16, 16, 3)).astype("float32")
    labels = np.random.default_rng(1).integers(0, 10, 64)
    model = keras.Sequential(
        [
            keras.layers.Input((16, 16, 3)),
            keras.layers.RandomFlip("horizontal"),
            keras.layers.Conv2D(16, 3, padding="same"),
            keras.layers.BatchNormalization(),
            keras.layers.ReLU(),
            keras.layers.MaxPooling2D(),
            keras.layers.SeparableConv2D(32, 3, activation="gelu"),
            keras.layers.Conv2DTranspose(16, 3, strides=2),
            keras.layers.GlobalAveragePooling2D(),
            keras.layers.Dropout(0.2),
            keras.layers.Dense(10),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.AdamW(1e-3), loss, metrics=["accuracy"])
    history = model.fit(images, labels, batch_size=16, epochs=2, verbose=0)
    print(f"loss {history.history['loss'][-1]:.3f}, sum {model.predict(images, verbose=0).sum():.1f}")


if __name__ == "__main__":
    main()
