"""The demo's scripted upstream, for tests."""

from pointsman.demo.scripted import BEHAVIOURS, ScriptedUpstream

__all__ = ["BEHAVIOURS", "ScriptedUpstream"]
