"""The settings in force, as told: no secret, and a hash that moves with every value."""

import json
from typing import Any

import yaml

from pointsman.reload import FIXED, hash_of, masked
from pointsman.settings import Settings, parse


def settings(**more: Any) -> Settings:
    key = more.pop("key", "sk-secret-1")
    models = {"a": {"endpoints": [{"base_url": "http://x/v1", "model": "m", "api_key": key}]}}
    whole = {"models": models, "routes": {"chat": {"candidates": [{"model": "a"}]}}, **more}
    return parse(json.dumps(whole), {})


def test_no_secret_is_told_and_the_rest_is_yaml_with_every_default() -> None:
    text = masked(settings(redis_url="redis://:pw@host/0"))
    assert "sk-secret" not in text and "pw@" not in text
    told = yaml.safe_load(text)
    assert told["models"]["a"]["endpoints"][0]["api_key"] == "***"
    assert told["drain_s"] == 30.0
    assert set(told) == set(Settings.model_fields)


def test_the_hash_moves_with_any_value_also_a_secrets_and_with_nothing_else() -> None:
    assert hash_of(settings()) == hash_of(settings())
    assert hash_of(settings()) != hash_of(settings(key="sk-secret-2"))
    assert hash_of(settings()) != hash_of(settings(drain_s=31))


def test_what_only_a_restart_takes_is_a_setting() -> None:
    assert set(FIXED) <= set(Settings.model_fields)
