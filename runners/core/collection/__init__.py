"""Makes a manifest of the samples that installed packages hold (``portbench collect``)."""
