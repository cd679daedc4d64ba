"""The files that ferry-bench writes for people."""

import html.parser
import re

from bench_tool import measure, run

SHORT = ["--concurrency-range", "1,4", "--duration", "1s", "--warmup", "0"]
VOID = {"meta", "br", "img", "link"}


class Page(html.parser.HTMLParser):
    """Checks that tags are balanced and keeps texts by the tag they are in, and all addresses."""

    def __init__(self, path):
        super().__init__()
        self.open, self.texts, self.addresses = [], {}, []
        self.feed(path.read_text())
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


def test_a_page_of_a_result_stands_alone(tmp_path, server):
    path = tmp_path / "report.html"
    measure(tmp_path, server.address, "addone", *SHORT, "--html", path)
    page = Page(path)
    assert page.addresses == [] and "script" not in page.texts
    assert any(text.startswith("addone on ferry") for text in page.texts["h1"])
    captions = page.texts["figcaption"]
    for each in ("Latency as the load grows", "Batches that the server ran, by rows", "Where the mean of the latency goes"):
        assert each in captions
    assert {"1 at once", "4 at once"} <= set(page.texts["td"])
    assert any("--concurrency-range 1,4" in text for text in page.texts["pre"])


def test_a_page_of_several_results_compares_them(tmp_path, server):
    files = []
    for model in ("addone", "two"):
        folder = tmp_path / model
        folder.mkdir()
        measure(folder, server.address, model, *SHORT)
        files.append(folder / "result.json")
    done = run("report", *files, "--html", tmp_path / "both.html")
    assert done.returncode == 0, done.stderr
    page = Page(tmp_path / "both.html")
    assert len(page.texts["h2"]) == 2
    assert page.texts["td"].count("1 at once") == 3  # one of the comparison, one of each result
    assert any(re.fullmatch(r"\d+\.\d\dx", text) for text in page.texts["span"])


def test_what_is_no_result_is_told(tmp_path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text("{}")
    done = run("report", wrong, "--html", tmp_path / "report.html")
    assert done.returncode == 3 and str(wrong) in done.stderr
    assert run("report", tmp_path / "absent.json", "--html", tmp_path / "report.html").returncode == 3
    assert not (tmp_path / "report.html").exists()


def test_percentiles_are_written_as_hdrhistogram_has_them(tmp_path, server):
    path = tmp_path / "latency.hgrm"
    result = measure(tmp_path, server.address, "addone", *SHORT, "--hgrm", path)
    lines = path.read_text().splitlines()
    assert lines[0].split() == ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    rows = [line.split() for line in lines[2:] if not line.startswith("#")]
    values = [float(row[0]) for row in rows]
    assert values == sorted(values) and float(rows[-1][1]) == 1
    assert int(rows[-1][2]) == result["points"][-1]["ok"]
    median = next(row for row in rows if float(row[1]) >= 0.5)
    assert abs(float(median[0]) - result["points"][-1]["response_ms"]["p50"]) < 0.01
