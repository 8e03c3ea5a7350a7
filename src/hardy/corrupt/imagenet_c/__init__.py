"""The nineteen corruptions of ImageNet-C, by the benchmark's four categories."""
