"""Robust training: one readable loop, nets for small images, and a `Method` = augment + loss.

Another package adds a net by an entry point in the group "hardy.nets" that points to a function
(classes, halving) -> module, where the latter is a `hardy.train.blurpool.Halving`, and a method by
one in "hardy.methods" that points to a subclass of `hardy.train.method.Method`. Everything here but
this file imports torch.
"""
