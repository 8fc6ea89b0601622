#!/usr/bin/env python3
"""Makes tests/golden/chat_templates/*.json: what Python's jinja2, set up as Hugging Face's transformers does,
renders. Run once; the files are kept in the repository. The *.jinja files beside them are templates that models'
publishers ship; those in families/ are our own, each in the manner of a family of models.

    pip install jinja2 && python3 tests/golden/make_chat_template_golden.py
"""

import functools
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

FOLDER = pathlib.Path(__file__).resolve().parent / "chat_templates"


class Generation(jinja2.ext.Extension):
    """{% generation %}: marks what the assistant says; here it only renders its body."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_render"), [], [], body).set_lineno(line)

    def _render(self, caller):
        return caller()


def environment(sandbox=jinja2.sandbox.ImmutableSandboxedEnvironment):
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
        return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)

    env = sandbox(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    return env


@functools.lru_cache(maxsize=1)
def compiled(source, sandbox, functions):
    env = environment(sandbox)
    env.globals.update(functions)
    return env.from_string(source)


def render(source, variables, sandbox=jinja2.sandbox.ImmutableSandboxedEnvironment, **functions):
    try:
        template = compiled(source, sandbox, tuple(functions.items()))
        return {"expected": template.render({"tools": None, "documents": None, **variables})}
    except jinja2.exceptions.TemplateError as error:
        return {"error": str(error)}
    except (TypeError, ValueError, KeyError, IndexError, ZeroDivisionError, AttributeError, SyntaxError, RecursionError) as error:
        return {"error": f"{type(error).__name__}: {error}"}


def message(role, content, **more):
    return {"role": role, "content": content, **more}


WEATHER = {"type": "function", "function": {
    "name": "get_weather", "description": "Today's weather — \"now\" <b>",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1},
                                                    "exact": {"type": "boolean", "default": False}},
                   "required": ["city"]}}}
CALL = {"id": "abcdef123", "type": "function",
        "function": {"name": "get_weather", "arguments": {"city": "Zürich", "days": 2, "factor": 0.5, "x": None}}}

CONVERSATIONS = {
    "one question": {"messages": [message("user", "What is 2+2?")]},
    "system": {"messages": [message("system", "  You are terse.\n"), message("user", "  Hello!  ")]},
    "turns": {"messages": [message("system", "Be kind."), message("user", "Hi"), message("assistant", "Hello! How can I help?"),
                           message("user", "Tell me\na story."), message("assistant", "<think>hm</think>\n\nOnce upon a time")]},
    "turns, then a question": {"messages": [message("user", "Hi"), message("assistant", "Hello!"), message("user", "Bye")]},
    "unicode": {"messages": [message("system", "Du bist höflich. 你好"), message("user", "🦙 ¿Qué tal? \u00a0\u2028 e\u0301"),
                             message("assistant", "Καλά! <|x|> {{ not.a.tag }}"), message("user", "ok?")]},
    "empty": {"messages": [message("user", ""), message("assistant", ""), message("user", "\n")]},
    "markup": {"messages": [message("user", "{% if x %} & <b>\"quoted\" 'single' \\n \\ </b> {# c #}")]},
    "not alternating": {"messages": [message("user", "a"), message("user", "b")]},
    "starts with the assistant": {"messages": [message("assistant", "a"), message("user", "b")]},
    "tools": {"messages": [message("system", "Use tools."), message("user", "Weather in Zürich?")], "tools": [WEATHER, WEATHER]},
    "tool call": {"messages": [message("user", "Weather?"), message("assistant", None, tool_calls=[CALL]),
                               message("tool", "sunny, 25°", tool_call_id="abcdef123"), message("assistant", "It is sunny."),
                               message("user", "Thanks")], "tools": [WEATHER]},
    "tool call, text arguments": {"messages": [
        message("user", "Weather?"),
        message("assistant", None, tool_calls=[{"type": "function", "id": "123456789",
                                                "function": {"name": "f", "arguments": "{\"a\": 1}"}}] * 2),
        message("tool", "1"), message("tool", "2"), message("assistant", "done")]},
    "date": {"messages": [message("user", "Date?")], "date_string": "1 Jan 2025"},
    "builtin tools": {"messages": [message("user", "Search"), message("assistant", None, tool_calls=[
        {"type": "function", "function": {"name": "brave_search", "arguments": {"query": "x y", "n": "3"}}}]),
        message("ipython", {"output": ["a", 1, None, True]})], "builtin_tools": ["code_interpreter", "brave_search"]},
    "tools outside the user message": {"messages": [message("user", "Hi")], "tools": [WEATHER], "tools_in_user_message": False},
}

PING = {"type": "function", "function": {"name": "ping"}}
BIG = {"type": "function", "function": {"name": "count", "parameters": {
    "type": "object", "properties": {"n": {"type": "integer", "maximum": 340282366920938463463374607431768211456}}}}}


def tool_turn(content, **more):
    call = {"id": "abcdefgh1", "type": "function", "function": {"name": "ping", "arguments": {}}}
    said = {"role": "assistant", "tool_calls": [call], **more}
    return {"messages": [message("user", "ping please"), said if content is Ellipsis else {**said, "content": content},
                         message("tool", "pong", tool_call_id="abcdefgh1")], "tools": [PING]}


# For the templates of families/, beside the conversations above.
FAMILY_CONVERSATIONS = {
    "tool turn, empty content": tool_turn(""),
    "tool turn, content none": tool_turn(None),
    "tool turn, no content": tool_turn(...),
    "tool turn, text": tool_turn("One moment."),
    "large integers": {"messages": [message("user", "q"), message("assistant", "", tool_calls=[
        {"id": "abcdefgh1", "type": "function", "function": {"name": "count", "arguments": {
            "n": 12345678901234567890, "m": -99999999999999999999999999, "l": [18446744073709551616, 1]}}}]),
        message("tool", "r", tool_call_id="abcdefgh1"), message("assistant", "done")], "tools": [BIG]},
    "thoughts": {"messages": [message("user", "a"), message("assistant", "<think>\none\n</think>\n\nA"), message("user", "b"),
                              message("assistant", "<think>two</think>B")], "enable_thinking": False},
    "documents": {"messages": [message("user", "Who?")], "documents": [{"title": "t", "text": "Some text."}, {"text": "More."}]},
    "parts": {"messages": [message("user", [{"type": "text", "text": "one"}, {"type": "text", "text": " two"}])]},
    "parts in parts": {"messages": [message("user", [{"text": "a"}, {"parts": [{"text": "b"}, {"parts": ["c", {"text": "d"}]}]}])]},
}

V = {"s": "Hello, Wörld!", "n": 7, "f": 2.5, "t": True, "z": None, "l": [3, 1, 2], "e": [], "d": {"b": 1, "a": "x", "c": [1, {"k": None}]},
     "m": [{"role": "user", "content": "A"}, {"role": "assistant", "content": "b", "x": 1}, {"role": "user", "content": "C"}],
     "u": "  spaced \t\n", "w": "one two  three", "big": 12345678901234567890, "big2": -340282366920938463463374607431768211456,
     "tree": [{"v": "a", "c": [{"v": "b", "c": [{"v": "c"}]}, {"v": "d", "c": []}]}, {"v": "e"}], "q": "it's \"q\" \\ \x07 é \u200b"}

# Expressions, each written as {{ ... }}.
EXPRESSIONS = r"""
1 + 2 * 3 - 4
7 // 2 ~ '|' ~ -7 // 2 ~ '|' ~ 7 % 3 ~ '|' ~ -7 % 3 ~ '|' ~ 7 / 2 ~ '|' ~ 2 ** 10 ~ '|' ~ 2 ** -1
n % 2 == 1 and not false
1.0 ~ ' ' ~ 1e16 ~ ' ' ~ 0.1 ~ ' ' ~ 1e-5 ~ ' ' ~ 123456789.25 ~ ' ' ~ -0.0
1_000 + 2
true + true
n is number and f is float and t is boolean and n is integer and not t is integer
'a' 'b' "c"
"\n\t\x41\u00e9\U0001F999\101\q\\" | tojson
'x' * 3 + 2 * 'y'
[1] + [2, 3] ~ (1, 2) ~ (1,) ~ ()
[1, 2] * 2
s[0] ~ s[-1] ~ s[7:12] ~ s[::-1] ~ s[-3:] ~ s[:-1] ~ s[1:8:2] ~ s[100:]
l[0] ~ l[-1] ~ l[1:] ~ l[::-1] ~ l[:1] ~ l[5] ~ l['x']
d.a ~ d['b'] ~ d.missing ~ d['missing'] ~ d.c[1].k
d ~ l ~ t ~ z ~ f ~ q
[q, s, u, 1.5, none, true, {'k': (1, [])}]
d | tojson
d | tojson(indent=2)
[[], {}, [1, [2]], {'a': {}}] | tojson(indent=4)
q | tojson
q | tojson(ensure_ascii=true)
{'b': 1, 'a': [true, none, 1.0]} | tojson(sort_keys=true, separators=(',', ':'))
s | upper ~ s | lower ~ s | length ~ s | trim | capitalize ~ 'ab cd-ef (gh' | title
u | trim ~ '|' ~ 'xxaxx' | trim('x')
l | sort ~ l | sort(reverse=true) ~ ['b', 'A', 'c'] | sort ~ ['b', 'A', 'c'] | sort(case_sensitive=true)
m | map(attribute='content') | list ~ m | map('length') | list ~ m | map(attribute='x', default=0) | list
m | selectattr('role', 'equalto', 'user') | map(attribute='content') | join(', ')
m | selectattr('x', 'defined') | list | length ~ m | rejectattr('x') | list | length ~ m | selectattr('x') | list
[1, 2, 3, 4] | select('odd') | list ~ [1, 2, 3, 4] | reject('even') | list ~ [0, 1, '', 'a'] | select | list
[1, 2, 3] | select('greaterthan', 1) | list ~ ['a', 'b'] | reject('in', ['a']) | list
l | join('-') ~ l | join ~ m | join(',', attribute='role') ~ 'abc' | join('.')
missing | default('x') ~ '' | default('y') ~ '' | default('y', true) ~ z | default('w') ~ missing | d
l | first ~ l | last ~ s | first ~ e | first ~ d | first
l | max ~ l | min ~ l | sum ~ [1.5, 2] | sum ~ ['b', 'A'] | min ~ m | map(attribute='x', default=1) | sum
l | reverse | list ~ s | reverse
l | list ~ 'ab' | list ~ d | list ~ (1, 2) | list
d | items | list ~ d.items() | list ~ d.keys() | list ~ d.values() | list ~ d | dictsort
d.get('a') ~ d.get('zz') ~ d.get('zz', 5)
'12' | int + 1 ~ 'x' | int ~ 'x' | int(3) ~ 3.9 | int ~ '3.7' | int ~ '1.5' | float ~ 'ff' | int(0, 16) ~ true | int
3.14159 | round(2) ~ 2.5 | round ~ 2.3 | round(0, 'ceil') ~ 7 | round ~ -3 | abs
[1, 2, 1, 'a', 'A'] | unique | list
'a.b.c' | replace('.', '-') ~ 'aaa' | replace('a', 'b', 2) ~ 'ab' | replace('', '.')
'<a href="x">&\'' | escape ~ '<' | e
"l1\nl2\n\nl3" | indent(2) ~ "a\nb" | indent(1, true) ~ "a\nb" | indent('> ')
s | string ~ 1 | string ~ none | string
w.split() ~ w.split(' ') ~ w.split(' ', 1) ~ w.split(none, 1) ~ 'a,b,,c'.split(',') ~ 'a,b,c'.rsplit(',', 1) ~ w.rsplit(none, 1)
'a</think>b</think>c'.split('</think>')[-1] ~ 'abc'.split('x') ~ ''.split() ~ ''.split(',')
"a\nb\r\nc\n".splitlines() ~ "a\nb".splitlines(true)
u.strip() ~ '|' ~ u.lstrip() ~ '|' ~ u.rstrip() ~ '|' ~ 'xyaxy'.strip('xy') ~ '\n\na'.lstrip('\n')
s.startswith('Hello') ~ s.endswith('?') ~ s.startswith(('x', 'H')) ~ 'abc'.find('c') ~ 'abc'.find('z') ~ 'Wörld'.find('l')
s.upper() ~ s.lower() ~ "they're here".title() ~ s.capitalize() ~ s.replace('l', 'L') ~ s.replace('l', 'L', 1) ~ s.count('l')
', '.join(['a', 'b']) ~ '12'.isdigit() ~ 'a1'.isalnum() ~ 'ab'.isalpha() ~ ' '.isspace() ~ 'AB'.isupper() ~ 'ab'.islower()
'prefix-x'.removeprefix('prefix-') ~ 'x.txt'.removesuffix('.txt')
'a' in s ~ 'lo' in s ~ 'x' not in s ~ 2 in l ~ 'a' in d ~ 'x' in missing ~ 'zz' not in d
1 < 2 < 3 ~ (1 < 2 > 5) ~ (1 == 1.0) ~ ('a' < 'b') ~ (1 != 2) ~ ([1] == [1]) ~ ({'a': 1} == {'a': 1.0}) ~ (true == 1) ~ (none == false)
'yes' if n > 5 else 'no'
'yes' if n > 50
('x' if false) is defined
not n == 7 or t
none or 'a' ~ (0 and 1) ~ ('' or none or 5)
missing is defined ~ missing is undefined ~ z is none ~ z is defined ~ s is string ~ d is mapping ~ l is sequence ~ l is iterable ~ n is iterable ~ s is iterable ~ d is iterable ~ missing is iterable
n is odd ~ n is even ~ n is divisibleby 7 ~ n is divisibleby(2) ~ n is eq 7 ~ n is equalto(8) ~ n is gt 3 ~ n is le 7 ~ n is in [7, 8] ~ t is sameas true ~ 'a' is lower ~ 'A' is upper
s is not none ~ n is not string and true
range is callable ~ s is callable ~ d.items is callable
range(5) | list ~ range(2, 8, 3) | list ~ range(3, 0, -1) | list
namespace(a=1).a ~ dict(a=1, b='x')
-n ~ +n ~ -f ~ (-2) ** 2 ~ -2 | abs
[1, [2, [3]]][1][1][0] ~ {'a': {'b': 5}}.a.b ~ [1, 2].0
(1, 2)[0] ~ ('a', 'b') | join
{'items': 1}['items'] ~ {'x': 1}.items() | list
l.index(2) ~ l.count(3)
s | replace('l', '') | upper | length
m[0].role + ': ' + m[0]['content']
'%' ~ 5
undefined_thing ~ ''
1 if missing else 2
'a' ~ 1 ~ none ~ true ~ 1.5 ~ [1]
d | length ~ e | length ~ s | count
'ß' | length ~ 'ÀÉ' | lower ~ 'é' | upper
0x
1 / 0
1 + 'a'
none + 1
missing.attr
missing['x']
missing + 'x'
missing()
s.nonexistent()
5 | length
5[0]
none.x is defined
l < d
'a' < 1
raise_exception('no: ' ~ n)
s | nonexistent
s is nonexistent
foo bar
(1
[1, 2
'abc
{{ 1
1 +
x y
"a" | tojson(
""".strip("\n").split("\n")

EXPRESSIONS += r"""
'a' if false and (s | nonexistent) else 'b'
s if true else s | nonexistent
none | selectattr('x') | list ~ none | map('upper') | list ~ 0 | select | list ~ false | rejectattr('x') | list ~ none | map(attribute='x') | list
n | selectattr('x') | list
'{} and {}'.format(1, 'two') ~ '{1}{0}{1}'.format('a', 'b') ~ '{x}-{y.a}-{y[b]}-{z[0]}'.format(x=1, y=d, z=l) ~ '{{}}{}'.format(3)
'[{:>5}|{:<5}|{:^5}|{:*^7}|{:05d}|{:+d}|{:,}|{:_}]'.format('a', 'b', 'c', 'd', 42, 7, 1234567, 1234567)
'{:.2f} {:.3} {:e} {:g} {:%} {:10.3f}| {:x} {:X} {:#x} {:b} {:o} {:c} {:.2}'.format(3.14159, 2.5, 12345.678, 0.0001, 0.25, 2.5, 255, 255, 255, 5, 8, 65, 'xyz')
'{!r} {!s} {!a} {!r:>6}'.format('é', 'é', 'é', 'x') ~ '{:{w}}|'.format('a', w=4) ~ '{}'.format(none) ~ '{}'.format(true) ~ '{:d}'.format(true) ~ '{}'.format([1, 'a'])
'{:5}|{:5}|{:.1f}|{}|{}'.format(1, 1.5, 2, 1.0, 1e20)
'{a}{b}'.format_map({'a': 1, 'b': [2]})
'{}'.format()
'{0} {}'.format(1, 2)
'{x}'.format(1)
'{'.format(1)
'{:d}'.format('x')
'{:5}'.format(none)
'%s and %d%%' % ('a', 5) ~ '%s' % 'b' ~ '%s' % 1.5 ~ '%5s|%-5s|%05d|%+d|%x|%o|%X|%#x' % ('a', 'b', 42, 7, 255, 8, 255, 255)
'%.2f %e %g %r %a %c%c %i %5.1f|' % (3.14159, 12345.678, 0.0001, 'é', 'é', 65, 'B', 3.9, 2.25)
'%(a)s-%(b)d' % {'a': 'x', 'b': 2} ~ '%s' % [1, 2] ~ '%s' % {'a': 1} ~ '%.2s' % 'xyz' ~ '%*d' % (5, 3)
'%s %s' % 'a'
'%s' % ('a', 'b')
'%d' % 'x'
'%(a)s' % 1
'%s %s' | format('a', 1) ~ '%(x)s' | format(x=2)
'ß' | upper ~ 'ß'.upper() ~ 'ﬁx' | upper ~ 'ŉ' | upper ~ 'ß' | title ~ 'ßx'.title() ~ 'ßx' | capitalize ~ 'ﬁx'.capitalize() ~ 'ΐ' | upper ~ 'ǆ' | upper ~ 'ǆx'.capitalize() ~ 'ÿ' | upper
'ΑΣ ΣΑ Σ' | lower ~ 'İ' | lower ~ 'ΑΣ.' | lower ~ 'ᾳ' | upper ~ 'ᾳ'.title() ~ 'straße'.upper() | length
'0x1A' | int(base=16) ~ '1A' | int(0, 16) ~ '0b101' | int(0, 2) ~ '0o17' | int(base=8) ~ '0x1f' | int(base=0) ~ '1_000' | int ~ '__1' | int(7) ~ 'zz' | int(base=36) ~ ' -0x10 ' | int(base=16) ~ '010' | int ~ '010' | int(5, 0) ~ '12' | int(base=2) ~ 'x' | int(9, 16) ~ '--1' | int(3)
'12' | int(base=99) ~ '123456789012345678901234567890' | int ~ '-9223372036854775809' | int ~ 'inf' | int(4) ~ 'nan' | int(5)
('<b>' | safe) + '<i>' ~ ('<i>' + ('<b>' | safe)) ~ ('<b>' | safe) ~ '<i>' ~ ('<b>' | safe | e) ~ ('<' | e | e) ~ ('<' | e | forceescape) ~ ('<' | safe) * 2
('<' | safe).join(['<', '>' | safe]) ~ ('<%s>' | safe) % '<' ~ ('<{}>' | safe).format('<') ~ ('<a>' | safe).replace('a', '<') ~ ('<a>' | safe) | replace('a', '<') ~ ('<a' | safe | upper) + '<' ~ ('<a' | safe)[0] + '<'
('a' | safe) is escaped ~ 'a' is escaped ~ ('a' | e | string) is escaped ~ ('a' | safe ~ 'b') is escaped
['<' | safe] ~ ('<' | safe) | tojson ~ (('a' | safe) == 'a') ~ ('a' | safe) in ['a'] ~ ('x y' | safe).split()[0] + '<'
m | groupby('role') ~ (m | groupby('role'))[0].grouper ~ (m | groupby('role'))[1].list | length ~ (m | groupby('x', default=9)) | map('first') | list
[{'k': 'b'}, {'k': 'A'}, {'k': 'a'}] | groupby('k') | list ~ [{'k': 'b'}, {'k': 'A'}, {'k': 'a'}] | groupby('k', case_sensitive=true) | map('first') | list
[{'k': 1}, {'k': 'a'}] | groupby('k')
[1, 2, 3, 4, 5] | batch(2) | list ~ [1, 2, 3] | batch(2, 'x') | list ~ 'one two, three-four' | wordcount
'a.b.c'.partition('.') ~ 'a.b.c'.rpartition('.') ~ 'abc'.partition('x') ~ 'abc'.rpartition('x')
big ~ big + 0 is number
big ~ ' ' ~ [big, -big2] | tojson if false else big ~ [big, big2] ~ {'a': big} | tojson ~ (big > 5) ~ (big2 < 0) ~ (big > big2) ~ (big == big) ~ big is number ~ big is integer ~ big | string | length ~ big | int
'%d %s' % (big, big2) ~ '{} {:,}'.format(big2, big)
'upper' is filter ~ 'nope' is filter ~ 'odd' is test ~ 'nope' is test
[3] is sameas [3] ~ (1, 2) is iterable ~ 'a' is sequence
-(2) ** 2 ~ 2 ** 3 ** 2 ~ 7 // -2 ~ -7 % -3 ~ 7.5 // 2 ~ -7.5 % 2
""".strip("\n").split("\n")

# What the sandbox of transformers refuses, and jinja2 itself renders.
MUTATING = [
    "{% set l2 = [1] %}{% set _ = l2.append(2) %}{{ l2 }}{{ l2.append(3) }}{{ l2.pop() }}{{ l2.pop(0) }}{{ l2 }}{{ l2.pop(-1) }}",
    "{% set x = {'a': 1, 'b': 2} %}{{ x.pop('a') }}{{ x }}{{ x.pop('zz', 5) }}", "{{ [].pop() }}", "{{ {}.pop('a') }}", "{{ (1, 2).append(3) }}",
    "{% set ns = namespace(seen=[]) %}{% for x in m %}{% if x.role not in ns.seen %}{{ ns.seen.append(x.role) or '' }}{% endif %}{% endfor %}{{ ns.seen | join(',') }}",
    "{% set groups = [] %}{% for x in l %}{% set _ = groups.append([x]) %}{% endfor %}{% set _ = groups[0].append('y') %}{{ groups }}",
]

# Whole templates.
TEMPLATES = [
    "{% for x in tree recursive %}({{ loop.depth }}/{{ loop.depth0 }}:{{ x.v }}{% if x.c %}{{ loop(x.c) }}{% endif %}){% endfor %}",
    "{% for x in tree recursive %}{{ loop.index }}{{ x.v }}{{ loop(x.c) if x.c else '.' }}{% else %}none{% endfor %}{% for y in l %}{{ loop.depth }}{% endfor %}",
    "{% for x in l %}{{ loop(l) }}{% endfor %}", "{% for x in l recursive %}{{ loop(l) }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{{ loop.changed(x) }}{% endfor %}",
    "{% for role, group in m | groupby('role') %}{{ role }}:{{ group | map(attribute='content') | join }};{% endfor %}",
    "{% for g in m | groupby('role') %}{{ g.grouper }}{{ g.list | length }}{{ g[0] }}{% endfor %}",
    "{% if n == 8 %}{{ s | nonexistent }}{% elif n is nonexistent %}x{% else %}fine{% endif %}", "{% if n == 7 %}fine{% else %}{{ s | nonexistent(1) | other }}{% endif %}",
    "{% if n == 7 %}{{ s | nonexistent }}{% endif %}",
    "{% macro f(x) %}<{{ x }}>{% endmacro %}{{ f('<') + '<' }}{{ f('<') | e }}{% set b %}<{% endset %}{{ b | e }}{{ b + '<' }}",
    "{% filter escape %}<{{ s }}>{% endfilter %}{% set t | upper %}ß{% endset %}{{ t }}",
    "  {% if true %}\n  a\n  {% endif %}\nb\n", "x {%- if true -%}  a  {%- endif -%}  y", "{{ 'a' -}}   \n  b {{- 'c' }}",
    "a\n   {#- comment -#}   \nb", "a\n  {# comment #}\nb\n", "  {%+ if true %}a{% endif +%}\nb", "{% if true -%}\n\n  a{% endif %}\n\n\n",
    "{% for i in l %}{{ i }}{% if not loop.last %}, {% endif %}{% endfor %}",
    "{% for i in l %}{{ loop.index }}/{{ loop.index0 }}/{{ loop.revindex }}/{{ loop.revindex0 }}/{{ loop.first }}/{{ loop.last }}/{{ loop.length }};{% endfor %}",
    "{% for i in l %}[{{ loop.previtem }}|{{ i }}|{{ loop.nextitem }}|{{ loop.cycle('a', 'b') }}]{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in 'añ' %}<{{ c }}>{% endfor %}",
    "{% for i in l if i > 1 %}{{ loop.index }}:{{ i }} {% else %}none{% endfor %}{% for i in e %}x{% else %}none{% endfor %}{% for i in missing %}x{% else %}none{% endfor %}",
    "{% for i in l %}{% for j in l %}{{ loop.index }}{% endfor %}{{ loop.index }} {% endfor %}",
    "{% for i in range(10) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}",
    "{% set x = 1 %}{% for i in l %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}",
    "{% set ns = namespace(n=0, found=false) %}{% for i in l %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}{{ ns.found }}{{ ns.nope }}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set (c, d2) = (3, 4) %}{{ c }}{{ d2 }}{% set t2 = 1, 2 %}{{ t2 }}",
    "{% if n == 1 %}a{% elif n == 7 %}b{% else %}c{% endif %}{% if e %}x{% elif z %}y{% else %}w{% endif %}",
    "{% set block %}\n  hello {{ n }}\n{% endset %}[{{ block }}]{% set b2 | upper | trim %} x {% endset %}[{{ b2 }}]",
    "{% macro f(a, b='x', c=none) %}{{ a }}-{{ b }}-{{ c }};{% endmacro %}{{ f(1) }}{{ f(1, 2) }}{{ f(b=3, a=4) }}{{ f() }}{{ f(1, c=n) }}",
    "{% macro fact(k) %}{% if k <= 1 %}1{% else %}{{ k }}*{{ fact(k - 1) }}{% endif %}{% endmacro %}{{ fact(5) }}",
    "{% macro wrap() %}<{{ caller() }}>{% endmacro %}{% call wrap() %}in{{ n }}{% endcall %}",
    "{% macro each(xs) %}{% for x in xs %}{{ caller(x) }}{% endfor %}{% endmacro %}{% call(y) each(l) %}[{{ y }}]{% endcall %}",
    "{% filter upper %}abc {{ s }}{% endfilter %}", "{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a }}",
    "{% raw %}{{ not }} {% parsed %}{% endraw %}|{%- raw -%}  x  {%- endraw -%}  y", "{% generation %}{{ s }}{% endgeneration %}\nx",
    "{% if 'x' in d.a and (n > 3 or false) %}ok{% endif %}", "{{ '{{' }} {{ \"}}\" }} {{ {'a': {'b': 1}}['a']['b'] }}",
    "a\r\nb\r\n{% if true %}\r\nc{% endif %}", "{{ l\n  | join(',')\n}}\n\n", "\n\n{% set x = 1 %}\n\n{{ x }}\n\n",
    "{% for x in m %}{{ x.content }}{% if x.x is defined and x.x %}!{% endif %}{% endfor %}", "{# only #}", "", "plain", "{{ a, b }}",
    "{{ m | selectattr('role', 'equalto', 'zz') and 'generator' }}", "{% for x in l | reverse %}{{ x }}{% endfor %}",
    "{% set ns = namespace() %}{% set ns.messages = [] %}{% for x in m %}{% set ns.messages = ns.messages + [x] %}{% endfor %}{{ ns.messages | length }}",
    "{% for m2 in m %}{% set content = m2.content if m2.content is string else 'no' %}{{ content | trim }}{% endfor %}",
    "{% if x is defined %}{% else %}{% endif %}{{ x | default('d') }}{% set x = 3 %}{{ x }}",
    # Malformed or failing.
    "{% if true %}", "{% endif %}", "{% for x in l %}", "{% else %}", "{% for %}{% endfor %}", "{% set %}", "{% unknown %}", "{{ }}",
    "{% if true %}{% endfor %}", "{# never closed", "{{ 'x' ", "{% set s.x = 1 %}", "{% for a, b in l %}{% endfor %}", "{% set a, b = [1] %}",
    "{% break %}", "{% macro f(a) %}{% endmacro %}{{ f(1, 2) }}", "{% macro f(a) %}{% endmacro %}{{ f(zz=2) }}", "{% set true = 1 %}",
    "line one\n\n{{ missing.x }}", "{% for i in 5 %}{% endfor %}", "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
]


def rendered(templates, folder, conversations, **how):
    """What each template makes of each conversation, with and without a prompt for the answer."""
    cases = []
    for template in templates:
        source = template.read_text(encoding="utf-8")
        for name, variables in conversations.items():
            for prompt in (True, False):
                given = {"bos_token": "<s>", "eos_token": "</s>", "add_generation_prompt": prompt, **variables}
                cases.append({"template": str(template.relative_to(folder)), "conversation": name, "prompt": prompt,
                              **render(source, given, **how)})
    return {"conversations": conversations, "cases": cases}


def main():
    published = rendered(sorted(FOLDER.glob("*.jinja")), FOLDER, CONVERSATIONS)
    cases = published["cases"]
    write("published.json", published)
    write("families.json", rendered(sorted((FOLDER / "families").glob("*.jinja")), FOLDER,
                                    {**CONVERSATIONS, **FAMILY_CONVERSATIONS}))
    features = []
    for source in ["{{ " + expression + " }}" for expression in EXPRESSIONS] + TEMPLATES:
        features.append({"source": source, **render(source, V)})
    for source in MUTATING:
        features.append({"source": source, **render(source, V, jinja2.sandbox.SandboxedEnvironment)})
    write("features.json", {"variables": V, "cases": features})
    print(len(cases), "renderings,", sum("error" in c for c in cases), "refused;", len(features), "features,",
          sum("error" in c for c in features), "errors")


def write(name, data):
    """One case a line."""
    cases = data.pop("cases")
    head = json.dumps(data, ensure_ascii=False)[:-1]
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    (FOLDER / name).write_text(f'{head}, "cases": [\n{lines}\n]}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
