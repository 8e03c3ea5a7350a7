"""Which points of a scatter plot can be labelled without one label on another."""

from __future__ import annotations

from collections.abc import Sequence

# A letter, a line and a point, as shares of the plot's width and height at its usual size.
LETTER, LINE, POINT = 0.0098, 0.045, 0.012
# Right of here a label ends at its point instead of starting there.
TURN = 0.6


def choose_labels(
    places: Sequence[tuple[float, float]], names: Sequence[str], always: int
) -> list[tuple[str, bool]]:
    """A name for each point and whether it goes leftwards; "" where it would cover something.

    Labels stand just above their points. The first `always` are written whatever they cover.
    """
    xs, ys = [x for x, _ in places], [y for _, y in places]
    wide, high = (max(xs) - min(xs)) or 1.0, (max(ys) - min(ys)) or 1.0
    spots = [((x - min(xs)) / wide, (y - min(ys)) / high) for x, y in places]
    points = [(x - POINT, x + POINT, y) for x, y in spots]  # left, right, middle
    taken: list[tuple[float, float, float]] = []
    written = []
    for place, ((x, y), name) in enumerate(zip(spots, names, strict=True)):
        length, left = LETTER * len(name), x > TURN
        box = (x - length if left else x, x if left else x + length, y + LINE)
        free = place < always or all(
            box[1] < start or end < box[0] or abs(box[2] - middle) >= LINE
            for start, end, middle in (*taken, *points[:place], *points[place + 1 :])
        )
        written.append((name if free else "", left))
        if free:
            taken.append(box)
    return written
