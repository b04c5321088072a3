# What the vendors' SDKs make of translated streams. Reads {"base": ..., "protocols": [...]} and prints a line per call.
import json
import sys

import anthropic
import litellm
import openai
from google import genai

asked = json.load(sys.stdin)
SAY = 'Use both tools.'
SCHEMA = {'type': 'object', 'properties': {'path': {'type': 'string'}}, 'required': ['path']}
TOOLS = [{'type': 'function', 'function': {'name': name, 'description': name, 'parameters': SCHEMA}} for name in ('read_file', 'draw')]


def chat(base):
    client = openai.OpenAI(base_url=base + '/v1', api_key='made-up', max_retries=0)
    with client.chat.completions.stream(
        model='m', messages=[{'role': 'user', 'content': SAY}], tools=TOOLS, stream_options={'include_usage': True}
    ) as stream:
        for _ in stream:
            pass
        answer = stream.get_final_completion()
    message = answer.choices[0].message
    return {
        'text': message.content,
        'calls': [[one.function.name, json.loads(one.function.arguments)] for one in message.tool_calls],
        'usage': [answer.usage.prompt_tokens, answer.usage.completion_tokens],
        'end': answer.choices[0].finish_reason,
    }


def responses(base):
    client = openai.OpenAI(base_url=base + '/v1', api_key='made-up', max_retries=0)
    tools = [{'type': 'function', **one['function']} for one in TOOLS]
    with client.responses.stream(model='m', input=SAY, tools=tools) as stream:
        for _ in stream:
            pass
        answer = stream.get_final_response()
    calls = [one for one in answer.output if one.type == 'function_call']
    return {
        'text': answer.output_text,
        'calls': [[one.name, json.loads(one.arguments)] for one in calls],
        'usage': [answer.usage.input_tokens, answer.usage.output_tokens],
        'end': answer.status,
    }


def messages(base):
    client = anthropic.Anthropic(base_url=base, api_key='made-up', max_retries=0)
    tools = [{'name': one['function']['name'], 'input_schema': SCHEMA} for one in TOOLS]
    with client.messages.stream(
        model='m', max_tokens=2000, messages=[{'role': 'user', 'content': SAY}], tools=tools
    ) as stream:
        for _ in stream:
            pass
        answer = stream.get_final_message()
    usage = answer.usage
    return {
        'text': ''.join(one.text for one in answer.content if one.type == 'text'),
        'calls': [[one.name, one.input] for one in answer.content if one.type == 'tool_use'],
        'usage': [usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0), usage.output_tokens],
        'end': answer.stop_reason,
    }


def gemini(base):
    client = genai.Client(api_key='made-up', http_options={'base_url': base})
    declarations = [{'name': one['function']['name'], 'parameters_json_schema': SCHEMA} for one in TOOLS]
    text, calls, usage, end = '', [], None, None
    for frame in client.models.generate_content_stream(
        model='m', contents=SAY, config={'tools': [{'function_declarations': declarations}]}
    ):
        candidate = frame.candidates[0]
        end = candidate.finish_reason or end
        usage = frame.usage_metadata or usage
        for part in candidate.content.parts:
            if part.function_call:
                calls.append([part.function_call.name, part.function_call.args])
            elif part.text and not part.thought:
                text += part.text
    answered = (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return {'text': text, 'calls': calls, 'usage': [usage.prompt_token_count, answered], 'end': end.value}


def through_litellm(prefix, suffix):
    def call(base):
        messages = [{'role': 'user', 'content': SAY}]
        chunks = list(
            litellm.completion(
                model=prefix + 'm', api_base=base + suffix, api_key='made-up', messages=messages, tools=TOOLS, stream=True,
                stream_options={'include_usage': True}, num_retries=0,
            )
        )
        answer = litellm.stream_chunk_builder(chunks, messages=messages)
        message = answer.choices[0].message
        return {
            'text': message.content,
            'calls': [[one.function.name, json.loads(one.function.arguments)] for one in message.tool_calls],
            'usage': [answer.usage.prompt_tokens, answer.usage.completion_tokens],
            'end': answer.choices[0].finish_reason,
        }

    return call


CALLERS = {
    'chat': {'openai': chat, 'litellm': through_litellm('openai/', '/v1')},
    'responses': {'openai': responses},
    'messages': {'anthropic': messages, 'litellm': through_litellm('anthropic/', '/v1/messages')},
    'gemini': {'google-genai': gemini},
}
for caller, sdks in CALLERS.items():
    for name, call in sdks.items():
        for upstream in asked['protocols']:
            if upstream == caller:
                continue
            line = {'sdk': name, 'caller': caller, 'upstream': upstream}
            try:
                line.update(call(f"{asked['base']}/{upstream}"))
            except Exception as error:
                line['error'] = f'{type(error).__name__}: {error}'[:400]
            print(json.dumps(line), flush=True)
