"""Run once, remember: what a model said about every image under every cell, on disk.

`reduce` turns logits into the columns that metrics need, `writer` appends them so that a kill loses
little and corrupts nothing, `store` reads them back, on a machine that needs no model.
"""
