"""The watch of training with Opacus."""
