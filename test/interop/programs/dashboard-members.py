"""Reads dashboards into the classes that Grafana generates from its own schemas, panel plugins included, writes them again, and prints as
JSON what did not come back: members that Grafana does not know, and values that it would read differently."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

register_default_plugins()


def lost(before, after, path=""):
    if isinstance(before, dict):
        for name, value in before.items():
            if not isinstance(after, dict) or name not in after:
                yield f"{path}/{name}"
            else:
                yield from lost(value, after[name], f"{path}/{name}")
    elif isinstance(before, list):
        if not isinstance(after, list) or len(before) != len(after):
            yield path
        else:
            for index, (one, other) in enumerate(zip(before, after)):
                yield from lost(one, other, f"{path}/{index}")
    elif before != after:
        yield path


raw = json.load(sys.stdin)
print(json.dumps(list(lost(raw, json.loads(JSONEncoder().encode(Dashboard.from_json(raw)))))))
