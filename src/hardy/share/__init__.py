"""Results in other people's tools: experiment trackers, model cards, pytest.

Internal: it may change in any release.
"""
