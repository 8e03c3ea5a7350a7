"""The 23 corruptions of ImageNet-NOC: every image draws a strength of its own."""
