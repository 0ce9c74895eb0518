"""The page, as a browser shows it."""

import shutil
from html.parser import HTMLParser

import numpy as np
import pytest

from keras_bct.evaluation import (
    backfilling_curve,
    compare,
    decide,
    measure,
    write_report,
)
from keras_bct.evaluation.report.line_chart import Axis, Series, line_chart

METRICS = (
    "retrieval/mAP",
    "verification/TAR@FAR=0.01",
    "identification/TPIR@FPIR=0.2",
)


@pytest.fixture(scope="session")
def chromium():
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("needs chromium (apt-get install chromium)")
    return path


@pytest.fixture
def report(make_protocol, make_people, tmp_path):
    old, new = make_people(noise=1.1), make_people(noise=0.8)
    protocol = make_protocol(*METRICS)
    comparison = compare(
        protocol, old_queries=old[0], old_gallery=old[1], new_queries=new[0]
    )
    curve = backfilling_curve(
        old[1],
        new[1],
        np.arange(len(old[1])),
        queries=new[0],
        groups=new[0].cameras,
        metrics=["retrieval/mAP"],
    )
    path = tmp_path / "report.html"
    write_report(
        path,
        protocol,
        {
            "M(old, old)": measure(protocol, *old),
            "M(new, old) <&>": measure(protocol, new[0], old[1]),
        },
        comparison=comparison,
        decision=decide(comparison),
        curve=curve,
        groups={"retrieval/mAP": {"one": 0.5, "other": 0.75}},
    )
    return path


def test_the_page_needs_nothing_but_itself(report):
    links = []

    class Links(HTMLParser):
        def handle_starttag(self, tag, attrs):
            links.extend(
                value for name, value in attrs if name in ("src", "href", "xlink:href")
            )

    Links().feed(report.read_text())
    assert links == []
    assert "url(" not in report.read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_in_a_browser(chromium, report, scheme, width):
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"]
        )
        page = browser.new_page(
            viewport={"width": width, "height": 800}, color_scheme=scheme
        )
        errors = []
        page.on("pageerror", lambda error: errors.append(error))
        page.on("requestfailed", lambda request: errors.append(request))
        page.goto(report.as_uri())

        assert errors == []
        assert page.title() == "Evaluation: test"
        # Nothing is wider than a phone: wide tables scroll in themselves.
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        captions = page.locator("figcaption").all_inner_texts()
        assert captions == [
            "ROC",
            "DET",
            "Identification",
            "CMC",
            "Backfilling: retrieval/mAP",
        ]
        assert page.locator("figure").first.locator("polyline").count() == 2
        assert page.locator("figure").last.locator("polyline").count() == 4
        assert "M(new, old) <&>" in page.inner_text("body")
        assert "0.2500" in page.inner_text("body")
        # Text stands out from the page, in the light and in the dark.
        paper, ink = page.evaluate(
            "[getComputedStyle(document.body).backgroundColor,"
            " getComputedStyle(document.body).color]"
            ".map(c => c.match(/\\d+/g).slice(0, 3).reduce((s, v) => s + +v, 0))"
        )
        assert (paper > ink) == (scheme == "light")
        assert abs(paper - ink) > 450
        # A label is at least nine pixels high where it is shown.
        label = page.locator("text.label").first.bounding_box()
        assert label["height"] > 9
        browser.close()


class TestChart:
    def test_points_lie_where_their_values_are(self):
        chart = line_chart(
            "title",
            Axis("x", 0, 1),
            Axis("y", 0, 1),
            [Series("line", np.array([0.0, 1.0]), np.array([0.0, 1.0]))],
        )
        # From the lower left to the upper right corner of the frame.
        assert 'points="48.0,238.0 368.0,12.0"' in chart

    def test_steps_keep_their_height(self):
        chart = line_chart(
            "title",
            Axis("x", 0, 1),
            Axis("y", 0, 1),
            [Series("line", np.array([0.0, 1.0]), np.array([0.0, 1.0]), steps=True)],
        )
        assert 'points="48.0,238.0 368.0,238.0 368.0,12.0"' in chart

    def test_ticks(self):
        assert Axis("x", 0, 1).ticks() == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1])
        assert Axis("x", 1e-3, 1, True).ticks() == pytest.approx([1e-3, 0.01, 0.1, 1])

    def test_names_are_escaped(self):
        chart = line_chart(
            "<a>",
            Axis("<b>", 0, 1),
            Axis("y", 0, 1),
            [Series("<c>", np.array([0.0]), np.array([0.0]))],
        )
        for name in "abc":
            assert f"<{name}>" not in chart
            assert f"&lt;{name}&gt;" in chart
