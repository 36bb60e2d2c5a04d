"""The built-in control plane: one package per hop, wired together in `cluster.py`."""
