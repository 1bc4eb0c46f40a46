"""The local receiver of the product's own demo, which behaves like each robot, for tests."""

from pointsman.demo.robots import Robots, hmac_sha256, text_of

__all__ = ["Robots", "hmac_sha256", "text_of"]
