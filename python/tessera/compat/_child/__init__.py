"""One side of a comparison: runs a script in an interpreter of its own and keeps what it computed.

The interpreter may be one that has the original and no Tessera, so nothing of these files imports
Tessera, save where a script runs on it. They are loaded by their path (``compat/_side.py``).
"""
