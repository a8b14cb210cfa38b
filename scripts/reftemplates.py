#!/usr/bin/env python3
"""Render chat templates with Python's Jinja2, as a reference for llm/chattmpl.

Reads one JSON object on standard input:

    {"now": "2026-03-14T15:09:26",
     "jobs": [{"template": SOURCE, "vars": {...}}, ...]}

and writes a JSON list, one object for each job: {"text": ...} or {"error": ...}.
The environment is the one that chat templates are written for: trim_blocks,
lstrip_blocks, loop controls, the generation block, tojson without escaping.
Needs only the package jinja2.
"""

import datetime
import json
import sys

import jinja2
import jinja2.ext
import jinja2.sandbox


class Generation(jinja2.ext.Extension):
    """{% generation %}...{% endgeneration %} marks text for training; here it is only its body."""

    tags = {"generation"}

    def parse(self, parser):
        next(parser.stream)
        return parser.parse_statements(["name:endgeneration"], drop_needle=True)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment(now):
    env = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True,
        lstrip_blocks=True,
        extensions=[jinja2.ext.loopcontrols, Generation],
    )
    env.filters["tojson"] = tojson
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = now.strftime
    return env


def render(env, compiled, job):
    source = job["template"]
    try:
        if source not in compiled:
            compiled[source] = env.from_string(source)
        return {"text": compiled[source].render(**job["vars"])}
    except Exception as e:  # whatever a template raises is its answer
        return {"error": f"{type(e).__name__}: {e}"}


def main():
    request = json.load(sys.stdin)
    env = environment(datetime.datetime.fromisoformat(request["now"]))
    compiled = {}
    json.dump([render(env, compiled, job) for job in request["jobs"]], sys.stdout, ensure_ascii=False)


if __name__ == "__main__":
    main()
