"""Pages that need no login and no script: what a link in a chat message opens at night, on a telephone.

Their only style stands in the page and is named by its hash in the policy, so that nothing else can be slipped in.
"""

import base64
import hashlib
from html import escape

from starlette.responses import HTMLResponse

STYLE = """
:root{color-scheme:light dark}
body{font:17px/1.6 system-ui,"PingFang SC","Microsoft YaHei",sans-serif;margin:0 auto;max-width:44rem;padding:1.2rem}
h1{font-size:1.4rem;line-height:1.3}h2{font-size:1.15rem;margin-top:1.8rem}
code,pre{font-family:ui-monospace,Menlo,Consolas,monospace;font-size:.92em}
pre{overflow:auto;padding:.8rem;border:1px solid #8886;border-radius:.4rem}
table{border-collapse:collapse;display:block;overflow:auto}th,td{border:1px solid #8886;padding:.3rem .6rem;text-align:left}
input,button{font:inherit;padding:.7rem 1rem;border-radius:.4rem;border:1px solid #8888;width:100%;box-sizing:border-box}
button{background:#0b62c4;color:#fff;border:0;margin-top:.8rem;font-weight:600}
dl{display:grid;grid-template-columns:auto 1fr;gap:.2rem 1rem}dt{opacity:.7}dd{margin:0}
""".strip()
_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"


def page(title: str, body: str, language: str, status: int = 200) -> HTMLResponse:
    """`body` is HTML, escaped where it needs to be; `title` is text."""
    html = (
        f'<!doctype html><html lang="{"zh-CN" if language == "zh" else "en"}"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><meta name="robots" content="noindex">'
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>{body}</body></html>"
    )
    headers = {"content-security-policy": POLICY, "referrer-policy": "no-referrer", "cache-control": "no-store"}
    return HTMLResponse(html, status, headers)


def language_of(asked: str, accepts: str) -> str:
    """`zh` or `en`: as asked, else the first that the browser names, else Chinese."""
    if asked in ("zh", "en"):
        return asked
    for part in accepts.lower().split(","):
        name = part.split(";")[0].strip()[:2]
        if name in ("zh", "en"):
            return name
    return "zh"
