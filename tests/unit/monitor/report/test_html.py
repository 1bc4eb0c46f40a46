"""The page: whole, safe, and the same figures in both languages."""

import itertools
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from monitor.nightly.compare import Standing
from monitor.report import charts
from monitor.report.build import report_of
from monitor.report.document import Report, UnreadableReport, from_document, to_document
from monitor.report.html import headline, render
from monitor.report.words import CLASSES, FAULTS, LURES, REASONS, STANDINGS, STEPS, TEXT, Language, sure_of
from tests.support.reports import HOSTILE, NIGHTS, POLICY, night, report

VOID = frozenset({"meta", "br"})


@pytest.fixture(scope="module")
def whole() -> Report:
    return report()


class Balance(HTMLParser):
    """Fails on a tag that is closed by another."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None: ...

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open.pop() == tag, f"</{tag}> closes another"


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_page_is_well_formed_and_names_every_model(whole: Report, language: Language) -> None:
    page = render(whole, language)
    balance = Balance()
    balance.feed(page)
    assert balance.open == []
    assert all(model in page for model in NIGHTS)
    assert len(page.encode()) < 120_000


@pytest.mark.parametrize("language", ["zh", "en"])
def test_it_asks_nothing_of_anybody(whole: Report, language: Language) -> None:
    page = render(whole, language)
    assert "default-src 'none'" in page
    assert not re.findall(r"<(?:script|link|img|iframe|object|form|a)\b", page)
    assert not re.findall(r"url\(|@import|\b(?:src|href)=", page)


def test_what_a_model_said_is_text_and_its_loop_is_marked(whole: Report) -> None:
    page = render(whole, "en")
    assert any(HOSTILE.strip() in f"{s.asked} {s.after}" for s in whole.samples)
    assert "<script>" not in page and "&lt;script&gt;alert(1)" in page
    assert page.count("<mark>") == page.count("</mark>") == len(whole.samples) > 4


def test_a_models_name_is_text_in_the_charts_too(whole: Report) -> None:
    odd = replace(whole, models=(replace(whole.models[0], model='"><script>x'), *whole.models[1:]))
    odd = replace(odd, trend=tuple(replace(p, model='"><script>x') for p in whole.trend))
    assert "<script>" not in render(odd, "zh")


def test_the_charts_are_sound_xml(whole: Report) -> None:
    drawn = re.findall(r"<svg.*?</svg>", render(whole, "zh"), re.DOTALL)
    assert len(drawn) >= 14
    for one in drawn:
        ET.fromstring(one)


def test_the_headline_says_the_night_in_one_sentence(whole: Report) -> None:
    assert headline(whole, "zh") == "2 个模型变差：deepseek-chat、glm-air"
    calm = replace(whole, models=tuple(m for m in whole.models if m.standing in ("same", "better")))
    assert headline(calm, "en") == "No model is worse (3 asked)"
    fresh = replace(whole, models=tuple(m for m in whole.models if m.standing == "no_baseline"))
    assert "house-7b" in headline(fresh, "zh")
    few = replace(whole, models=(replace(whole.models[0], standing="too_few"),))
    assert "Too few" in headline(few, "en")
    assert headline(replace(whole, models=()), "zh") == TEXT["zh"]["none_judged"]
    many = replace(whole, models=tuple(replace(whole.models[0], model=f"m{n}") for n in range(9)))
    assert headline(many, "en").endswith("m3 and 5 more")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_sample_is_not_said_to_lack_a_baseline_and_nobody_is_told_to_pin_it(language: Language) -> None:
    before = night()
    held = {model: replace(one, standing=Standing.NO_BASELINE) for model, one in before.comparisons.items()}
    asked = replace(before, run=replace(before.run, sampled=True, prompts=40), comparisons=held)
    made = report_of(asked, POLICY, day="2026-01-31", timezone="Asia/Shanghai", now_s=5.0)
    assert "40" in headline(made, language)
    page = render(made, language)
    assert "baseline pin" not in page
    assert STANDINGS[language]["sampled"] in page
    assert STANDINGS[language]["no_baseline"] not in page
    assert from_document(to_document(made)) == made


def test_a_night_without_anything_still_is_a_page(whole: Report) -> None:
    empty = replace(whole, models=(), trend=(), live={}, samples=(), priced=False, detail="a: max_cost: 3")
    page = render(empty, "en")
    assert TEXT["en"]["no_samples"] in page and "a: max_cost: 3" in page


def test_a_silent_change_of_the_vendors_model_is_told(whole: Report) -> None:
    assert "deepseek-v3 → deepseek-v4" in render(whole, "zh")


def test_a_kept_document_is_the_same_report_again(whole: Report) -> None:
    assert from_document(to_document(whole)) == whole


def test_a_document_of_a_newer_version_is_refused(whole: Report) -> None:
    with pytest.raises(UnreadableReport, match="format 2"):
        from_document({**to_document(whole), "format": 2})
    with pytest.raises(UnreadableReport, match="cannot be read"):
        from_document({"format": 1, "day": 3})


@pytest.mark.parametrize("kind", [CLASSES, LURES, STANDINGS, FAULTS, STEPS, REASONS, TEXT])
def test_both_languages_have_the_same_words_and_slots(kind: dict[Language, dict[str, str]]) -> None:
    assert kind["zh"].keys() == kind["en"].keys()
    for name, text in kind["zh"].items():
        assert set(re.findall(r"\{(\w+)\}", text)) == set(re.findall(r"\{(\w+)\}", kind["en"][name])), name


def test_nobody_is_ever_told_a_hundred_per_cent() -> None:
    assert [sure_of(chance) for chance in (0.0, 0.0002, 0.03, 0.2)] == ["> 99.99%", "99.98%", "97.0%", "80%"]


def test_a_line_is_broken_where_a_night_is_missing() -> None:
    days = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04", "2026-01-05"]
    values = {day: 0.01 for day in days if day != days[2]}
    assert charts.trend(days, {"a": values}, "t").count("<polyline") == 2
    assert charts.trend(days[:1], {"a": {days[0]: 0.5}}, "t").count("<circle") == 1
    assert "<svg" in charts.trend([], {}, "t")


def test_names_at_the_ends_of_lines_do_not_lie_on_each_other_nor_leave_the_plot() -> None:
    days = ["2026-01-01", "2026-01-02"]
    drawn = charts.trend(days, {f"m{n}": dict.fromkeys(days, 0.0) for n in range(6)}, "t")
    heights = sorted(float(y) for y in re.findall(r'class="label" x="\d+" y="([\d.]+)"', drawn))
    assert all(b - a >= charts.LABEL_GAP - 0.2 for a, b in itertools.pairwise(heights))
    assert heights[-1] <= charts.HEIGHT - charts.BOTTOM + 5
