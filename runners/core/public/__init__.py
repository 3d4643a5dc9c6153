"""Which names of a framework are public, and which a manifest may use."""
