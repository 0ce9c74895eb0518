"""The demo's run files and its report; the pipeline itself: tests/tfx_pipeline."""

import io
import pathlib
import re

import pytest
from PIL import Image

from examples.kanji import report
from keras_bct.configuration import read_yaml
from tfx_pipeline.pipeline import PipelineConfiguration

KANJI = pathlib.Path(__file__).parents[2] / "examples" / "kanji"
METRIC = "retrieval/mAP"


def numbers(**values):
    empty = dict.fromkeys(
        ["old_old", "new_old", "new_new", "gain", "difference_interval"]
    )
    return {METRIC: {**empty, **values}}


@pytest.fixture
def summary():
    refused = numbers(
        old_old=0.8, new_old=0.01, new_new=0.9, difference_interval=[-0.8, -0.78]
    )
    proven = numbers(
        old_old=0.8,
        new_old=0.85,
        new_new=0.89,
        gain=0.5,
        difference_interval=[0.04, 0.06],
    )
    models = [
        ("phi1", True, numbers(new_new=0.8)),
        ("independent", False, refused),
        ("beta-sys", True, proven),
    ]
    return {
        "environment": {"python": "3.10"},
        "seconds": 600.0,
        "production": "glyphs/3",
        "paragon": "glyphs/2",
        "models": [
            {
                "name": name,
                "version": f"glyphs/{number}",
                "blessed": promoted,
                "promoted": promoted,
                "evidence": evidence,
            }
            for number, (name, promoted, evidence) in enumerate(models, start=1)
        ],
        "index": {"rows": 11000, "recall_at_10": 0.995},
    }


def picture(shade):
    buffer = io.BytesIO()
    Image.new("L", (32, 32), shade).save(buffer, "PNG")
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["phi1", "independent", "beta-sys"])
def test_every_run_file_says_a_whole_run(name):
    run = read_yaml(PipelineConfiguration, KANJI / f"{name}.yaml")
    assert run.alias == "production"
    assert (run.recipe.method == "beta-sys") == (run.paragon == "glyphs/2")


def test_the_table_shows_intervals_gain_and_what_the_gate_said(summary):
    heading, *rows = report.table_rows(summary)
    assert all(len(row) == len(heading) for row in rows)
    phi1, independent, beta_sys = rows
    assert phi1[3:] == ["-", "-", "0.8000", "-", "-", "bootstrap"]
    assert independent[-2:] == ["-", "refused"]
    assert beta_sys[6:] == ["[+0.0400, +0.0600]", "50%", "promoted"]


def test_the_sheet_frames_hits_and_misses_in_their_colours():
    found = [(picture(90), "same", 0.9), (picture(30), "other", 0.1)]
    sheet = Image.open(
        io.BytesIO(report.draw_search_sheet([(picture(60), "same", found)]))
    ).convert("RGB")
    colours = {colour for _, colour in sheet.getcolors(1 << 16)}
    assert {(0x2A, 0x9D, 0x8F), (0xC1, 0x12, 0x1F)} <= colours


def test_the_page_needs_nothing_but_itself(summary):
    page = report.render_page(summary, "glyphs/1 <- production", picture(10), [METRIC])
    assert not re.search(r"(src|href)=[\"'](?!data:)", page)
    assert "glyphs/1 &lt;- production" in page
    assert f"asks {METRIC};" in page
    assert "color-scheme: light dark" in page
    assert 'name="viewport"' in page
