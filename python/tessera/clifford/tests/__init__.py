"""What scripts import from flash-clifford's folder ``tests``: plain formulas and measurements.

Tessera's own tests are elsewhere.
"""
