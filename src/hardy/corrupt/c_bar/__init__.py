"""The corruptions of ImageNet-C-bar: noises made of waves, drawn shapes, distortions."""
