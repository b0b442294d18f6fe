"""The console in a real browser: what it shows, what it asks, light and dark, wide and narrow.

Needs Chromium (Debian: `apt install chromium`).
"""

import argparse
import json
import pathlib
import random
import shutil
import subprocess
import sys
import urllib.request

PORT = 6334
BASE = f"http://127.0.0.1:{PORT}"
CITIES = ["Paris", "Rome", "Oslo"]
HOSTILE = "<img src=x onerror=alert(1)>"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--server", type=pathlib.Path, help="the program pageway-server")
    parser.add_argument("--pictures", type=pathlib.Path, help="a directory for pictures of the page")
    parser.add_argument("--steps", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.steps:
        return steps(chosen.pictures)
    import judge

    python = judge.environment("console", ["playwright>=1.65,<2"])
    pictures = ["--pictures", str(chosen.pictures.resolve())] if chosen.pictures else []
    with judge.server(chosen.server, PORT):
        return subprocess.run([python, __file__, "--steps", *pictures], check=False).returncode


def call(method, path, body=None):
    request = urllib.request.Request(
        BASE + path,
        data=None if body is None else json.dumps(body).encode(),
        method=method,
        headers={"content-type": "application/json"},
    )
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)["result"]


def fill():
    """A collection of one vector and one of two, with payloads that attack a page."""
    numbers = random.Random(1)
    call("PUT", "/collections/demo", {"vectors": {"size": 4, "distance": "Cosine"}})
    two = {"a": {"size": 3, "distance": "Euclid"}, "b": {"size": 2, "distance": "Dot"}}
    call("PUT", "/collections/two", {"vectors": two})
    points = [
        {
            "id": at,
            "vector": [numbers.gauss(at % 5, 1), numbers.gauss(at % 3, 1), numbers.random(), numbers.random()],
            "payload": {"city": CITIES[at % 3], "text": HOSTILE},
        }
        for at in range(400)
    ]
    call("PUT", "/collections/demo/points?wait=true", {"points": points})
    call("PUT", "/collections/demo/index", {"field_name": "city", "field_schema": "keyword"})
    # An archive is made of segments.
    call("POST", "/collections/demo/snapshots", {})
    few = [{"id": at, "vector": {"a": [at, 1, 2], "b": [at, 1]}} for at in range(10)]
    call("PUT", "/collections/two/points?wait=true", {"points": few})


def steps(pictures):
    from playwright.sync_api import sync_playwright

    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if not browser:
        sys.exit("no chromium: install it (Debian: apt install chromium)")
    fill()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        for scheme, width in (("light", 1280), ("dark", 400)):
            view = opened.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
            wrong = []
            visit(watched(view.new_page(), wrong), width)
            if pictures:
                pictures.mkdir(parents=True, exist_ok=True)
                view.pages[0].screenshot(path=pictures / f"console-{scheme}.png", full_page=True)
            assert not wrong, wrong
        deletes(opened.new_page())
        opened.close()
    print("console: shown, searched, drawn and deleted; nothing foreign was asked")
    return 0


def watched(page, wrong):
    """Notes errors, warnings, dialogs, and requests that go elsewhere."""
    page.on("console", lambda told: told.type in ("error", "warning") and wrong.append(told.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: (wrong.append(dialog.message), dialog.dismiss()))
    here = (BASE, "data:")
    page.on("request", lambda asked: asked.url.startswith(here) or wrong.append(asked.url))
    return page


def visit(page, width):
    page.goto(f"{BASE}/console")
    table = {row.split("\t")[0]: row.split("\t")[2] for row in rows(page, "#collections")}
    assert table == {"demo": "400", "two": "10"} or "" in table.values(), table
    # By keyboard: the name of the collection is reached and pressed.
    page.get_by_role("button", name="demo").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#points tr")
    assert HOSTILE in page.locator("#points tr").first.inner_text()
    assert page.locator("#points img").count() == 0
    page.locator("#random").click()
    page.wait_for_selector("#answers tr")
    page.locator("#filter").fill('{"must": [{"key": "city", "match": {"value": "Rome"}}]}')
    press(page, "Search", "/points/query")
    told = page.locator("#plan").inner_text()
    assert "rows of segments match" in told and "pages read" in told, told
    found = rows(page, "#answers")
    assert len(found) == 10 and all("Rome" in row for row in found), found
    page.locator("#filter").fill('{"must": ')
    page.get_by_role("button", name="Search", exact=True).click()
    page.locator("#filter-wrong:not(:empty)").wait_for()
    page.locator("#filter").fill("")
    page.locator("#draw").click()
    page.wait_for_selector("#map circle")
    page.select_option("#colour", "city")
    assert page.locator("#map circle").count() == 400
    page.locator("#map circle").nth(7).hover(force=True)
    pointed = page.locator("#map-words").inner_text()
    assert HOSTILE in pointed, pointed
    page.locator("#map").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#map-words").inner_text() != pointed
    curves(page)
    live = page.locator("#live").inner_text()
    assert all(words in live for words in ("requests/s", "p99", "pages/search", "sampled recall")), live
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.get_by_role("button", name="two").click()
    page.locator("#indexes", has_text="Index of b").wait_for()


def curves(page):
    """The curve of recall against pages, reached by keyboard; there is one once rows are in a segment."""
    dots = page.locator("#indexes .curve circle")
    assert dots.count() > 1, page.locator("#indexes").inner_text()
    dots.first.focus()
    words = page.locator("#indexes .curve + .legend").inner_text()
    assert words.startswith("recall@") and "pages" in words, words
    state = page.locator("#indexes").inner_text()
    assert "segments" in state and "merge" in state and "on disk" in state, state
    assert "% deleted" in state and "versions ago" in state, state


def rows(page, table):
    page.wait_for_selector(f"{table} tr")
    return page.locator(f"{table} tr").all_inner_texts()


def press(page, name, path):
    with page.expect_response(lambda answer: answer.url.endswith(path)):
        page.get_by_role("button", name=name, exact=True).click()
    page.wait_for_timeout(200)


def deletes(page):
    page.goto(f"{BASE}/console")
    page.get_by_role("button", name="two").click()
    page.get_by_text("Delete this collection").click()
    page.locator("#delete-name").fill("tw")
    page.get_by_role("button", name="Delete", exact=True).click()
    page.locator("#notice:not(:empty)").wait_for()
    assert call("GET", "/collections/two/exists")["exists"]
    page.locator("#delete-name").fill("two")
    press(page, "Delete", "/collections/two")
    assert not call("GET", "/collections/two/exists")["exists"]


if __name__ == "__main__":
    sys.exit(main())
