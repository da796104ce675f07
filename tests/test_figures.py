import math
import re
import struct
import zlib
from base64 import b64decode

import pytest
import torch

from tsattn_mini.figures import Table, bars, brief, heat, lines, number, picture, scale_of, shade, spread, view_of
from tsattn_mini.flow import flow_chart
from tsattn_mini.pixels import image, rgb


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (-0.0, "0"), (1.0, "1"), (-3.0, "-3"), (0.125, "0.125"), (-0.5, "-0.500"), (1.125, "1.13"),
    (-1.125, "-1.13"), (12.34, "12.3"), (99.96, "100.0"), (123.4, "123"), (99999.0, "99999"), (125000.0, "1.3e5"),
    (1e-6, "1.0e-6"), (9.96e-5, "1.0e-4"), (-2.5e-10, "-2.5e-10"), (math.inf, "∞"), (-math.inf, "-∞"),
    (math.nan, "NaN"), (7, "7"),
])
def test_numbers_are_short_and_round_half_away_from_zero(value, text):
    assert number(value) == text


@pytest.mark.parametrize(("value", "text"), [
    (0.0, "0"), (-0.0, "0"), (0.237, ".24"), (-0.3, "-.30"), (0.004, ".00"), (-0.004, ".00"), (0.994, ".99"),
    (0.996, "1.0"), (1.0, "1"), (-1.25, "-1.3"), (9.96, "10"), (12.5, "13"), (-123.4, "-123"), (999.7, "1e3"),
    (1500.0, "2e3"), (-9.7e5, "-1e6"), (math.inf, "∞"), (math.nan, "NaN"),
])
def test_brief_numbers_fit_a_narrow_cell(value, text):
    assert brief(value) == text
    assert len(text) <= 4


def test_a_number_reads_back_within_its_last_place():
    g = torch.Generator().manual_seed(0)
    sizes = 10 ** (torch.rand(500, generator=g) * 12 - 6)
    for v in (torch.randn(500, generator=g, dtype=torch.float64) * sizes).tolist():
        assert len(number(v)) <= 8
        assert float(number(v)) == pytest.approx(v, rel=0.051, abs=5e-4)


@pytest.mark.parametrize(("axes", "shape", "view"), [
    ("L S", (3, 5), "heat"), ("B H L S", (1, 1, 3, 5), "heat"), ("S", (5,), "bars"), ("B S", (1, 5), "bars"),
    ("T", (12,), "lines"), ("T V", (12, 5), "lines"), ("V F", (5, 4), "lines"), ("F T", (4, 12), "heat"),
    ("", (), "heat"), ("B L", (1, 1), "heat"), ("P s", (9, 21), "lines"), ("2 y", (2, 61), "lines"),
])
def test_the_axes_choose_the_picture(axes, shape, view):
    assert view_of(axes, shape) == view


def test_a_heat_map_shows_every_number_at_its_place():
    x = torch.tensor([[0.25, -1.5], [3.0, 0.0]])
    html = heat(x, "L S", title="scores")._repr_html_()
    assert re.findall(r"<text x='[\d.]+' y='[\d.]+'>([^<]+)</text>", html) == ["0.250", "-1.50", "3", "0"]
    assert re.findall(r"--v:([-\d.]+)", html) == ["0.0833", "-0.5", "1", "0"]
    assert "aria-label='scores: 0.250 -1.50 3 0'" in html
    assert repr(heat(x, "L S", title="scores")).splitlines()[0] == "scores  [L S] (2, 2)"


def test_leading_axes_become_one_grid_each_and_single_ones_vanish():
    html = heat(torch.zeros(1, 3, 2, 5), "B H L S")._repr_html_()
    assert re.findall(r"class='ts-name' [^>]*>([^<]+)<", html) == ["H 0", "H 1", "H 2"]
    assert html.count("ts-cell") == 30


def test_titles_are_escaped():
    html = heat(torch.zeros(2, 2), "L S", title="<script>'\"&")._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html


def test_bars_reach_from_zero_to_their_value():
    html = bars(torch.tensor([2.0, -4.0, 0.0]), "S")._repr_html_()
    assert re.findall(r"class='ts-bar' [^>]* y='([-\d.]+)' width='.76' height='([-\d.]+)'", html) == [
        ("0", "0.5"), ("-1", "1"), ("0", "0")]


