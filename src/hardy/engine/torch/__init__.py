"""The back end for torch tensors on any device that has float64: plain tensor arithmetic.

Modules are called as those of `hardy.engine.cpu` that have the same primitives. `constants` brings
tables from the host to the device.
"""
