import copy
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from PIL import Image

from hardy.errors import HardyError, InputError
from hardy.models import Preprocessing, load_model
from hardy.models.adapters import torch_sources as torch_load
from hardy.models.adapters.torch_model import _shared, prepared
from hardy.models.calling import normalised, resized
from hardy.models.model import IMAGENET_MEAN, IMAGENET_STD, facts_of
from tests.models.tiny import IMAGES, Tiny, configured, tiny
from tests.photos import photos

PLAIN = Preprocessing((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))


def test_logits_are_those_of_the_module_in_evaluation_mode():
    module = tiny()
    model = load_model(module, preprocessing=PLAIN)
    with torch.no_grad():
        pixels = torch.tensor(IMAGES).permute(0, 3, 1, 2).float()
        expected = module.eval()((pixels / 255 - 0.5) / 0.25)
    np.testing.assert_allclose(model.logits(IMAGES), expected.numpy(), rtol=1e-5, atol=1e-6)
    assert model.logits(IMAGES).dtype == np.float32
    np.testing.assert_array_equal(model.logits(IMAGES), model.logits(IMAGES))
    assert (model.name, model.device, model.precision) == ("Tiny", "cpu", "float32")


def test_a_module_that_is_lent_comes_back_as_it_was():
    module = tiny().train()
    module.norm.eval()
    before = copy.deepcopy(module.state_dict())
    load_model(module).logits(IMAGES)
    assert module.training
    assert module.drop.training
    assert not module.norm.training
    assert all(parameter.requires_grad for parameter in module.parameters())
    assert all(torch.equal(before[name], tensor) for name, tensor in module.state_dict().items())


def test_the_two_ways_of_preprocessing_agree_to_the_bit():
    used = Preprocessing(IMAGENET_MEAN, IMAGENET_STD)
    on_torch = prepared(torch.tensor(IMAGES), used).permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(on_torch, normalised(IMAGES, used))


