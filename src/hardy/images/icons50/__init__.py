"""Icons-50-R: icons of 50 classes as several vendors draw them, rebuilt out of packages of npm.

The archive of Icons-50 is no longer to be had. What it was made of is: vendors' sets of emoji, in
several versions each. It is another data set than the original, so its scores carry another name.
`docs/icons50.md` says how it is made. `icon_tables.py` has what it is made of, `layouts.py` where
drawings lie in packages, `raster.py` how they become pixels, and `collection.py` the whole.
"""
