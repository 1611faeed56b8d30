"""For the docs site: a link to a file that is not in `docs/` becomes its text, because the site has no such page."""

import re
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor

OUTSIDE = re.compile(
    r"(\.\./)+(apps|benchmarks|docker|memsync|scripts|templates|tests|text|pyproject\.toml|uv\.lock)(/|$)"
)


class Unlink(Treeprocessor):
    def run(self, root: Element) -> None:
        for link in root.iter("a"):
            if OUTSIDE.match(link.get("href", "")):
                link.tag = "span"
                link.attrib.clear()


class SiteLinks(Extension):
    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802  (Markdown's name)
        md.treeprocessors.register(Unlink(md), "site_links", priority=15)


def makeExtension() -> SiteLinks:  # noqa: N802
    return SiteLinks()
