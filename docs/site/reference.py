#!/usr/bin/env python3
"""Holds docs/reference/ against the program: every flag of every command, and every field of the server's JSON.

Flags are those of `--help`, which the option tables print; fields those of GET /openapi.json, which the tables that
parse requests write. What several commands or requests have alike stands once. No other page may describe flags again: a
table whose first column is headed "flag", or not at all, may have none in it.

usage: docs/site/reference.py [--write] [PROGRAM]     --write: writes the pages instead of comparing them
                                                      PROGRAM: default build/release/augur
"""
import collections
import json
import pathlib
import re
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/reference"
NOTE = "<!-- Made by docs/site/reference.py --write; do not edit. -->\n"
COLUMN = 34  # where descriptions begin in --help
sys.path.insert(0, str(ROOT / "tests/support"))

# The pages of flags, and the commands that are theirs; what commands of two pages have alike is on the first.
FLAG_PAGES = {
    "flags": ("Flags that several commands have", ""),
    "flags_generate": ("Flags of generate, chat and the tools for files",
                       r"generate|chat|inspect|tokenize|convert|quantize|datastore.*"),
    "flags_serve": ("Flags of serve", r"serve"),
    "flags_suite": ("Flags of bench suite, bench paper and bench spec", r"bench (suite|paper|spec)"),
    "flags_bench": ("Flags of the other benches, and of trace", r"bench.*|trace.*"),
    "flags_train": ("Flags of train", r"train.*"),
}
# The pages of fields, and the schemas that are theirs.
FIELD_PAGES = {
    "fields": ("Fields that several requests have", ""),
    "fields_openai": ("Fields of OpenAI's requests", r"ChatCompletionRequest|CompletionRequest|ResponsesRequest"),
    "fields_others": ("Fields of Anthropic's, llama.cpp's and other requests",
                      r"(?!ChatCompletion|Completion|Responses)\w+Request"),
    "fields_nested": ("Fields of objects in requests",
                      "Speculative|ResponseFormat|Content|ToolCall|ChatMessage|ResponsesItem|TextBlock|AnthropicMessage|"
                      "Tool|TextFormat|ResponsesTool|AnthropicTool|Function|TokenId"),
    "fields_answers": ("Fields of answers", ".*"),
}
SHORT = {"ChatCompletionRequest": "chat", "CompletionRequest": "completion", "ResponsesRequest": "responses",
         "MessagesRequest": "messages", "CountTokensRequest": "count_tokens", "LlamaCppRequest": "llama.cpp",
         "InfillRequest": "infill", "SlotRequest": "slot", "DetokenizeRequest": "detokenize"}

problems = []


class Row(collections.namedtuple("Row", "names type default description")):
    """What is described once, and alike wherever it is found."""

    def lines(self, where=""):
        type_ = f" {self.type}" if self.type else ""
        default = f", default `{self.default}`" if self.default else ""
        names = ", ".join(f"`{name}`" for name in self.names)
        text = f"{names}{type_}{default}" + (f": {plain(self.description)}" if self.description else "") + where
        kept = re.sub(r"`[^`]*`", lambda code: code.group().replace(" ", "\0"), text)
        wrapped = textwrap.fill(kept, 118, initial_indent="- ", subsequent_indent="  ", break_long_words=False,
                                break_on_hyphens=False)
        return wrapped.replace("\0", " ")