@pytest.mark.parametrize("interpolation", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("size", [32, 80])
def test_resizing_is_pillows_where_no_tie_is_rounded(interpolation, size):
    """Weights in float32 tip a tie, such as 7.5, either way; Pillow's whole numbers do too."""
    levels = Preprocessing((0, 0, 0), (1 / 255,) * 3, size, interpolation)
    images = photos(48)
    ours = prepared(torch.tensor(images), levels).permute(0, 2, 3, 1).numpy().round()
    how = Image.Resampling[interpolation.upper()]
    theirs = [np.asarray(Image.fromarray(i).resize((size, size), how)) for i in images]
    np.testing.assert_array_equal(resized(images, size, interpolation), theirs)
    assert np.abs(ours - theirs).max() <= 1
    assert (ours != theirs).mean() < 0.005


def test_an_image_of_the_right_size_is_not_touched():
    assert resized(IMAGES, 12, "bicubic") is IMAGES
    assert resized(IMAGES, None, "bicubic") is IMAGES


def test_a_read_only_array_is_fine():
    images = IMAGES.copy()
    images.setflags(write=False)
    np.testing.assert_array_equal(
        load_model(tiny()).logits(images), load_model(tiny()).logits(IMAGES)
    )
    assert load_model(tiny()).logits(images[::-1]).shape == (7, 5)


def test_a_read_only_view_is_not_copied():
    images = IMAGES.copy()
    view = images[2:]
    view.setflags(write=False)
    assert np.shares_memory(_shared(view).numpy(), images)
    assert not view.flags.writeable
    for_good = np.frombuffer(IMAGES.tobytes(), np.uint8).reshape(IMAGES.shape)
    np.testing.assert_array_equal(_shared(for_good).numpy(), IMAGES)


def test_a_tensor_is_answered_by_a_tensor():
    model = load_model(tiny())
    out = model.logits(torch.tensor(IMAGES))
    assert isinstance(out, torch.Tensor)
    np.testing.assert_array_equal(out.numpy(), model.logits(IMAGES))
    with pytest.raises(InputError, match="expected a tensor on cpu, got one on meta"):
        model.logits(torch.empty(2, 8, 8, 3, dtype=torch.uint8, device="meta"))
    with pytest.raises(InputError, match=r"uint8 \(N, H, W, 3\), got torch.float32 \(7, 12, 12, 3"):
        model.logits(torch.tensor(IMAGES).float())


def test_other_errors_of_the_module_are_told_in_its_name():
    model = load_model(tiny(), preprocessing=Preprocessing((0, 0, 0), (1, 1, 1), size=2))
    message = (
        r"^Tiny raised RuntimeError: .*[Kk]ernel size.*, given images \(7, 12, 12, 3\); is it made "
        r"for such images\? They were prepared so: resize to 2"
    )
    with pytest.raises(HardyError, match=message):
        model.logits(IMAGES)


def test_ctrl_c_is_not_the_modules_error():
    class Stopped(Tiny):
        def forward(self, pixels):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        load_model(Stopped()).logits(IMAGES)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_lower_precision_is_used_and_told(precision):
    model = load_model(tiny(), precision=precision)
    full, low = load_model(tiny()).logits(IMAGES), model.logits(IMAGES)
    assert model.precision == precision
    assert low.dtype == np.float32
    assert 0 < np.abs(full - low).max() < 0.05


def test_identity_is_what_changes_the_output():
    module = tiny()
    same = load_model(module).identity
    moved = tiny()
    moved.norm.running_mean += 1
    trained = tiny()
    trained.head.bias.data[0] += 1e-3
    strided = tiny()
    strided.conv.stride = (2, 2)
    flipped = tiny()
    flipped.flip = False
    listed = tiny()
    listed.flips = [(1, "left", None)]
    hidden = tiny()
    hidden.register_buffer("table", torch.ones(2), persistent=False)

    class Other(Tiny):
        def forward(self, pixels):
            return -super().forward(pixels)

    Other.__name__ = "Tiny"  # torch prints it
    other = Other()
    other.load_state_dict(module.state_dict())
    assert same == load_model(tiny()).identity
    assert same == load_model(tiny(), batch=3, device="cpu", name="another").identity
    assert same == load_model(tiny().train()).identity
    assert same == load_model(tiny().to(memory_format=torch.channels_last)).identity
    different = [
        load_model(tiny(1)).identity,
        load_model(moved).identity,
        load_model(trained).identity,
        load_model(strided).identity,
        load_model(flipped).identity,
        load_model(listed).identity,
        load_model(hidden).identity,
        load_model(other).identity,
        load_model(tiny(), precision="bfloat16").identity,
        load_model(tiny(), preprocessing=PLAIN).identity,
        load_model(tiny(), preprocessing=Preprocessing(PLAIN.mean, PLAIN.std, 16)).identity,
        load_model(
            tiny(), preprocessing=Preprocessing(PLAIN.mean, PLAIN.std, 16, "bicubic")
        ).identity,
    ]
    assert len({same, *different}) == 1 + len(different)
    reworded = Preprocessing(PLAIN.mean, PLAIN.std, source="a paper")
    assert load_model(tiny(), preprocessing=reworded).identity == different[9]
    flipped.flip = True
    assert load_model(flipped).identity not in {same, *different}


def test_packed_weights_belong_to_the_identity():
    class Packed(Tiny):
        def get_extra_state(self):
            return (self.packed, None)

    def packed(place):
        module = Packed()
        module.load_state_dict(tiny().state_dict(), strict=False)
        module.packed = torch.zeros(5000)  # more than torch prints
        module.packed[place] = 1
        return module

    assert load_model(packed(2500)).identity == load_model(packed(2500)).identity
    assert load_model(packed(2500)).identity != load_model(packed(2501)).identity


def test_preprocessing_is_the_modules_own_where_it_has_one():
    used = load_model(configured()).preprocessing
    assert used == Preprocessing((0.1, 0.2, 0.3), (0.4, 0.5, 0.6), 16, "bicubic")
    assert "the module's pretrained_cfg" in str(used)
    module = tiny()
    module.preprocessing = {"mean": [0, 0, 0], "std": [1, 1, 1], "size": 9}
    assert load_model(module).preprocessing == Preprocessing((0, 0, 0), (1, 1, 1), 9)
    assert "(ImageNet's, since the module has none" in str(load_model(tiny()).preprocessing)
    assert load_model(configured(), preprocessing=PLAIN).preprocessing == PLAIN


def test_a_module_for_oblong_images_is_refused():
    module = tiny()
    module.default_cfg = {"mean": (0, 0, 0), "std": (1, 1, 1), "input_size": (3, 16, 24)}
    with pytest.raises(InputError, match=r"Tiny wants images of \(3, 16, 24\).*not square"):
        load_model(module)


@pytest.mark.parametrize("device", ["warp", "cuda:77", "meta"])
def test_a_device_that_is_not_here_is_refused(device):
    with pytest.raises(InputError, match=f"expected a device that torch has here.*got '{device}'"):
        load_model("torch:tests.models.tiny:tiny", device=device)


@pytest.mark.parametrize(
    ("built_for", "todo"),
    [(None, "install a torch that is built for CUDA"), ("13", "name another")],
)
def test_a_torch_without_cuda_is_said_to_be_one(built_for, todo, monkeypatch):
    monkeypatch.setattr(torch.version, "cuda", built_for)
    with pytest.raises(InputError, match=rf"got 'cuda:77' \(.*\); {todo}, or leave `device` out$"):
        load_model("torch:tests.models.tiny:tiny", device="cuda:77")


def test_a_module_that_is_lent_is_not_moved(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch_load, "find_device", lambda options: torch.device("meta"))
    with pytest.raises(InputError, match=r'Tiny lies on cpu.*on meta; move it.*module.to\("meta"'):
        load_model(tiny(), device="meta")


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:`torch.jit:FutureWarning")  # from torch 2.15 on
def test_a_scripted_module():
    model = load_model("torch:tests.models.tiny:scripted")
    assert model.logits(IMAGES).shape == (7, 2)
    other = torch.jit.script(torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(432, 2)))
    assert load_model(other).identity != model.identity


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda logits: logits.sum(), r"expected logits \(7, classes\).*got float32 \(\); wrap"),
        (lambda logits: logits[:, :0], r"got float32 \(7, 0\)"),
        (lambda logits: logits > 0, r"got bool \(7, 5\)"),
        (lambda logits: torch.complex(logits, logits), r"got complex64 \(7, 5\)"),
        (lambda logits: logits.to_sparse(), r"expected a dense tensor .*sparse_coo.*to_dense"),
        (lambda logits: logits.to("meta"), r"expected a dense tensor .*on meta"),
    ],
)
def test_outputs_that_are_no_logits(change, message):
    class Odd(Tiny):
        def forward(self, pixels):
            return change(super().forward(pixels))

    model = load_model(Odd())
    for images in (IMAGES, torch.tensor(IMAGES)):
        with pytest.raises(InputError, match=f"^Odd: .*{message}"):
            model.logits(images)


def test_the_same_classes_in_every_batch():
    class Growing(Tiny):
        def forward(self, pixels):
            return super().forward(pixels)[:, : len(pixels)]

    with pytest.raises(InputError, match=r"Growing: .*same classes in every batch, got 1 and 3"):
        load_model(Growing(), batch=3).logits(IMAGES)


@pytest.mark.parametrize("kind", [dict, SimpleNamespace])
def test_an_output_that_calls_its_logits_so_is_taken(kind):
    """Those of transformers are both: a dictionary whose keys are attributes."""

    class Wordy(Tiny):
        def forward(self, pixels):
            return kind(loss=None, logits=super().forward(pixels), hidden_states=())

    module = Wordy()
    module.load_state_dict(tiny().state_dict())
    np.testing.assert_array_equal(
        load_model(module).logits(IMAGES), load_model(tiny()).logits(IMAGES)
    )
    with load_model(module).from_pixels() as classify:
        assert classify(torch.rand(2, 3, 12, 12)).shape == (2, 5)


def test_an_output_whose_logits_are_none_is_refused():
    class Empty(Tiny):
        def forward(self, pixels):
            return {"logits": None}

    with pytest.raises(InputError, match=r"return a tensor of logits, or an output with .logits"):
        load_model(Empty()).logits(IMAGES)


def test_a_module_that_returns_no_tensor_is_refused():
    class Pair(Tiny):
        def forward(self, pixels):
            return (super().forward(pixels), None)

    with pytest.raises(InputError, match=r"Pair: expected the module to return a tensor.*tuple"):
        load_model(Pair()).logits(IMAGES)
    with pytest.raises(InputError, match=r"expected logits \(7, classes\).*float32 \(7, 3, 12, 12"):
        load_model(torch.nn.Identity()).logits(IMAGES)


def test_a_module_on_the_host_beside_a_gpu_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: "NVIDIA H200")
    (told,) = facts_of(load_model(tiny())).doubts
    assert "Tiny lies on cpu" in told
    assert "cuda:0 (NVIDIA H200)" in told
    assert facts_of(load_model(tiny(), device="cpu")).doubts == ()
