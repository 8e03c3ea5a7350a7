"""Which images are shown to which models, in which batches.

Internal: it may change in any release.
"""
