"""Endpoints on the loopback that speak the protocol of the real ones, with switches for what goes wrong with them."""
