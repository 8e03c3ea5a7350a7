"""Tables that are computed once on the host: weights, laws of noise, shapes, plans of waves."""
