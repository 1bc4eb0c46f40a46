"""TensorZero's HTTP gateway as it comes inside its Python package; it picks its port itself and says it here."""

import sys
import threading

import tensorzero.tensorzero as native

gateway = native._start_http_gateway(
    config_file=sys.argv[1], clickhouse_url=None, postgres_url=None, valkey_url=None, async_setup=False
)
print("listening on", gateway.base_url, flush=True)
threading.Event().wait()
