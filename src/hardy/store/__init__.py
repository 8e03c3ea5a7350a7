"""Run once, remember: what a model said about every image under every cell, on disk.

`writer` appends the columns that metrics need, so that a kill loses little and corrupts nothing;
`reader` reads them back, on a machine that needs no model.

Internal: it may change in any release.
"""
