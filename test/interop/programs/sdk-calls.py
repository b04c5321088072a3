"""Calls every model through openhands-sdk's LLM, chat and Responses, whole and streamed; prints one line of JSON per call.

Reads {"models", "api_key"} as JSON from its standard input.
"""

import json
import sys

from openhands.sdk.llm import LLM, Message, TextContent


def text_of(response):
    return "".join(part.text for part in response.message.content if isinstance(part, TextContent))


def called(asked, model, way, is_streamed):
    llm = LLM(
        model=model["name"],
        base_url=model["base_url"],
        api_key=asked["api_key"],
        stream=is_streamed,
        num_retries=0,
        api_mode=way,
        usage_id="interop",
    )
    messages = [Message(role="user", content=[TextContent(text=f"{way} {is_streamed}")])]
    pieces = []
    call = llm.completion if way == "chat" else llm.responses
    response = call(messages, on_token=pieces.append if is_streamed else None)
    return {"text": text_of(response), "pieces": len(pieces), "id": response.raw_response.id}


asked = json.load(sys.stdin)
for model in asked["models"]:
    for way in ("chat", "responses"):
        for is_streamed in (False, True):
            told = {"model": model["name"], "way": way, "streamed": is_streamed}
            try:
                told |= called(asked, model, way, is_streamed)
            except Exception as error:
                told["error"] = f"{type(error).__name__}: {error}"
            print(json.dumps(told), flush=True)
