"""The two plots of docs/detection.md, as SVG without a library."""


def scatter(points: list[tuple[str, float, float]]) -> str:
    """Recall against false positives, one dot a rule."""
    body = ['<rect width="640" height="400" fill="white"/>', '<path d="M60 20V340H620" fill="none" stroke="#444"/>']
    for tick in range(0, 101, 20):
        body.append(f'<text x="52" y="{344 - 3.2 * tick:.0f}" text-anchor="end">{tick}</text>')
        body.append(f'<text x="{60 + 5.5 * tick:.0f}" y="358" text-anchor="middle">{tick}</text>')
    for name, found, wrong in points:
        x, y = 60 + 550 * wrong, 340 - 320 * found
        colour = "#c0392b" if name.startswith("ours") else "#2c5f8a"
        anchor, shift = ("end", -8) if wrong > 0.6 else ("start", 8)
        body.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>')
        label = name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        body.append(f'<text x="{x + shift:.1f}" y="{y + 4:.1f}" text-anchor="{anchor}">{label}</text>')
    body.append('<text x="340" y="385" text-anchor="middle">healthy replies flagged, %</text>')
    body.append(
        '<text x="16" y="180" text-anchor="middle" transform="rotate(-90 16 180)">repetitive replies found, %</text>'
    )
    return _svg(640, 400, body)


def histogram(values: list[int], step: int = 40) -> str:
    """How many loops show so many characters, in steps; the last bar holds the rest."""
    bins = [0] * 13
    for value in values:
        bins[min(value // step, 12)] += 1
    body = ['<rect width="640" height="300" fill="white"/>', '<path d="M50 20V250H620" fill="none" stroke="#444"/>']
    for at, count in enumerate(bins):
        height = 220 * count / max(bins)
        x = 54 + 43 * at
        body.append(f'<rect x="{x}" y="{250 - height:.1f}" width="38" height="{height:.1f}" fill="#2c5f8a"/>')
        body.append(f'<text x="{x + 19}" y="{245 - height:.1f}" text-anchor="middle">{count}</text>')
        body.append(f'<text x="{x + 19}" y="266" text-anchor="middle">{at * step}{"+" if at == 12 else ""}</text>')
    body.append('<text x="335" y="290" text-anchor="middle">characters of the loop shown (deltas of 5)</text>')
    return _svg(640, 300, body)


def _svg(width: int, height: int, body: list[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="12">'
    return "\n".join([head, *body, "</svg>", ""])
