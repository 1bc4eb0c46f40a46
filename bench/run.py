#!/usr/bin/env python3
"""Measures what an OpenAI-compatible gateway costs: one table, one core for the gateway.

    run.py nginx litellm ...            gateways named in gateways.toml
    run.py --name ours --cmd 'uvicorn ...' --json-url http://127.0.0.1:8000/v1/chat/completions
    run.py --table                      the table of everything measured so far

The gateway's process tree is pinned to one core; the load and the mock upstreams share the other.
Processor time comes from /proc, so it barely depends on what else the machine does; wall-clock figures do.
Each measurement also runs the same load straight at the upstream, for the ratio.
"""

import argparse
import contextlib
import fcntl
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PARTS = ("json", "paced", "busy", "ttft", "burst")
JSON_PORTS, SSE_PORTS = (9001, 9011), (9002, 9012)
TICK = 1 / os.sysconf("SC_CLK_TCK")
NICE = int(os.environ.get("BENCH_NICE", "0"))  # below zero (root only): others on the machine disturb less
CORES = sorted(os.sched_getaffinity(0))
PLACES = {"here": str(HERE), "python": sys.executable, "peers": os.environ.get("BENCH_PEERS", "BENCH_PEERS-is-not-set")}

NGINX_UPSTREAM = """
daemon off; worker_processes 1; pid {tmp}/upstream.pid; error_log stderr error;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; default_type application/json;
  client_body_temp_path {tmp}/b; proxy_temp_path {tmp}/p; fastcgi_temp_path {tmp}/f; uwsgi_temp_path {tmp}/u; scgi_temp_path {tmp}/s;
  server {{
    {listen}
    location = /health {{ return 200 'ok'; }}
    location = /v1/models {{ return 200 '{{"object":"list","data":[{{"id":"gpt-4o-mini","object":"model","created":1735689600,"owned_by":"bench"}}]}}'; }}
    location / {{ return 200 '{body}'; }}
  }}
}}
"""


# ---- what processes cost -------------------------------------------------------------------------


