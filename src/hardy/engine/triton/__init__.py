"""The back end for CUDA devices: Triton kernels in place of the torch back end's hot primitives.

Their arithmetic is that of `hardy.engine.cpu`, operation by operation. Every operation rounds once:
products are not fused into sums (`launch`), float32 divides by `div_rn`, and nothing comes from the
device's exp or sin.
"""
