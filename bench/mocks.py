"""The mock models that every gateway is measured in front of: nginx for a plain kilobyte, a script for everything else.

Ports 9001 and 9011 answer bench/completion.json whatever is asked. Ports 9002 and 9012 do what the prompt says:
`n=64 d=5` streams 64 deltas 5 ms apart, `kb=16` answers whole with 16 KB of prose, `as=json` with a JSON document.
"""

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.processes import HERE, LOAD_CORE, spawn, stop, wait_port

PLAIN_PORTS, ASKED_PORTS = (9001, 9011), (9002, 9012)
NGINX = """
daemon off; worker_processes 1; pid {tmp}/mock.pid; error_log stderr error;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; default_type application/json;
  client_body_temp_path {tmp}/b; proxy_temp_path {tmp}/p; fastcgi_temp_path {tmp}/f;
  uwsgi_temp_path {tmp}/u; scgi_temp_path {tmp}/s;
  server {{
    {listen}
    location = /health {{ return 200 'ok'; }}
    location = /v1/models {{
      return 200 '{{"object":"list","data":[{{"id":"gpt-4o-mini","object":"model","created":1,"owned_by":"bench"}}]}}';
    }}
    location / {{ return 200 '{body}'; }}
  }}
}}
"""


@contextlib.contextmanager
def mock_models(tmp: Path) -> Iterator[list[int]]:
    """Run both for the time of the block; yields their process ids."""
    conf = tmp / "mock.conf"
    body = (HERE / "completion.json").read_text().strip()
    listen = " ".join(f"listen 127.0.0.1:{port} backlog=1024;" for port in PLAIN_PORTS)
    conf.write_text(NGINX.format(tmp=tmp, body=body, listen=listen))
    with contextlib.ExitStack() as stack:
        started = []
        for command, ports in (
            (["nginx", "-c", str(conf), "-e", "stderr"], PLAIN_PORTS),
            ([sys.executable, "sse_upstream.py", ",".join(map(str, ASKED_PORTS)), "completion.json"], ASKED_PORTS),
        ):
            process = spawn(command, LOAD_CORE)
            stack.callback(stop, process)
            for port in ports:
                wait_port(port, process)
            started.append(process.pid)
        yield started
