"""The paper's experiments, one file each, and the protocols under which methods are compared."""
