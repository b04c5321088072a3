"""Writes settings.json and sections.json beside this file: what the agent SDK says of its settings.

    pip install openhands-sdk==1.58.2 && python schemas/agent/export.py

settings.json has the JSON schemas of the agent settings and of the conversation settings, without titles, sentences and
hints for forms. sections.json has both as the SDK exports them for forms, unchanged. The SDK is under the MIT License (see
LICENSE beside this file).
"""

import json
from importlib.metadata import version
from pathlib import Path

from pydantic import TypeAdapter

from openhands.sdk.settings import model

FOLDER = Path(__file__).parent
SOURCE = f"openhands-sdk {version('openhands-sdk')} from PyPI, MIT License; written by schemas/agent/export.py"
# What a schema says to people, and hints for forms.
WORDS = {"title", "description", "examples", "openhands_settings", "openhands_settings_section", "acp_compatible"}


def without_words(value, inside_properties=False):
    if isinstance(value, list):
        return [without_words(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        name: without_words(inner, inside_properties=name in ("properties", "$defs"))
        for name, inner in value.items()
        if inside_properties or name not in WORDS
    }


def reached(definitions, value, found):
    if isinstance(value, list):
        for item in value:
            reached(definitions, item, found)
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name == "$ref":
                target = inner.removeprefix("#/$defs/")
                if target not in found:
                    found.add(target)
                    reached(definitions, definitions[target], found)
            elif name != "mapping":
                reached(definitions, inner, found)
    return found


def conversation_settings():
    schema = model.ConversationSettings.model_json_schema()
    stored = {
        name: schema["properties"][name]
        for name, field in model.ConversationSettings.model_fields.items()
        if not field.exclude
    }
    return without_words({"type": "object", "properties": stored})


def write(name, document):
    text = json.dumps({"$comment": SOURCE, **document}, indent=2, ensure_ascii=False)
    (FOLDER / name).write_text(text + "\n", encoding="utf-8")


agent = TypeAdapter(model.AgentSettingsConfig).json_schema()
# The third kind, `llm`, is the old name of `openhands`; the SDK renames it when it reads settings.
kinds = ["OpenHandsAgentSettings", "ACPAgentSettings"]
wanted = reached(agent["$defs"], [{"$ref": f"#/$defs/{kind}"} for kind in kinds], set())
definitions = {name: without_words(agent["$defs"][name]) for name in sorted(wanted)}
definitions["ConversationSettings"] = conversation_settings()
write("settings.json", {"$defs": definitions})
write(
    "sections.json",
    {
        "agent": model.export_agent_settings_schema().model_dump(mode="json"),
        "conversation": model.ConversationSettings.export_schema().model_dump(mode="json"),
    },
)
