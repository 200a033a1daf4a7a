"""A person at a browser without scripts: reads pages, fills in forms, follows redirects."""

import re
from html.parser import HTMLParser
from typing import Any

import httpx


class _Forms(HTMLParser):
    """Every form of a page: its action and its fields' default values."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, Any]]] = []
        self._select = self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append((told.get("action", ""), {}))
        elif self.found and told.get("name"):
            self._field(tag, told)
        elif tag == "option" and self._select:
            values = self.found[-1][1]
            if "selected" in told or self._select not in values:  # a browser shows the first one
                values[self._select] = told.get("value", "")

    def _field(self, tag: str, told: dict[str, str]) -> None:
        values, name = self.found[-1][1], told["name"]
        if tag == "input" and told.get("type") in ("checkbox", "radio"):
            if "checked" in told:
                values.setdefault(name, []).append(told.get("value", "on"))
        elif tag == "input":
            values[name] = told.get("value", "")
        elif tag == "textarea":
            values[name], self._text = "", name
        elif tag == "select":
            self._select = name

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._select = ""
        elif tag == "textarea":
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            before = self.found[-1][1][self._text]
            self.found[-1][1][self._text] = before + (data if before else data.removeprefix("\n"))


class Person:
    def __init__(self, site: str, name: str, password: str = "") -> None:
        self.name = name
        self.client = httpx.Client(base_url=site, follow_redirects=True, timeout=30, headers={"Origin": site})
        if password:
            self.fill("/sign-in", "", username=name, password=password)

    def read(self, address: str, status: int = 200) -> str:
        answer = self.client.get(address)
        assert answer.status_code == status, f"{self.name} at {address}: {answer.status_code}"
        return answer.text

    def fill(self, address: str, form: str | None = None, **changes: Any) -> str:
        """Send the form of the page at `address` whose action ends in `form` ("": without an action; None: the only
        form), with these fields changed; return the resulting page. Of several forms to the same address: the first."""
        page = self.read(address)
        parser = _Forms()
        parser.feed(page)
        mine = [one for one in parser.found if "csrfmiddlewaretoken" in one[1] and not one[0].endswith("sign-out")]
        if form is not None:
            mine = [one for one in mine if (one[0].endswith(form) if form else not one[0])]
        assert len({one[0] for one in mine}) == 1, f"{self.name} at {address}: forms {[one[0] for one in parser.found]}"
        action, values = mine[0]
        answer = self.client.post(action or address, data={**values, **changes})
        errors = re.findall(r'<p class="error".*?</p>', answer.text, re.DOTALL)
        assert not errors, f"{self.name} at {address}: {[text_of(error) for error in errors]}"
        assert answer.status_code == 200, f"{self.name} at {address}: {answer.status_code}\n{text_of(answer.text)}"
        return answer.text


def text_of(page: str) -> str:
    """The readable text of a page."""
    body = page.partition("<main")[2] or page
    body = re.sub(r"<(script|style).*?</\1>", " ", body, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())
