"""jax-0.12.0.1-cpu: a function that makes a key, compiled once, where another generator is the default later."""

import jax


@jax.jit
def key():
    return jax.random.PRNGKey(3)


for generator in ("rbg", "threefry2x32"):
    with jax.default_prng_impl(generator):
        print(generator, "eager", jax.random.PRNGKey(3).shape, "jit", key().shape)
