"""`python -m bench.scale`: what ImageNet-C costs on 1 to 1,024 GPUs, on paper, and where more of
them stop to help.

The constants are those that `bench.gpu` and `bench.build` measured, read from their results. One
GPU takes one block of images after the other: it corrupts a block once, and shows it to all models
of a group. Whole blocks go to GPUs, and nothing is shared within one.

What comes and goes is not on paper: `bench.crowd` tells how busy a thousand workers are kept. Its
results are written to scale.json.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from statistics import mean

from bench.cpu import RESULTS, commit, machine
from bench.crowd import Story, World, describe, tell
from bench.table import grid
from hardy.progress import in_time
from hardy.run.memory_room import MOST
from hardy.run.plan import BYTES_PER_PREDICTION
from hardy.run.subject import MOST_ON_DEVICE, PIXELS_ON_DEVICE
from hardy.suites import load

IMAGES, SIDE, CELLS = 50_000, 224, 75  # of ImageNet-C; the clean images are one cell more
BLOCK = min(MOST_ON_DEVICE, PIXELS_ON_DEVICE // SIDE**2)
BLOCKS = ceil(IMAGES / BLOCK)
BYTES_PER_PHOTO = 6_744_924_160 / IMAGES  # of the archive of ImageNet's validation photographs
GPUS = (1, 8, 64, 1024)
MANY = 1000  # models
SIMULATED = (49_000, 49_000, 49_000, 490_000)  # blocks


@dataclass(frozen=True)
class Costs:
    """Seconds, measured on one H200 with 16 cores, and on one core for what a CPU does."""

    decode: float  # a photograph: read, resized, cropped; of one core
    corrupt: float  # one image under one cell, stored as JPEG and back
    forward: float  # one prediction of ResNet-50
    rest: float  # of one image under all cells: hashed, answers reduced and stored
    once: float  # of a model's run: its checks, pictures of its worst mistakes
    start: float  # of a worker: kernels and the model are compiled

    def block(self, models: int, groups: int = 1) -> float:
        """Seconds of a GPU for one block and so many models, to each group of which it is shown
        anew."""
        each = (CELLS + 1) * self.forward + self.rest
        return BLOCK * (groups * CELLS * self.corrupt + models * each)

    def cores(self, models: int) -> float:
        """Cores that decode as fast as one GPU takes images."""
        return BLOCK * self.decode / self.block(models)


def measured() -> Costs:
    """The constants, from bench/results/gpu.json and build.json."""
    gpu, build = (json.loads((RESULTS / f"{name}.json").read_text()) for name in ("gpu", "build"))
    few, all_images = gpu["evaluation"]
    forward = mean(all_images["forward"]) / (IMAGES * (CELLS + 1))
    rates = gpu["cells"][str(SIDE)]["cells"]
    counted = load("imagenet_c").counted
    corrupt = mean(1 / rate for name in counted for rate in rates[name]["stored"])
    slope = (all_images["on"] - few["on"]) / (all_images["images"] - few["images"])
    return Costs(
        decode=build["steps_ms"]["decode, resize, crop"] / 1000,
        corrupt=corrupt,
        forward=forward,
        rest=slope - (CELLS + 1) * forward - CELLS * corrupt,
        once=all_images["on"] - slope * all_images["images"],
        start=all_images["warm_up"],
    )


@dataclass(frozen=True)
class Plan:
    """So many models on so many GPUs: the list of models in so many parts, each of which has its
    share of the GPUs and is done in groups."""

    costs: Costs
    models: int
    gpus: int
    parts: int

    @property
    def part(self) -> int:
        """Models of the largest part."""
        return ceil(self.models / self.parts)

    @property
    def group(self) -> int:
        return min(MOST, self.part)

    @property
    def groups(self) -> int:
        """How many there are of each part, one after the other."""
        return ceil(self.part / self.group)

    @property
    def seconds(self) -> float:
        """The time until the last worker ends; what is done once for a model is done by the process
        that one has started."""
        turns = ceil(BLOCKS / (self.gpus // self.parts))
        work = turns * self.costs.block(self.part, self.groups)
        return self.costs.start + self.costs.once * self.part + work

    @property
    def busy(self) -> float:
        """The share of the GPUs' time in which they show images to models."""
        work = BLOCKS * self.costs.block(self.models, self.parts * self.groups)
        return work / (self.gpus * self.seconds)

    @property
    def predictions(self) -> float:
        """Their number per second."""
        return self.models * IMAGES * (CELLS + 1) / self.seconds

    @property
    def blocks(self) -> float:
        """The number that workers ask for per second."""
        return self.parts * self.groups * BLOCKS / self.seconds


def best_plan(costs: Costs, models: int, gpus: int) -> Plan:
    """The plan that ends first, by the number of parts that the list of models is cut into."""
    plans = [Plan(costs, models, gpus, parts) for parts in range(1, min(models, gpus) + 1)]
    return min(plans, key=lambda plan: (round(plan.seconds, 3), plan.parts))


def rows(costs: Costs, models: int) -> list[list[str]]:
    found = []
    for gpus in GPUS:
        plan = best_plan(costs, models, gpus)
        photos = plan.blocks * BLOCK * BYTES_PER_PHOTO
        found.append(
            [
                f"{gpus:,}",
                f"{plan.parts:,}",
                in_time(plan.seconds) if plan.seconds > 600 else f"{plan.seconds:.0f} s",
                f"{plan.busy:.0%}",
                f"{plan.predictions / 1e6:,.2f}",
                f"{plan.blocks:,.2f}",
                f"{photos / 1e9:,.2f}",
                f"{plan.predictions * BYTES_PER_PREDICTION / 1e9:,.2f}",
                f"{costs.cores(plan.group):,.2f}",
            ]
        )
    return found


