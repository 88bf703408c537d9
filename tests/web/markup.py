"""A parsed page, and the elements that no page may have."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "hr", "img", "rect", "path", "col"}
RUNS = ("javascript:", "data:", "vbscript:")


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """A page: all elements in order, each with its inner text."""

    elements: list[Element] = field(default_factory=list)
    open: list[Element] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        if not self.open or self.open[-1].tag != tag:
            self.faults.append(f"</{tag}> closes {self.open[-1].tag if self.open else 'nothing'}")
        else:
            self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.text += data

    def all(self, tag: str, **attributes: str) -> list[Element]:
        wanted = {name.rstrip("_"): value for name, value in attributes.items()}
        return [
            element
            for element in self.elements
            if element.tag == tag
            and all(element.attributes.get(name) == value for name, value in wanted.items())
        ]

    def by_id(self, id_: str) -> Element:
        (found,) = [element for element in self.elements if element.attributes.get("id") == id_]
        return found

    @property
    def own_scripts(self) -> list[Element]:
        """Return the scripts, without those of every page and of every thread."""
        return [
            element
            for element in self.all("script")
            if not element.attributes["src"].startswith(("/static/follow.", "/static/thread."))
        ]

    @property
    def text(self) -> str:
        return self.all("body")[0].text


def parsed(html: str) -> Page:
    page = Page()
    page.feed(html)
    page.close()
    return page


def _leaves(element: Element, address: str) -> bool:
    """Return whether this is a link to another site that gets neither a referrer nor an opener."""
    rel = element.attributes.get("rel", "").split()
    return element.tag == "a" and address.startswith("https://") and {"noopener", "noreferrer"} <= set(rel)


def check(html: str) -> Page:
    """Check that the page is well formed, with unique ids, and without inline or active content."""
    page = parsed(html)
    assert page.faults == []
    assert page.open == []
    ids = [element.attributes["id"] for element in page.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids)), sorted(id_ for id_ in ids if ids.count(id_) > 1)
    for element in page.elements:
        assert element.tag not in {"iframe", "object", "embed", "base", "img", "style"}, element
        assert element.tag != "script" or element.attributes["src"].startswith("/static/"), element
        for name, value in element.attributes.items():
            assert name != "style", element
            assert not name.startswith("on"), element
            if name in {"href", "src", "action"}:
                assert not value.strip().lower().startswith(RUNS), element
                assert value.startswith(("/", "#", "?")) or _leaves(element, value), element
    targets = {
        link.attributes.get("href", "")[1:]
        for link in page.all("a")
        if link.attributes.get("href", "").startswith("#")
    }
    assert targets <= set(ids), targets - set(ids)
    assert len(page.all("h1")) == 1
    return page
