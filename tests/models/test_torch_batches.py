"""How many images a torch model takes at once, and what it does without memory for them."""

import numpy as np
import pytest
import torch

from hardy.errors import HardyError
from hardy.models import load_model
from tests.models.tiny import IMAGES, Tiny


class Hungry(Tiny):
    """Has memory for so many images at once."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room
        self.seen: list[int] = []

    def forward(self, pixels):
        self.seen.append(len(pixels))
        if len(pixels) > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return super().forward(pixels)


def test_what_does_not_fit_is_halved_and_remembered():
    module = Hungry(room=20)
    images = np.concatenate([IMAGES] * 20)  # 140
    model = load_model(module)
    out = model.logits(images)
    assert module.seen == [64, 32, *[16] * 8, 12]
    module.seen.clear()
    np.testing.assert_array_equal(model.logits(images), out)
    assert module.seen == [*[16] * 8, 12]
    module.room = 10**6
    np.testing.assert_allclose(out, load_model(module, batch=140).logits(images), atol=1e-6)


def test_a_short_last_batch_is_halved_from_its_own_size():
    module = Hungry(room=3)
    load_model(module).logits(IMAGES)
    assert module.seen == [7, 3, 3, 1]


def test_no_memory_for_a_single_image_is_an_error_with_advice():
    module = Hungry(room=0)
    with pytest.raises(HardyError, match=r"cpu has no memory left for a batch of 1; try a lower"):
        load_model(module).logits(IMAGES)
    assert module.seen == [7, 3, 1]


def test_a_batch_that_was_asked_for_is_not_changed():
    module = Hungry(room=2)
    load_model(module, batch=2).logits(IMAGES)
    assert module.seen == [2, 2, 2, 1]
    with pytest.raises(HardyError, match="for a batch of 3; ask for a smaller batch or leave it"):
        load_model(module, batch=3).logits(IMAGES)
