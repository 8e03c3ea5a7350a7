"""The training methods, one file for each kind; `hardy.train.METHODS` has their names."""
