"""Ways of the original to go through data."""
