# Prints which parts of a dashboard get lost in the types of Grafana's Foundation SDK.
import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def lost(at, ours, theirs):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key, value in ours.items():
            if key in theirs:
                yield from lost(f"{at}.{key}", value, theirs[key])
            elif value not in (None, [], {}):  # the SDK leaves out what is empty
                yield f"{at}.{key}: Grafana does not know the field"
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for i, pair in enumerate(zip(ours, theirs)):
            yield from lost(f"{at}[{i}]", *pair)
    elif ours != theirs:
        yield f"{at}: {ours!r} became {theirs!r}"


register_default_plugins()
with open(sys.argv[1]) as file:
    ours = json.load(file)
for line in lost("dashboard", ours, json.loads(JSONEncoder().encode(Dashboard.from_json(ours)))):
    print(line)
