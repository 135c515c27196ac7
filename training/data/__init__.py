"""Prepared data. `manifest`, which the preparation step writes, needs the standard library; `tables` needs torch."""
