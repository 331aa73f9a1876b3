"""check_report.py HOSTILE FILE.html...: reports beside the FILE.json they are held against."""
import html.parser
import json
import os
import re
import sys

VOID = {"meta", "br", "rect", "path", "link", "hr", "img"}
LIMIT = 1000000


class Report(html.parser.HTMLParser):
    """Tags must close in order; what is text and which attributes there are is kept."""

    def __init__(self, file):
        super().__init__(convert_charrefs=True)
        self.file, self.open, self.tags, self.text, self.problems = file, [], {}, [], []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        names = [name for name, _ in attributes]
        if len(set(names)) < len(names):
            self.problems.append(f"<{tag}> has an attribute twice")
        for name, value in attributes:
            if name.startswith("on") or name in ("src", "href", "srcset", "action", "data"):
                self.problems.append(f"<{tag} {name}> leads elsewhere")
            if value and re.search(r"(https?:)?//|url\(|javascript:", value) and name != "xmlns":
                self.problems.append(f"<{tag} {name}> holds an address: {value}")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag == "rect":  # has a title, so is no empty element here
            return
        if not self.open or self.open[-1] != tag:
            self.problems.append(f"</{tag}> at {self.getpos()} closes {self.open[-1:]}")
            return
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def colours():
    """A category and a part of the step have one colour, here and in plots/style.gp."""
    with open("plots/style.gp", encoding="utf-8") as stream:
        style = stream.read()
    found = {}
    for prefix, body in re.findall(r"^(category|part)\(n\) = \\\n(.*?[^\\])\n", style,
                                   re.MULTILINE | re.DOTALL):
        for name, colour in re.findall(r"n eq '(\w+)' \? '(#\w+)'", body):
            found[prefix[0].replace("c", "k") + "-" + name] = colour
    for name in ("attention", "optimizer"):
        found["p-" + name] = found["k-" + name]
    assert len(found) >= 27, found
    return found


def check(file, hostile):
    with open(file, encoding="utf-8") as stream:
        source = stream.read()
    with open(file[:-5] + ".json", encoding="utf-8") as stream:
        answer = json.load(stream)
    report = Report(file)
    style = dict(re.findall(r"\.([kp]-\w+)\{fill:(#\w+);", source))
    report.feed(source)
    report.close()
    problems = report.problems
    if style != colours():
        problems.append(f"colours are not those of plots/style.gp: {style}")
    text = " ".join(report.text)
    memory = answer["memory"]
    if report.open:
        problems.append(f"never closed: {report.open}")
    for tag in ("script", "link", "iframe", "object", "img", "form", "base"):
        if tag in report.tags:
            problems.append(f"has a <{tag}>")
    for tag, least in (("main", 1), ("h1", 1), ("svg", 1), ("table", 1), ("title", 1)):
        if report.tags.get(tag, 0) < least:
            problems.append(f"has no <{tag}>")
    if os.path.getsize(file) > LIMIT:
        problems.append(f"{os.path.getsize(file)} bytes, at most {LIMIT}")
    if re.search(r"@import|url\(", source):
        problems.append("its style asks for files")
    if f"{memory['verdict']}: " not in text:
        problems.append(f"does not say {memory['verdict']}")
    if memory["total_bytes"] >= 2**30 and f"{memory['total_bytes'] / 2**30:.2f} GiB" not in text:
        problems.append(f"does not say {memory['total_bytes'] / 2**30:.2f} GiB")
    for wall in ("wall", "largest"):
        if wall in memory and memory[wall]["formula"] not in text:
            problems.append(f"does not have the formula of the {wall}")
    for buffer in memory["buffers"]:
        if buffer["name"] not in text:
            problems.append(f"does not list the buffer {buffer['name']}")
    for fix in memory.get("fixes", []):
        if fix["set"].split(" ")[0] not in text:
            problems.append(f"does not list the fix {fix['set']}")
    for line in answer.get("assumptions", []):
        if line not in text:
            problems.append(f"does not say: {line}")
    if answer["names"]["plan"] == hostile and hostile not in text:
        problems.append("the hostile name is not there as text")
    for problem in problems:
        print(f"{os.path.basename(file)} ({answer['names']['plan']}): {problem}")
    return answer["names"]["plan"] == hostile, not problems


def main():
    hostile, files = sys.argv[1], sys.argv[2:]
    results = [check(file, hostile) for file in files]
    assert any(was_hostile for was_hostile, _ in results), "no hostile plan among them"
    print(f"{len(results)} reports")
    return 0 if all(good for _, good in results) else 1


sys.exit(main())
