"""Two epochs under Lightning and under transformers' Trainer themselves: the curve is logged."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import hardy
from hardy.errors import InputError
from hardy.torch import Corrupt, CorruptedDataset
from tests.hooks.toys import (
    IMAGES,
    LABELS,
    MEAN,
    SAMPLED,
    STD,
    SUITE_SCORES,
    learnt_from,
    small_net,
)

# These libraries warn of one another, and of torch, which is no fault of ours.
pytestmark = pytest.mark.filterwarnings("default")
KEYS = {f"{name}{end}" for name in SUITE_SCORES for end in ("", "_low", "_high")}
MAIN = SUITE_SCORES[0]
WANTED: dict[str, Any] = {**SAMPLED, "mean": MEAN, "std": STD}


@pytest.fixture
def lightning(torchvision: None) -> Any:
    pytest.importorskip("lightning", reason="needs lightning: make test-extras")
    import lightning.pytorch

    return lightning.pytorch


@pytest.fixture
def transformers(torchvision: None) -> Any:
    pytest.importorskip("accelerate", reason="needs accelerate: make test-extras")
    return pytest.importorskip("transformers", reason="needs transformers")


def lit_net(lightning: Any) -> Any:
    class Lit(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.modes = small_net(), []

        def forward(self, pixels: torch.Tensor) -> torch.Tensor:
            return self.net(pixels)

        def training_step(self, batch: Any, number: int) -> torch.Tensor:
            self.modes.append(self.training and self.net[3].training)
            return torch.nn.functional.cross_entropy(self(batch[0]), batch[1])

        def validation_step(self, batch: Any, number: int) -> None:
            self.log("error", torch.tensor(1.0))

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), 0.1)

    return Lit()


def fit(lightning: Any, folder: Path, *callbacks: Any, epochs: int = 2, **options: Any) -> Any:
    lightning.seed_everything(3)
    trainer = lightning.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        callbacks=list(callbacks),
        logger=lightning.loggers.CSVLogger(folder),
        default_root_dir=folder,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )
    loader = DataLoader(learnt_from(), batch_size=40, shuffle=True)
    trainer.fit(lit_net(lightning), loader, DataLoader(learnt_from(), batch_size=200))
    return trainer


def test_lightning_logs_the_curve(lightning: Any, tmp_path: Path) -> None:
    from hardy.hooks import LightningRobustError

    best = lightning.callbacks.ModelCheckpoint(monitor=MAIN, save_on_train_epoch_end=True)
    trainer = fit(lightning, tmp_path, LightningRobustError(**WANTED), best)
    assert set(trainer.callback_metrics) >= KEYS
    with open(Path(trainer.log_dir) / "metrics.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row[MAIN]]
    assert [row["epoch"] for row in rows] == ["0", "1"], "not in the sanity check"
    stored = sorted(hardy.runs(Path(trainer.log_dir) / "hardy"), key=lambda run: run.model)
    assert [run.model for run in stored] == ["Lit epoch 001", "Lit epoch 002"]
    for run, row in zip(stored, rows, strict=True):
        score = run.score()["mean error"]
        logged = [float(row[f"{MAIN}{end}"]) for end in ("", "_low", "_high")]
        assert logged == pytest.approx([score.value, *score.interval], rel=1e-5)
    values = [float(row[MAIN]) for row in rows]
    assert values[0] != values[1]
    assert best.best_model_score == pytest.approx(min(values), rel=1e-5)
    assert Path(best.best_model_path).exists()


def test_lightning_trains_as_without_it(lightning: Any, tmp_path: Path) -> None:
    from hardy.hooks import LightningRobustError

    kept = tmp_path / "kept"
    seldom = LightningRobustError(**WANTED, every=2, store=kept, name="small")
    best = lightning.callbacks.ModelCheckpoint(
        monitor=MAIN, save_on_train_epoch_end=True, every_n_epochs=2
    )
    watched = fit(lightning, tmp_path / "a", seldom, best, epochs=3)
    alone = fit(lightning, tmp_path / "b", epochs=3)
    weights, plain = watched.lightning_module.state_dict(), alone.lightning_module.state_dict()
    assert all(torch.equal(weights[name], plain[name]) for name in plain)
    assert all(watched.lightning_module.modes)
    assert [run.model for run in hardy.runs(kept)] == ["small epoch 002"]
    assert best.best_model_path.endswith("epoch=1-step=20.ckpt")


def test_two_suites_are_told_apart(lightning: Any) -> None:
    from hardy.hooks import LightningRobustError

    other = {**WANTED, "suite": "cifar10_noc_23", "only": "noc_rain"}
    first, second = LightningRobustError(**WANTED), LightningRobustError(**other)
    assert first.state_key != second.state_key
    with pytest.raises(InputError, match="1 or more, got 0"):
        LightningRobustError(**WANTED, every=0)


class Pictures(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.pairs = learnt_from()

    def __len__(self) -> int:
        return len(self.pairs)

    def __getitem__(self, index: int) -> dict[str, Any]:
        pixels, label = self.pairs[index]
        return {"pixel_values": pixels, "labels": label}


def trained(transformers: Any, folder: Path, *, watched: bool = True, **options: Any) -> Any:
    from hardy.hooks import TrainerRobustError

    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=32,
        patch_size=16,
        num_labels=10,
    )
    transformers.set_seed(0)
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=2,
        per_device_train_batch_size=40,
        learning_rate=0.01,
        use_cpu=True,
        report_to="none",
        logging_strategy="epoch",
        eval_strategy="epoch",
        save_strategy="epoch",
        disable_tqdm=True,
        **options,
    )
    model = transformers.ViTForImageClassification(config)
    trainer = transformers.Trainer(
        model, arguments, train_dataset=Pictures(), eval_dataset=Pictures()
    )
    if watched:
        trainer.add_callback(TrainerRobustError(trainer, **WANTED))
    trainer.train()
    return trainer


def test_the_trainer_logs_the_curve(transformers: Any, tmp_path: Path) -> None:
    heard: list[dict[str, Any]] = []

    class Listener(transformers.TrainerCallback):
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **kw: Any) -> None:
            heard.append(dict(logs))

    best = {"metric_for_best_model": f"eval_{MAIN}", "greater_is_better": False}
    trainer = trained(transformers, tmp_path, load_best_model_at_end=True, **best)
    history = trainer.state.log_history
    curve = [row for row in history if MAIN in row]
    assert [(row["epoch"], row["step"]) for row in curve] == [(1, 10), (2, 20)]
    assert all(set(row) >= KEYS for row in curve)
    assert sum("loss" in row for row in history) == 2, "the trainer's own logs are not lost"
    assert sum("eval_loss" in row for row in history) == 2
    stored = sorted(hardy.runs(tmp_path / "hardy"), key=lambda run: run.model)
    assert [run.model[-9:] for run in stored] == ["epoch 001", "epoch 002"]
    for run, row in zip(stored, curve, strict=True):
        score = run.score()["mean error"]
        low, high = score.interval
        assert [row[MAIN], row[f"{MAIN}_low"], row[f"{MAIN}_high"]] == [score.value, low, high]
    assert trainer.state.best_metric == min(row[MAIN] for row in curve)
    trainer.add_callback(Listener)
    trainer.train()
    assert sum(MAIN in logs for logs in heard) == 2, "other callbacks, such as W&B's, hear of it"


def test_the_trainer_trains_as_without_it(transformers: Any, tmp_path: Path) -> None:
    watched = trained(transformers, tmp_path / "a").model.state_dict()
    alone = trained(transformers, tmp_path / "b", watched=False).model.state_dict()
    assert all(torch.equal(watched[name], alone[name]) for name in alone)


def test_it_needs_the_trainer(transformers: Any) -> None:
    from hardy.hooks import TrainerRobustError

    with pytest.raises(InputError, match=r"expected the Trainer .* got str"):
        TrainerRobustError("cifar10_c", **WANTED)


def noisy(**options: Any) -> CorruptedDataset:
    pixels = torch.from_numpy(IMAGES[:40]).permute(0, 3, 1, 2)
    pictures = TensorDataset(pixels, torch.from_numpy(LABELS[:40]))
    return CorruptedDataset(pictures, Corrupt("gaussian_noise", 1), **options)


def of_epoch(epoch: int) -> set[bytes]:
    data = noisy()
    data.set_epoch(epoch)
    return {picture.numpy().tobytes() for picture, _ in data}


@pytest.mark.parametrize("persistent", [False, True])
def test_images_follow_the_epochs_of_lightning(
    lightning: Any, tmp_path: Path, persistent: bool
) -> None:
    """As the page says: from one epoch to the next, and where a training resumes."""

    class Noisy(type(lit_net(lightning))):
        def __init__(self) -> None:
            super().__init__()
            self.data, self.seen = noisy(), {}

        def train_dataloader(self) -> Any:
            self.data.set_epoch(self.current_epoch)
            workers = {"num_workers": 2, "persistent_workers": persistent}
            loader = DataLoader(self.data, 5, multiprocessing_context="fork", **workers)
            return loader

        def on_train_epoch_start(self) -> None:
            self.data.set_epoch(self.current_epoch)

        def training_step(self, batch: Any, number: int) -> torch.Tensor:
            seen = {picture.cpu().numpy().tobytes() for picture in batch[0]}
            self.seen.setdefault(self.current_epoch, set()).update(seen)
            return super().training_step([batch[0] / 255, batch[1]], number)

    how = {
        "accelerator": "cpu",
        "logger": False,
        "enable_progress_bar": False,
        "enable_model_summary": False,
        "default_root_dir": tmp_path,
    }
    module = Noisy()
    trainer = lightning.Trainer(max_epochs=2, enable_checkpointing=False, **how)
    trainer.fit(module)
    assert module.seen == {epoch: of_epoch(epoch) for epoch in (0, 1)}
    trainer.save_checkpoint(tmp_path / "two.ckpt")
    module = Noisy()
    trainer = lightning.Trainer(max_epochs=4, enable_checkpointing=False, **how)
    trainer.fit(module, ckpt_path=tmp_path / "two.ckpt")
    assert module.seen == {epoch: of_epoch(epoch) for epoch in (2, 3)}


def test_images_follow_the_epochs_of_the_trainer(transformers: Any, tmp_path: Path) -> None:
    class Looking(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.seen = small_net(), []

        def forward(self, pixel_values: torch.Tensor, labels: torch.Tensor) -> dict[str, Any]:
            self.seen += [picture.numpy().tobytes() for picture in pixel_values]
            logits = self.net(pixel_values / 255)
            return {"loss": torch.nn.functional.cross_entropy(logits, labels), "logits": logits}

    model = Looking()
    arguments = transformers.TrainingArguments(
        output_dir=str(tmp_path),
        num_train_epochs=2,
        per_device_train_batch_size=5,
        use_cpu=True,
        report_to="none",
        save_strategy="no",
        disable_tqdm=True,
        dataloader_num_workers=2,
    )

    def together(items: list[Any]) -> dict[str, torch.Tensor]:
        pictures, labels = zip(*items, strict=True)
        return {"pixel_values": torch.stack(pictures), "labels": torch.stack(labels)}

    transformers.Trainer(model, arguments, train_dataset=noisy(), data_collator=together).train()
    assert [{*model.seen[:40]}, {*model.seen[40:]}] == [of_epoch(0), of_epoch(1)]
