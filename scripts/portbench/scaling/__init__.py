"""Time against size: what run files of the protocol scaling say of each function on each target."""