def plain(text):
    """Without Markdown's meanings, outside of code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([*<\[\]])", r"\\\1", part) for part in parts)


def help_of(program, words):
    done = subprocess.run([str(program), *words, "--help"], capture_output=True, text=True, check=False)
    return done.stdout.split("\n") if done.returncode == 0 else []


def sections(lines):
    """(title, [(left, description lines)]) of a --help."""
    found = []
    for number, line in enumerate(lines):
        if match := re.fullmatch(r"(\S.*):", line):
            found.append((match.group(1), []))
        elif found and line.startswith(" " * COLUMN):
            if found[-1][1]:
                found[-1][1][-1][1].append(line.strip())
        elif found and re.match(r"  \S", line):
            more = number + 1 < len(lines) and lines[number + 1].startswith(" " * COLUMN)
            if line[COLUMN - 2:COLUMN] == "  " or not more:
                found[-1][1].append((line[:COLUMN].strip(), [line[COLUMN:].strip()]))
            else:
                found[-1][1].append((line.strip(), []))
    return found


def flag_row(left, description):
    match = re.fullmatch(r"(\S+)(.*?)(REQUIRED)?\s*((?:(?:Excludes|Needs):.*)?)", left)
    names, type_, required, others = (part.strip() if part else "" for part in match.groups())
    text = description[0] if description else ""
    if alias := re.match(r"\((-\w+)\) ", text):
        names, text = f"{alias.group(1)},{names}", text[alias.end():]
    if len(description) > 1 and re.match(r"\w+: ", description[1]):
        text = text.rstrip(".") + ". [What there is](../../README.md#what-is-implemented)"
        text = text.replace("[", "\1").replace("]", "\2")
    else:
        text = " ".join([text, *description[1:]])
    type_, _, default = type_.partition("=") if not type_.startswith("=") else ("", "", type_[1:])
    if others:
        text += " (" + re.sub(r"(--?[a-z][a-z0-9-]*)", r"`\1`", others) + ")"
    names = tuple(re.sub(r"\{false\}", "", name) for name in names.split(","))
    return Row(names, " ".join(filter(None, [f"`{type_}`" if type_ else "", "(required)" if required else ""])), default,
               text)


def commands_of(program, words=()):
    """(command, its --help) of all commands below."""
    lines = help_of(program, words)
    below = []
    for title, entries in sections(lines):
        if title.startswith(("Subcommands", "Laboratory")):
            below += [left for left, _ in entries]
    if words:
        yield " ".join(words), lines
    for name in below:
        yield from commands_of(program, (*words, name))


def gather_flags(program):
    rows = {}  # row -> (group, commands)
    for command, lines in commands_of(program):
        if not lines:
            problems.append(f"{program} {command} --help says nothing")
        for title, entries in sections(lines):
            if title.startswith(("Subcommands", "Laboratory", "Usage")):
                continue
            for left, description in entries:
                row = flag_row(left, description)
                if set(row.names) & {"-h", "--version"}:
                    continue
                rows.setdefault(row, (title, []))[1].append(command)
    return rows


def page_of(pages, names):
    """The first page that has all of these; the first of all where none has."""
    return next((page for page, (_, theirs) in pages.items() if all(re.fullmatch(theirs, name) for name in names)),
                next(iter(pages)))


def flag_pages(program):
    found = {page: {} for page in FLAG_PAGES}
    for row, (group, commands) in gather_flags(program).items():
        page = page_of(FLAG_PAGES, commands)
        many = len(commands) > 4 and page != "flags"
        heading = f"{commands[0].split()[0]}: several" if many else ", ".join(commands) if page != "flags" else ""
        if group not in ("Options", "Positionals"):
            heading = f"{heading}: {group}" if heading else group
        where = f" *({', '.join(commands)})*" if page == "flags" or many else ""
        found[page].setdefault(heading or "Others", []).append(row.lines(where))
    intro = "`augur COMMAND --help` prints them, too. What several commands have alike is [here](flags.md).\n"
    return {page: (FLAG_PAGES[page][0], intro if page != "flags" else
                   "The commands that have a flag stand behind it. `-h`, `--help` prints a command's own flags.\n", parts)
            for page, parts in found.items() if parts}


def type_of(schema):
    """A JSON schema in words."""
    if not isinstance(schema, dict) or not schema:
        return "any"
    if "$ref" in schema:
        return f"`{schema['$ref'].rpartition('/')[2]}`"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            words = [type_of(part) for part in schema[key]]
            known = list(dict.fromkeys(word for word in words if word != "null"))
            return " or ".join(known) or "null"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return " or ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    type_ = schema.get("type", "any")
    if isinstance(type_, list):
        return " or ".join(word for word in type_ if word != "null")
    if "minimum" in schema and "maximum" in schema:
        return f"{type_} {schema['minimum']:g} to {schema['maximum']:g}" if type_ == "number" else \
            f"{type_} {schema['minimum']} to {schema['maximum']}"
    if type_ == "array":
        return f"list of {type_of(schema.get('items', {}))}"
    if type_ == "object" and schema.get("properties"):
        return "object of " + ", ".join(f"`{name}` ({type_of(part)})" for name, part in schema["properties"].items())
    if type_ == "string" and "maxLength" in schema:
        return f"string of at most {schema['maxLength']} bytes"
    return type_


def objects_of(schema):
    """The schemas of objects in one that may be of several kinds."""
    if schema.get("properties"):
        yield schema
    for key in ("anyOf", "oneOf"):
        for part in schema.get(key, []):
            yield from objects_of(part)


def field_pages(schemas):
    rows = {}
    for name, schema in schemas.items():
        for object_ in objects_of(schema):
            required = object_.get("required", [])
            for field, value in object_["properties"].items():
                type_ = type_of(value) + (" (required)" if name.endswith("Request") and field in required else "")
                where = rows.setdefault(Row((field,), type_, "", value.get("description", "")), [])
                if name not in where:
                    where.append(name)
    found = {page: {} for page in FIELD_PAGES}
    for row, names in rows.items():
        request = [name for name in names if name.endswith("Request")]
        if not request:
            for name in names:  # an object's fields stand together
                page = page_of({key: FIELD_PAGES[key] for key in ("fields_nested", "fields_answers")}, [name])
                found[page].setdefault(f"{name}", []).append(row.lines())
            continue
        page = page_of({key: FIELD_PAGES[key] for key in ("fields", "fields_openai", "fields_others")}, request)
        short = ", ".join(SHORT.get(name, name) for name in request)
        accepted = re.fullmatch(r"`[^`]*`|null|any|", row.type) is not None and not row.description.startswith("the ")
        heading = "Accepted with the value that asks for nothing" if accepted and page == "fields" else \
            short if page != "fields" else "What is done"
        found[page].setdefault(heading, []).append(row.lines(f" *({short})*" if page == "fields" else ""))
    intro = ("`GET /openapi.json` says the same to programs, with every nested schema. What several requests have alike "
             "is [here](fields.md).\nA name in `Capitals` is an object of [these](fields_nested.md). `null` is a field's default.\n")
    first = ("The requests that have a field stand behind it: *chat* and *completion* are `/v1/chat/completions` and\n"
             "`/v1/completions`, *responses* `/v1/responses`, *messages* `/v1/messages`, *llama.cpp* `/completion`.\n")
    return {page: (FIELD_PAGES[page][0], first if page == "fields" else intro, parts) for page, parts in found.items()
            if parts}


def fields_of(program):
    from augur_server import STORIES, Server  # the program is there
    with Server(STORIES, program=str(program), stderr=subprocess.DEVNULL) as server:
        import urllib.request
        with urllib.request.urlopen(f"{server.url}/openapi.json", timeout=60) as answer:
            return json.load(answer)["components"]["schemas"]


def texts(pages):
    """Each page's text, cut into pages of at most 200 lines between two headings."""
    for page, (title, intro, parts) in pages.items():
        chunks, lines = [[]], 0
        for heading, rows in parts.items():
            text = f"## {heading}\n" + "\n".join(rows).replace("\1", "[").replace("\2", "]") + "\n"
            while text:
                room = 188 - lines
                piece, rest = text, ""
                if text.count("\n") + 1 > room and text.count("\n") + 1 > 188:  # no page has room for it
                    kept = text.split("\n")
                    cut = max(index for index in range(1, room) if kept[index].startswith("- ")) if room > 20 else 0
                    piece, rest = "\n".join(kept[:cut]) + "\n", f"## {heading}, continued\n" + "\n".join(kept[cut:])
                    if not cut:
                        piece, rest = "", text
                elif text.count("\n") + 1 > room:
                    piece, rest = "", text
                if piece:
                    chunks[-1].append(piece)
                    lines += piece.count("\n") + 1
                if rest:
                    chunks.append([])
                    lines = 0
                text = rest
        for number, chunk in enumerate(chunks, 1):
            name, more = (page, title) if number == 1 else (f"{page}_{number}", f"{title}, {number}")
            wrapped = "\n".join(textwrap.fill(line, 118, break_long_words=False, break_on_hyphens=False)
                                for line in intro.strip().split("\n"))
            yield f"{name}.md", f"{NOTE}# {more}\n\n{wrapped}\n\n" + "\n".join(chunk)