@pytest.mark.parametrize("n", [7, 8, 9, 12])
def test_bars_with_numbers_are_no_wider_than_a_phone(n):
    html = bars(torch.arange(n) / 8 - 0.123, "S")._repr_html_()
    assert float(re.search(" width='([0-9.]+)' height", html)[1]) <= 308
    assert html.count("ts-value") == n


def test_many_bars_have_brief_numbers_and_more_have_none():
    x = torch.full((13,), 0.123)
    written = [re.findall("class='ts-value'[^>]*>([^<]+)<", bars(x[:n], "S")._repr_html_()) for n in (8, 12, 13)]
    assert written == [["0.123"] * 8, [".12"] * 12, []]


def test_lines_follow_the_time_axis_wherever_it_stands():
    x = torch.tensor([[0.0, 10.0], [5.0, 10.0], [10.0, 0.0]])
    html = lines(x, "T V")._repr_html_()
    assert re.findall(r" points='([^']+)'", html) == ["0,0 0.5,0.5 1,1", "0,1 0.5,1 1,0"]
    where = r"data-from='(\d+)' data-by='(\d+)' data-points='(\d+)'"
    assert re.findall(where, html) == [("0", "2", "3"), ("1", "2", "3")]
    turned = lines(x.T, "V T")._repr_html_()
    assert re.findall(r" points='([^']+)'", turned) == ["0,0 0.5,0.5 1,1", "0,1 0.5,1 1,0"]
    assert re.findall(where, turned) == [("0", "1", "3"), ("3", "1", "3")]


def test_numbers_that_are_not_finite_leave_no_coordinates_behind():
    x = torch.tensor([1.0, math.nan, -math.inf, 3.0])
    for html in (heat(x, "S"), bars(x, "S"), lines(x, "T")):
        coordinates = re.findall(r"(?:--v:|points=|height=| y=)['\d., -]*", html._repr_html_())
        assert coordinates
        assert not re.search(r"='[^']*(nan|inf)", html._repr_html_())
    assert re.findall(r">(NaN|-∞)<", heat(x, "S")._repr_html_()) == ["NaN", "-∞"]


def test_scales():
    assert scale_of(torch.tensor([0.0, 1.0])) == "unit"
    assert scale_of(torch.tensor([0.0, 1.5])) == "signed"
    assert spread(torch.tensor([-3.0, math.inf, 2.0])) == 3
    assert spread(torch.zeros(2)) == 1
    assert [shade(v, "unit", 9) for v in (0.25, 2.0, -1.0)] == [0.5, 1, 0]
    assert [shade(v, "signed", 9) for v in (-4.5, 99.0, math.nan, math.inf)] == [-0.5, 1, 0, 0]


@pytest.mark.bad_input
def test_pictures_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"axes: expected 2 words for shape \(2, 3\), got 'L'"):
        heat(torch.zeros(2, 3), "L")
    with pytest.raises(ValueError, match="bars: expected one axis, got 'L S'"):
        bars(torch.zeros(2, 3), "L S")
    with pytest.raises(ValueError, match="rows: each needs 2 entries like the header, got 1"):
        Table(("a", "b"), [("x",)])


def test_a_table_aligns_its_columns_and_escapes_its_cells():
    table = Table(("step", "n"), [("A", 10), ("<b>", 2)])
    assert repr(table).splitlines() == ["step  n", "────  ──", "A     10", "<b>   2"]
    assert "<td>&lt;b&gt;</td>" in table._repr_html_()


def test_a_picture_of_a_scalar_is_one_cell():
    assert picture(torch.tensor(0.5), "", label="omega", view="heat", scale="unit").count("ts-cell") == 1


