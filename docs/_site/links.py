"""Links of the pages, as the site needs them: what lies outside docs/ is shown in the repository.

A link to a file that does not exist anywhere stays as it is, so that the build, which is strict,
fails on it. Folders are linked to in the repository; a site has no page for them. Folders of the
navigation stand for their pages, so that a new one needs no line there.
"""

import posixpath
import re
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent
ROOT = DOCS.parent
REPOSITORY = "https://github.com/pageway/pageway"
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")


def on_config(config):
    config["nav"] = [_spread(item) for item in config["nav"]]
    return config


def _spread(item):
    """A folder in place of a page: all its pages, `index.md` first."""
    if not isinstance(item, dict):
        return item
    (title, inside), = item.items()
    if not (isinstance(inside, str) and inside.endswith("/")):
        return item
    pages = sorted(DOCS.glob(inside + "*.md"), key=lambda page: (page.name != "index.md", page.name))
    return {title: [page.relative_to(DOCS).as_posix() for page in pages]}


def on_page_markdown(markdown, page, config, files):
    folder = posixpath.dirname(page.file.src_uri)
    return LINK.sub(lambda link: link[1] + _target(link[2], folder) + link[3], markdown)


def _target(target, folder):
    path = posixpath.normpath(posixpath.join("docs", folder, target))
    there = ROOT / path
    is_page = path.startswith("docs/") and there.is_file()
    if is_page or not there.exists() or path.startswith(".."):
        return target
    kind = "tree" if there.is_dir() else "blob"
    return f"{REPOSITORY}/{kind}/main/{path}"
