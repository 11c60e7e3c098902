"""What the networks of ``tessera.clifford.gatr`` and ``tessera.clifford.lgatr`` share."""