def tree(pid):
    """The process and all its descendants."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry)] = int(Path(f"/proc/{entry}/stat").read_text().rsplit(")", 1)[1].split()[1])
    found, todo = [], [pid]
    while todo:
        one = todo.pop()
        found.append(one)
        todo += [child for child, parent in parents.items() if parent == one]
    return found


def cpu_seconds(pid):
    """(from each thread's schedstat, in ns steps; from stat, in ticks, with threads that have ended)."""
    fine = coarse = 0.0
    for one in tree(pid):
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
            coarse += (int(fields[11]) + int(fields[12])) * TICK
            for task in os.listdir(f"/proc/{one}/task"):
                with contextlib.suppress(OSError):
                    fine += int(Path(f"/proc/{one}/task/{task}/schedstat").read_text().split()[0]) / 1e9
    return fine, coarse


def cpu_between(a, b):
    fine, coarse = b[0] - a[0], b[1] - a[1]
    return coarse if coarse > fine * 1.03 + 0.03 else fine  # the ticks know about threads that ended


def memory_mb(pid, field):
    total = 0
    for one in tree(pid):
        with contextlib.suppress(OSError, AttributeError):
            total += int(re.search(rf"{field}:\s+(\d+)", Path(f"/proc/{one}/status").read_text())[1])
    return round(total / 1024, 1)


def machine_busy():
    """Seconds of processor time spent by anything on this machine, and stolen from it."""
    f = [int(x) * TICK for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return f[0] + f[1] + f[2] + f[5] + f[6], f[7]


# ---- starting things -----------------------------------------------------------------------------


def settle(core):
    os.sched_setaffinity(0, {core})
    if NICE:
        os.setpriority(os.PRIO_PROCESS, 0, NICE)


def spawn(cmd, core, env=None, log=None):
    out = open(log, "ab") if log else subprocess.DEVNULL
    return subprocess.Popen(
        cmd if isinstance(cmd, list) else shlex.split(cmd),
        stdout=out,
        stderr=out,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        cwd=HERE,
        env={**os.environ, **(env or {})},
        preexec_fn=lambda: settle(core),
    )


def stop(process):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(8)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_port(port, process, seconds=90):
    end = time.time() + seconds
    while time.time() < end:
        if process.poll() is not None:
            raise SystemExit(f"process for port {port} ended with {process.returncode}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.1)
    raise SystemExit(f"nothing listens on {port} after {seconds} s")


@contextlib.contextmanager
def upstreams(core, tmp):
    conf = tmp / "upstream.conf"
    body = (HERE / "completion.json").read_text().strip()
    conf.write_text(
        NGINX_UPSTREAM.format(
            tmp=tmp, body=body, listen="".join(f"listen 127.0.0.1:{p} backlog=1024; " for p in JSON_PORTS)
        )
    )
    started = [
        spawn(["nginx", "-c", str(conf), "-e", "stderr"], core),
        spawn([sys.executable, "sse_upstream.py", ",".join(map(str, SSE_PORTS)), "completion.json"], core),
    ]
    try:
        for ports, process in zip((JSON_PORTS, SSE_PORTS), started, strict=False):
            for port in ports:
                wait_port(port, process)
        yield started
    finally:
        for process in started:
            stop(process)


# ---- load ----------------------------------------------------------------------------------------


def request_body(model, stream=False, n=64, d=0):
    return json.dumps(
        {
            "model": model,
            **({"stream": True} if stream else {}),
            "messages": [
                {"role": "system", "content": "You are a helpful assistant. " * 12},
                {"role": "user", "content": f"Tell me something long. n={n} d={d}"},
            ],
        }
    )


def run_load(cmd, core, env=None):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        cmd,
        capture_output=True,
        text=True,
        cwd=HERE,
        timeout=150,
        env={**os.environ, **(env or {})},
        preexec_fn=lambda: settle(core),
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"{cmd[0]} said: {done.stdout[-500:]} {done.stderr[-1500:]}")
    return json.loads(lines[-1]), (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def wrk(url, c, seconds, core, model, headers):
    cmd = ["wrk", "-t1", f"-c{c}", f"-d{seconds}s", "--timeout", "30s", "-s", "post.lua"]
    for h in headers:
        cmd += ["-H", h]
    return run_load([*cmd, url], core, {"BENCH_BODY": request_body(model)})


def streams(url, c, n, d, seconds, core, model, headers):
    cmd = [
        sys.executable,
        "stream_client.py",
        url,
        "--model",
        model,
        "-c",
        str(c),
        "-n",
        str(n),
        "-d",
        str(d),
        "-s",
        str(seconds),
    ]
    for h in headers:
        cmd += ["--header", h]
    return run_load(cmd, core)


class Meter:
    """Runs one load and says what it cost the gateway, and how much of the machine others took meanwhile."""

    def __init__(self, gateway, ups):
        self.gateway, self.ups = gateway, ups

    def __call__(self, load, *args):
        own = [self.gateway, *self.ups]
        busy0, cpu0, t0 = machine_busy(), [cpu_seconds(p.pid) for p in own], time.time()
        figures, load_cpu = load(*args)
        busy1, cpu1, t1 = machine_busy(), [cpu_seconds(p.pid) for p in own], time.time()
        spent = [cpu_between(a, b) for a, b in zip(cpu0, cpu1, strict=False)]
        wall = t1 - t0
        figures["gateway_cpu_s"] = round(spent[0], 4)
        figures["gateway_load"] = round(spent[0] / wall, 3)
        figures["foreign"] = round(max(0, busy1[0] - busy0[0] - sum(spent) - load_cpu) / wall, 3)
        figures["steal"] = round((busy1[1] - busy0[1]) / wall, 3)
        return figures


class Lock:
    """A file lock held over several measurements, but given up between gateways once it was held for long."""

    def __init__(self, path, most):
        self.path, self.most, self.file = path, most, None

    def take(self):
        if self.path and not self.file:
            file = open(self.path, "a")
            fcntl.flock(file, fcntl.LOCK_EX)
            self.file, self.since = file, time.time()

    def between(self):
        if self.file and time.time() - self.since > self.most:
            self.file.close()
            self.file = None
            time.sleep(1)


def check(url, model, headers, stream):
    """One request by hand: the right status and the right words must come back."""
    request = urllib.request.Request(
        url,
        request_body(model, stream, 16, 1).encode(),
        {"content-type": "application/json", **dict(h.split(": ", 1) for h in headers)},
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as r:
            text = r.read().decode()
    except urllib.error.HTTPError as e:
        return f"{e.code} {e.read()[:800]}"
    good = text.count("data: ") >= 16 and "[DONE]" in text if stream else "microseconds of processor time" in text
    return None if good else f"unexpected answer: {text[:800]}"


# ---- one gateway ---------------------------------------------------------------------------------


def measure(name, gw, opt):
    tmp = Path(tempfile.mkdtemp(prefix="bench-"))
    tmp.chmod(0o755)
    gcore, lcore = CORES[0], CORES[-1]
    seconds, log = opt.seconds, tmp / f"{name}.log"
    places = {**PLACES, "tmp": str(tmp)}

    def fill(text):
        return re.sub(r"\{(\w+)\}", lambda m: places.get(m[1], m[0]), text)

    headers = [fill(h) for h in gw.get("headers", [])]
    sse_headers = [fill(h) for h in gw.get("sse_headers", gw.get("headers", []))]
    jmodel, smodel = gw.get("json_model", "bench-json"), gw.get("sse_model", "bench-sse")
    out = {"name": name, "note": gw.get("note", ""), "seconds": seconds}
    direct_json = f"http://127.0.0.1:{JSON_PORTS[0]}/v1/chat/completions"
    direct_sse = f"http://127.0.0.1:{SSE_PORTS[0]}/v1/chat/completions"
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, tmp, ignore_errors=True)
        ups = stack.enter_context(upstreams(lcore, tmp))
        for side in gw.get("before", []):
            stack.callback(stop, spawn(fill(side), lcore))
            time.sleep(1)
        gateway = spawn(fill(gw["cmd"]), gcore, {k: fill(v) for k, v in gw.get("env", {}).items()}, log)
        stack.callback(stop, gateway)
        if gw.get("url_from_log"):  # a gateway that picks its port itself says it there
            for _ in range(600):
                found = re.search(gw["url_from_log"], log.read_text(errors="replace"))
                if found:
                    break
                time.sleep(0.1)
            gw = {
                **gw,
                "json_url": gw["json_url"].replace("{url}", found[1]),
                "sse_url": gw["sse_url"].replace("{url}", found[1]),
            }
        json_url, sse_url = gw["json_url"], gw.get("sse_url", gw["json_url"])
        for url in {json_url, sse_url}:
            wait_port(int(url.split(":")[2].split("/")[0]), gateway)
        for _attempt in range(60):
            wrong = check(json_url, jmodel, headers, False) or check(sse_url, smodel, sse_headers, True)
            if not wrong:
                break
            time.sleep(1)
        if wrong:
            print(log.read_text(errors="replace")[-3000:], file=sys.stderr)
            raise SystemExit(f"{name}: {wrong}")
        if opt.check:
            return None
        out["rss_idle_mb"] = memory_mb(gateway.pid, "VmRSS")
        meter = Meter(gateway, ups)

        opt.lock.take()
        wrk(json_url, 32, 2, lcore, jmodel, headers)  # warm up: caches, pools, compiled regexes
        streams(sse_url, 8, 64, 0, 2, lcore, smodel, sse_headers)
        time.sleep(0.3)
        out["idle_load"] = meter(lambda: (time.sleep(1), ({}, 0))[1])["gateway_load"]
        for c in (1, 32, 128) if "json" in opt.parts else ():
            base = meter(wrk, direct_json, c, 2, lcore, jmodel, headers)
            row = meter(wrk, json_url, c, seconds, lcore, jmodel, headers)
            row["rps"] = round(row["requests"] / row["seconds"], 1)
            row["cpu_us"] = round(row["gateway_cpu_s"] / max(1, row["requests"]) * 1e6, 1)
            row["direct_rps"] = round(base["requests"] / base["seconds"], 1)
            row["direct_p50_us"], row["direct_p99_us"] = base["p50_us"], base["p99_us"]
            out[f"json_c{c}"] = row
        # paced streams: an event each 5 ms; the slope over the length is the price of an event
        for part, c in (("paced", 8), ("busy", 32)):
            if part not in opt.parts:
                continue
            short = meter(streams, sse_url, c, 4, 5, seconds, lcore, smodel, sse_headers)
            long = meter(streams, sse_url, c, 64, 5, seconds + 1, lcore, smodel, sse_headers)
            for row in (short, long):
                row["cpu_us_stream"] = round(row["gateway_cpu_s"] / max(1, row["streams"]) * 1e6, 1)
                row["cpu_us_event"] = round(row["gateway_cpu_s"] / max(1, row["events"]) * 1e6, 2)
                row["reads_per_event"] = round(row["reads"] / max(1, row["events"]), 3)
            out[f"{part}_short"], out[f"{part}_long"] = short, long
            if short["streams"] and long["streams"]:
                per = (long["events"] / long["streams"]) - (short["events"] / short["streams"])
                out[f"{part}_us_event"] = round((long["cpu_us_stream"] - short["cpu_us_stream"]) / per, 2)
                out[f"{part}_us_start"] = round(
                    short["cpu_us_stream"] - out[f"{part}_us_event"] * short["events"] / short["streams"], 1
                )
        # one stream at a time: when does the first event come, against the same straight from the upstream
        if "ttft" in opt.parts:
            base = meter(streams, direct_sse, 1, 4, 5, 2, lcore, smodel, sse_headers)
            row = meter(streams, sse_url, 1, 4, 5, 3, lcore, smodel, sse_headers)
            row["direct_ttft_p50_us"], row["direct_ttft_p99_us"] = base["ttft_p50_us"], base["ttft_p99_us"]
            row["direct_total_p50_us"] = base["total_p50_us"]
            out["stream_c1"] = row
        # bursts: no pause between events, 16 streams
        if "burst" in opt.parts:
            base = meter(streams, direct_sse, 16, 64, 0, 2, lcore, smodel, sse_headers)
            row = meter(streams, sse_url, 16, 64, 0, seconds, lcore, smodel, sse_headers)
            row["events_per_s"] = round(row["events"] / row["wall_s"])
            row["direct_events_per_s"] = round(base["events"] / base["wall_s"])
            row["cpu_us_event"] = round(row["gateway_cpu_s"] / max(1, row["events"]) * 1e6, 2)
            row["reads_per_event"] = round(row["reads"] / max(1, row["events"]), 3)
            out["burst"] = row
        out["rss_peak_mb"] = memory_mb(gateway.pid, "VmHWM")
    return out


# ---- the table -----------------------------------------------------------------------------------

COLUMNS = [
    ("gateway", lambda r: r["name"]),
    ("CPU µs/req c1", lambda r: f"{r['json_c1']['cpu_us']:.0f}"),
    ("c32", lambda r: f"{r['json_c32']['cpu_us']:.0f}"),
    ("c128", lambda r: f"{r['json_c128']['cpu_us']:.0f}"),
    ("req/s c1", lambda r: f"{r['json_c1']['rps']:.0f}"),
    ("c32 ", lambda r: f"{r['json_c32']['rps']:.0f}"),
    ("c128 ", lambda r: f"{r['json_c128']['rps']:.0f}"),
    ("+p50 µs c1", lambda r: f"{r['json_c1']['p50_us'] - r['json_c1']['direct_p50_us']:.0f}"),
    ("p99 ms c1", lambda r: f"{r['json_c1']['p99_us'] / 1e3:.2f}"),
    ("p50/p99 ms c32", lambda r: f"{r['json_c32']['p50_us'] / 1e3:.1f}/{r['json_c32']['p99_us'] / 1e3:.1f}"),
    ("p50/p99 ms c128", lambda r: f"{r['json_c128']['p50_us'] / 1e3:.1f}/{r['json_c128']['p99_us'] / 1e3:.1f}"),
    ("stream start CPU µs", lambda r: f"{r['paced_us_start']:.0f}"),
    ("CPU µs/event paced", lambda r: f"{r['paced_us_event']:.1f}"),
    ("busy", lambda r: f"{r['busy_us_event']:.1f}" if "busy_us_event" in r else "-"),
    ("burst", lambda r: f"{r['burst']['cpu_us_event']:.1f}"),
    ("burst events/s", lambda r: f"{r['burst']['events_per_s']}"),
    ("+TTFT µs p50", lambda r: f"{r['stream_c1']['ttft_p50_us'] - r['stream_c1']['direct_ttft_p50_us']:.0f}"),
    ("+whole ms", lambda r: f"{(r['stream_c1']['total_p50_us'] - r['stream_c1']['direct_total_p50_us']) / 1e3:.1f}"),
    ("RSS MB idle/peak", lambda r: f"{r['rss_idle_mb']:.0f}/{r['rss_peak_mb']:.0f}"),
    (
        "errors",
        lambda r: str(
            sum(
                r[k].get("bad_status", 0) + r[k].get("bad_socket", 0) + r[k].get("errors", 0)
                for k in ("json_c1", "json_c32", "json_c128", "paced_short", "paced_long", "stream_c1", "burst")
            )
        ),
    ),
    (
        "foreign",
        lambda r: f"{max(r[k]['foreign'] for k in ('json_c1', 'json_c32', 'json_c128', 'paced_long', 'burst')):.2f}",
    ),
]


def table(rows):
    lines = [[title.strip() for title, _ in COLUMNS]] + [[get(r) for _, get in COLUMNS] for r in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    for i, line in enumerate(lines):
        print(
            "| "
            + " | ".join(
                x.ljust(w) if not j else x.rjust(w) for j, (x, w) in enumerate(zip(line, widths, strict=False))
            )
            + " |"
        )
        if not i:
            print("|" + "|".join("-" * (w + 1) + ("-" if not j else ":") for j, w in enumerate(widths)) + "|")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help="entries of gateways.toml")
    p.add_argument("--table", action="store_true", help="only print what has been measured")
    p.add_argument("--name", default="gateway", help="with --cmd: what to call it")
    p.add_argument("--cmd", help="start command; {here}, {python}, {peers}, {tmp} are filled in")
    p.add_argument("--json-url", help="chat-completions URL for the plain requests")
    p.add_argument("--sse-url", help="chat-completions URL for the streams, if another")
    p.add_argument("--json-model", default="bench-json", help="model group whose deployments are ports 9001 and 9011")
    p.add_argument("--sse-model", default="bench-sse", help="model group whose deployments are ports 9002 and 9012")
    p.add_argument("--header", action="append", default=[], help="'Name: value', may be repeated")
    p.add_argument("--env", action="append", default=[], help="NAME=VALUE for the gateway")
    p.add_argument("--seconds", type=int, default=4, help="length of one measurement")
    p.add_argument("--parts", default=",".join(PARTS), help="only these, the rest as measured before")
    p.add_argument("--check", action="store_true", help="only see whether the gateway answers")
    p.add_argument(
        "--lock", default=os.environ.get("BENCH_LOCK"), help="file to flock while measuring; default $BENCH_LOCK"
    )
    p.add_argument(
        "--hold", type=int, default=100, help="seconds after which the lock is given up before the next gateway"
    )
    opt = p.parse_args()
    opt.lock, opt.parts = Lock(opt.lock, opt.hold), opt.parts.split(",")
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what was started is ended too
    RESULTS.mkdir(exist_ok=True)
    known = tomllib.loads((HERE / "gateways.toml").read_text())
    if opt.cmd:
        known = {
            opt.name: {
                "cmd": opt.cmd,
                "json_url": opt.json_url,
                "sse_url": opt.sse_url or opt.json_url,
                "json_model": opt.json_model,
                "sse_model": opt.sse_model,
                "headers": opt.header,
                "env": dict(e.split("=", 1) for e in opt.env),
            }
        }
        opt.names = [opt.name]
    rows = []
    if opt.table:
        files = {f.stem: f for f in RESULTS.glob("*.json")}
        rows = [
            json.loads(files[n].read_text())
            for n in (opt.names or list(known) + sorted(set(files) - set(known)))
            if n in files
        ]
    else:
        for name in opt.names:
            opt.lock.between()
            try:
                row = measure(name, known[name], opt)
            except (SystemExit, OSError, subprocess.TimeoutExpired) as why:
                print(f"{name}: {why}", file=sys.stderr)
                continue
            if opt.check:
                print(f"{name}: answers")
                continue
            before = RESULTS / f"{name}.json"
            if len(opt.parts) < len(PARTS) and before.exists():
                old = json.loads(before.read_text())
                row = {**old, **row, "rss_peak_mb": max(old["rss_peak_mb"], row["rss_peak_mb"])}
            rows.append(row)
            (RESULTS / f"{name}.json").write_text(json.dumps(rows[-1], indent=1) + "\n")
            print(f"{name}: done", file=sys.stderr)
    if rows:
        table(rows)


if __name__ == "__main__":
    main()