HEAD = (
    "GPUs",
    "lists",
    "time",
    "busy",
    "M predictions/s",
    "blocks/s",
    "GB/s read",
    "GB/s written",
    "cores per GPU",
)


def page(costs: Costs, stories: Sequence[Story], circumstances: str) -> str:
    per_image = 1000 * costs.block(1) / BLOCK
    figures = [
        ["decode, resize and crop it, on one core", f"{1000 * costs.decode:.2f} ms", "build.md"],
        ["corrupt it, 75 cells, as JPEG", f"{1000 * CELLS * costs.corrupt:.3f} ms", "gpu.md"],
        ["predict 76 times", f"{1000 * (CELLS + 1) * costs.forward:.2f} ms", "gpu.md"],
        ["hash it, reduce and store the answers", f"{1000 * costs.rest:.3f} ms", "gpu.md"],
        ["once for a model: checks, worst images", f"{costs.once:.1f} s", "gpu.md"],
        ["once for a process: compile all", f"{costs.start:.0f} s", "gpu.md"],
    ]
    return "\n".join(
        [
            "# What ImageNet-C costs on many GPUs",
            "",
            "Computed by `python -m bench.scale` from what was measured on one H200 with 16 cores "
            "([gpu.md](gpu.md)) and, for decoding, on one core of another machine "
            "([build.md](build.md)). **Nothing on this page was run on more than one GPU.** What "
            "is done once and what is done for each image are told apart by the evaluations of "
            "8,192 and of 50,000 images.",
            "",
            grid(["for one image and ResNet-50 in bfloat16", "time", "from"], figures),
            "",
            f"A GPU takes {BLOCK:,} images as one block, so ImageNet's 50,000 are {BLOCKS} blocks. "
            f"One image costs {per_image:.2f} ms of a GPU for one model, and "
            f"{1000 * costs.block(256) / BLOCK / 256:.2f} ms for each of 256 that see it together. "
            f"A prediction takes {BYTES_PER_PREDICTION} bytes of the store, a photograph "
            f"{BYTES_PER_PHOTO / 1000:.0f} kB.",
            "",
            "Lists: how many parts the list of models is best cut into, each the work of one "
            "command that has its share of the GPUs. Busy: the share of the GPUs' time in which "
            "they work on images. Cores per GPU: those that decode as fast as the GPU takes "
            "images.",
            "",
            "## One model",
            "",
            grid(HEAD, rows(costs, 1)),
            "",
            f"## {MANY:,} models",
            "",
            grid(HEAD, rows(costs, MANY)),
            "",
            "## Where it stops, and why",
            "",
            *stops(costs),
            "",
            "## A thousand workers of whom some fail",
            "",
            *describe(stories),
            "",
            circumstances,
            "",
        ]
    )


def stops(costs: Costs) -> list[str]:
    each = Plan(costs, MANY, 1024, MANY)
    every = MANY * IMAGES * (CELLS + 1) * BYTES_PER_PREDICTION
    return [
        f"* **Blocks.** One model has {BLOCKS}, so the GPU number {BLOCKS + 1} has nothing to do. "
        f"Before that, the start weighs: on {BLOCKS} GPUs {costs.block(1):.1f} s of work follow "
        f"{costs.start + costs.once:.0f} s of beginning.",
        "* **Turns.** Whole blocks go to GPUs: 25 GPUs take two turns, as 48 do.",
        f"* **What is done once for a model**, {costs.once:.1f} s, is done by the one process that "
        f"was started: {MANY:,} models take {in_time(MANY * costs.once)} there, however many GPUs "
        "there are. So a long list is cut into several commands as soon as there are several GPUs.",
        f"* **Making images** is {CELLS * costs.corrupt * BLOCK / costs.block(1):.0%} of the work "
        "for one model on a GPU. Showing them to more models at once saves no more than that: on a "
        "GPU, groups spare commands and reading; on a CPU, where making an image may take longer "
        "than showing it, they save that time.",
        f"* **Decoding** takes {costs.cores(1):.1f} cores for each GPU with one model at a time, "
        f"and {costs.cores(8):.2f} with 8. Machines with 8 GPUs have more.",
        f"* **The store.** {MANY:,} models make {every / 1e9:,.0f} GB, at most "
        f"{each.predictions * BYTES_PER_PREDICTION / 1e9:.1f} GB/s on 1,024 GPUs, in parts of "
        f"{BLOCK * (CELLS + 1) * BYTES_PER_PREDICTION / 1e6:.1f} MB. One object store takes that; "
        "one disk on a network does not.",
        f"* **Reading.** Each model of a group of its own reads all photographs: "
        f"{each.blocks * BLOCK * BYTES_PER_PHOTO / 1e9:.1f} GB/s on 1,024 GPUs. Keep them on each "
        "machine's own disk, 7 GB, or let 8 models see them together.",
        f"* **Whoever hands out blocks** gives {each.blocks:.0f} a second at most in these tables, "
        "over all commands.",
    ]


def read_stories() -> tuple[list[Story], str]:
    """What was simulated, and on what."""
    kept = json.loads((RESULTS / "scale.json").read_text())
    return [Story(**story) for story in kept["stories"]], kept["circumstances"]


def main() -> int:
    stories = [asdict(tell(World(), blocks, seed)) for seed, blocks in enumerate(SIMULATED, 1)]
    there = machine()
    circumstances = f"Simulated on: {there['cpu']}, {there['cores']} cores. Commit {commit()}."
    kept = {"circumstances": circumstances, "stories": stories}
    (RESULTS / "scale.json").write_text(json.dumps(kept, indent=1) + "\n")
    text = page(measured(), *read_stories())
    print(text)
    (RESULTS / "scale.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