def described_again():
    listing = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "README.md", "docs/*.md"], cwd=ROOT,
                             check=True, capture_output=True, text=True)
    for name in listing.stdout.split():
        if name.startswith("docs/reference/") or not (ROOT / name).exists():
            continue
        lines = (ROOT / name).read_text(encoding="utf-8").split("\n")
        described = False
        for number, line in enumerate(lines):
            if number + 1 < len(lines) and lines[number + 1].startswith("| ---"):
                described = line.split("|")[1].strip() in ("flag", "")
            elif described and re.match(r"\| *`-", line):
                problems.append(f"{name}:{number + 1}: a table describes a flag, which docs/reference/ does: link it")


def report():
    if problems:
        print("\n".join(problems), file=sys.stderr)
    return bool(problems)


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    arguments = [argument for argument in arguments if argument != "--write"]
    program = pathlib.Path(arguments[0] if arguments else ROOT / "build/release/augur").resolve()
    described_again()
    if not program.exists():
        print(f"reference not compared: {program} is not built", file=sys.stderr)
    else:
        complete = all(help_of(program, command) for command in (("train", "eagle3"), ("bench", "suite")))
        if not write and not complete:
            print("reference not compared: augur-train or augur-lab is not built", file=sys.stderr)
            return report()
        pages = dict(texts(flag_pages(program) | field_pages(fields_of(program))))
        there = {file.name for file in FOLDER.glob("*.md")}
        for name, text in pages.items():
            if write:
                FOLDER.mkdir(exist_ok=True)
                (FOLDER / name).write_text(text, encoding="utf-8")
            elif name not in there or (FOLDER / name).read_text(encoding="utf-8") != text:
                problems.append(f"docs/reference/{name}: not what the program says: run docs/site/reference.py --write")
        for name in there - set(pages):
            if write:
                (FOLDER / name).unlink()
            else:
                problems.append(f"docs/reference/{name}: no such page is made")
    return report()


if __name__ == "__main__":
    sys.exit(main())
