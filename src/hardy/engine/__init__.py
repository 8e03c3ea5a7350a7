"""How corruptions are computed: the same bytes on every device.

`ops` is the list of primitives that a formula may use, and finds the back end of an array; `cpu`,
`torch` and `triton` are the back ends, each with its `ops.py`. `door` lets images in and out,
`keys` reads seeds and ids, `rng` is Philox, `portable` has sines and powers whose bits are the same
everywhere, `textures` the frost photographs, and `tables` what is computed once on the host.

Internal: it may change in any release.
"""
