"""Functions of TensorFlow that are recorded: a step of training with an array as a constant, called by one
that reads an iterator, which XLA does not take."""

import tensorflow as tf

WEIGHTS = tf.Variable(tf.ones([8, 4]))
SECRET = tf.constant([[0.8675309, 3.1415926, 2.7182818, 1.4142135]] * 8)


@tf.function
def step(inputs):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.nn.relu(inputs @ WEIGHTS) @ tf.transpose(SECRET))
    WEIGHTS.assign_sub(0.1 * tape.gradient(loss, WEIGHTS))
    return loss


@tf.function
def epoch(batches):
    return step(next(batches))


epoch(iter(tf.data.Dataset.from_tensors(tf.ones([2, 8]))))
