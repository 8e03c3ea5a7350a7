"""The back end for NumPy arrays: numba kernels, and OpenCV where it has the very step.

`ops` has every primitive; the kernels are in `points` (by pixel), `filters` and `smears` (blurs),
`warps`, `boxes`, `fields` (clouds, glass, relief), `frames` (sequences), `noc_ops` and `c_bar_*`
(the benchmarks of these names), `random` and `maths`. `compile` says how they are compiled,
`doubts` when float32 is enough, and `lanes` has what the compiler does not see by itself.
"""
