"""Noise that is made to fool one model: how far does that model hold up?

Internal: it may change in any release.
"""