def test_a_flow_chart_runs_down_and_puts_what_comes_from_nowhere_beside_its_use():
    nodes = {"x": ("L", (3,), ()), "a": ("L", (3,), ("x",)), "late": ("L", (3,), ()), "b": ("L", (3,), ("a",)),
             "c": ("L", (3,), ("b", "late", "x"))}
    html = flow_chart(nodes)._repr_html_()
    spots = dict(zip(re.findall(r"class='ts-step'[^>]*>(\w+)<", html),
                     re.findall(r"class='ts-box' x='(\d+)' y='(\d+)'", html), strict=True))
    assert [int(spots[n][1]) for n in "xabc"] == [0, 70, 140, 210]
    assert spots["late"][1] == spots["b"][1]
    assert spots["late"][0] != spots["b"][0]
    assert html.count("class='ts-arrow'") == 5
    assert html.count("C") == 1, "the arrow from x to c bends round a and b"


def test_a_short_cell_of_a_table_stays_in_one_line_and_prose_may_break():
    html = Table(("model", "what"), [("1.398 ± 0.004", "a sentence that may break")])._repr_html_()
    assert "<td>1.398\N{NO-BREAK SPACE}±\N{NO-BREAK SPACE}0.004</td><td>a sentence that may break</td>" in html


def test_many_cells_are_one_image_with_a_pixel_for_each_number():
    x = torch.linspace(-1, 1, 40 * 33).reshape(40, 33)
    assert view_of("L S", x.shape) == "map"
    assert view_of("L S", (32, 32)) == "heat"
    html = picture(torch.stack([x, -x]), "H L S", label="A", view="map", scale="signed", labels={"H": ["one", "two"]})
    assert html.count("<svg") == html.count("<image") == 2
    assert "ts-cell" not in html
    assert "H two" in html
    first, second = re.findall("href='data:image/png;base64,([^']+)'", html)
    assert pixels(first)[0][0] == [74, 144, 226]
    assert pixels(first)[-1][-1] == pixels(second)[0][0] == [240, 138, 36]
    assert (len(pixels(first)), len(pixels(first)[0])) == x.shape


def test_an_image_is_coloured_as_cells_are():
    x = torch.tensor([[0.0, 0.5, 1.0], [0.25, torch.nan, torch.inf]])
    for scale in ("unit", "gate", "signed"):
        found = pixels(image(x, scale, 2.0).partition(",")[2])
        assert found == [[list(bytes.fromhex(rgb(shade(v, scale, 2.0))[1:])) for v in row] for row in x.tolist()]


def pixels(png):
    """The rows of an image as lists of [red, green, blue], read without the code that wrote it."""
    data, found, at = b64decode(png), b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height = struct.unpack(">II", data[at + 8:at + 16])
        if kind == b"IDAT":
            found += data[at + 8:at + 8 + size]
        at += 12 + size
    raw = zlib.decompress(found)
    rows = [raw[i * (1 + 3 * width) + 1:(i + 1) * (1 + 3 * width)] for i in range(height)]
    return [[list(row[3 * j:3 * j + 3]) for j in range(width)] for row in rows]


@pytest.mark.bad_input
@pytest.mark.parametrize("draw", [heat, bars, lines])
@pytest.mark.parametrize(("x", "axes", "message"), [
    (torch.zeros(0), "S", r"x: expected at least one entry along every axis, got shape \(0,\)"),
    (torch.zeros(2, 0), "L S", r"x: expected at least one entry along every axis, got shape \(2, 0\)"),
    (torch.ones(2, dtype=torch.complex64), "S", "x: expected real numbers, got complex64"),
    ([1.0, 2.0], "S", "x: expected a tensor, got list"), (None, "S", "x: expected a tensor, got NoneType"),
    (torch.ones(2), 3, "axes: expected a string such as 'L S', got 3"),
    (torch.ones(2), None, "axes: expected a string such as 'L S', got None"),
    (torch.ones(2), ["S"], r"axes: expected a string such as 'L S', got \['S'\]"),
    (torch.ones(2), "L S", r"axes: expected 1 words for shape \(2,\), got 'L S'"),
])
def test_what_cannot_be_drawn_is_refused(draw, x, axes, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        draw(x, axes)


@pytest.mark.parametrize("draw", [heat, bars, lines])
def test_true_and_false_are_drawn_as_one_and_zero(draw):
    flags = torch.tensor([True, False, True])
    assert draw(flags, "S").html == draw(flags.long(), "S").html
