"""The little Markdown of our runbooks."""

import pytest

from console.markdown import to_html


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# A\n\nb `c` **d**", "<h1>A</h1>\n<p>b <code>c</code> <strong>d</strong></p>"),
        ("- a\n- b\n  more", "<ul><li>a</li><li>b more</li></ul>"),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("```sh\na <b>\n\nc\n```", "<pre><code>a &lt;b&gt;\n\nc</code></pre>"),
        ("| a | b |\n| --- | --- |\n| c | d |", "<table><tr><th>a</th><th>b</th></tr><tr><td>c</td><td>d</td></tr></table>"),
        ("[a](transition) [b](https://x.example/y)", '<p><a href="transition">a</a> <a href="https://x.example/y">b</a></p>'),
        ("## A\nb", "<h2>A</h2><p>b</p>"),
        ("", ""),
    ],
)  # fmt: skip
def test_blocks_and_marks(text: str, html: str) -> None:
    assert to_html(text) == html


@pytest.mark.parametrize(
    "text", ["<script>x</script>", "[a](javascript:alert(1))", '[a](https://x/"onclick=)', "`<b>`"]
)
def test_nothing_foreign_gets_through(text: str) -> None:
    html = to_html(text)
    assert "<script" not in html
    assert "<b>" not in html
    assert 'href="javascript' not in html
    assert '"onclick' not in html
