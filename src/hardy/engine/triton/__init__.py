"""Triton kernels: the arithmetic of `engine.cpu`, operation by operation, on a GPU.

Every operation rounds once: products are not fused into sums (`launch`), float32 divides by
`div_rn`, and nothing comes from the device's exp or sin.
"""
