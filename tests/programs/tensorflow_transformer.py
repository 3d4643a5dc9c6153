"""TensorFlow with Keras layers: a small transformer in a training loop of its own, then greedy generation eagerly."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

WORDS, LENGTH, WIDTH, HEADS = 64, 12, 32, 4


class Block(keras.layers.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.attention = keras.layers.MultiHeadAttention(HEADS, WIDTH // HEADS)
        self.norms = [keras.layers.LayerNormalization() for _ in range(2)]
        self.wide = keras.layers.Dense(4 * WIDTH, activation="gelu")
        self.narrow = keras.layers.Dense(WIDTH)

    def call(self, x: Any) -> Any:
        normed = self.norms[0](x)
        x = x + self.attention(normed, normed, use_causal_mask=True)
        return x + self.narrow(self.wide(self.norms[1](x)))


class Model(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.words = keras.layers.Embedding(WORDS, WIDTH)
        self.blocks = [Block() for _ in range(2)]
        self.norm = keras.layers.LayerNormalization()

    def call(self, tokens: Any) -> Any:
        places = tf.range(tf.shape(tokens)[1])
        angles = tf.cast(places, tf.float32)[:, None] / tf.pow(1e4, tf.range(0, WIDTH, 2, dtype=tf.float32) / WIDTH)
        x = self.words(tokens) + tf.concat([tf.sin(angles), tf.cos(angles)], -1)
        for block in self.blocks:
            x = block(x)
        return tf.matmul(self.norm(x), self.words.embeddings, transpose_b=True)


def main() -> None:
    keras.utils.set_random_seed(0)
    tokens = tf.constant(np.random.default_rng(0).integers(0, WORDS, (8, LENGTH)), tf.int32)
    model = Model()
    optimizer = keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(1e-3, 100))

    @tf.function
    def step(tokens: Any) -> Any:
        with tf.GradientTape() as tape:
            logits = model(tokens[:, :-1], training=True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tokens[:, 1:], logits=logits)
            loss = tf.reduce_mean(losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
        optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
        return loss, norm

    for _ in range(5):
        loss, norm = step(tokens)
    text = tokens[:2, :4]
    for _ in range(4):
        last = model(text)[:, -1]
        scores, words = tf.math.top_k(last / 0.8, 5)
        drawn = tf.random.categorical(tf.nn.log_softmax(scores), 1, dtype=tf.int32)
        text = tf.concat([text, tf.gather(words, drawn, batch_dims=1)], axis=1)
    print(f"loss {float(loss):.3f}, norm {float(norm):.3f}, text {text.shape}")


if __name__ == "__main__":
    main()
