"""Registers a trained model, and promotes it where it is blessed."""

from tfx_pipeline.registry_pusher.component import RegistryPusher

__all__ = ["RegistryPusher"]
