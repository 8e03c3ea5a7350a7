"""Folders of Hugging Face's hub that are spoilt, each in one way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file


def edit(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def pickle_weights(folder: Path) -> None:
    """Weights as they were saved before safetensors."""
    weights = folder / "model.safetensors"
    torch.save(load_file(weights), folder / "pytorch_model.bin")
    weights.unlink()


def leave_out_weights(folder: Path, of: str) -> None:
    weights = folder / "model.safetensors"
    kept = {name: part for name, part in load_file(weights).items() if of not in name}
    save_file(kept, weights, {"format": "pt"})


def spoil(folder: Path, what: str) -> None:
    weights, config = folder / "model.safetensors", folder / "config.json"
    processor, tokenizer = folder / "preprocessor_config.json", folder / "tokenizer.json"
    match what:
        case "no weights":
            weights.unlink()
        case "cut weights":
            weights.write_bytes(weights.read_bytes()[:-100])
        case "no text tower":
            leave_out_weights(folder, of="text_model")
        case "no config":
            config.unlink()
        case "damaged config":
            config.write_text("{")
        case "a list":
            config.write_text("[]")
        case "another kind":
            edit(config, model_type="bert")
        case "another head":
            edit(config, id2label={str(n): str(n) for n in range(7)})
        case "timm's":
            config.write_text('{"architecture": "resnet18"}')
        case "code":
            edit(config, auto_map={"AutoModel": "evil.Net"})
        case "no processor":
            processor.unlink()
        case "damaged processor":
            processor.write_text("{")
        case "an unknown processor":
            edit(processor, image_processor_type="Nobodys")
        case "a size of nothing":
            edit(processor, size={"breadth": 3})
        case "oblong":
            edit(processor, size={"height": 32, "width": 48})
        case "no tokenizer":
            tokenizer.unlink()
        case "damaged tokenizer":
            tokenizer.write_text("{")
