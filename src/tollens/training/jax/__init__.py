"""The watch of privatisers of JAX."""
