"""The runner without any framework: supervisor, zygote, worker, timing, journal."""
