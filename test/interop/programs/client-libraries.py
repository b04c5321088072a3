"""Calls a proxy through client libraries of PyPI as programs do. Reads {"base", "key", "cases"} as JSON and prints a line of JSON
per library and case: {"client", "case", "value"} or {"client", "case", "error", "status"}."""

import base64
import json
import os
import sys

asked = json.load(sys.stdin)
BASE, KEY = asked['base'], asked['key']
IMAGE = 'data:image/png;base64,' + base64.b64encode(b'\x89PNG\r\n\x1a\n').decode()
SCHEMA = {
    'title': 'Place',
    'description': 'A place.',
    'type': 'object',
    'properties': {'city': {'type': 'string'}, 'days': {'type': 'integer'}},
    'required': ['city', 'days'],
}


def weather(city: str, days: int) -> str:
    """The weather."""
    return f'{city}: sun'


def loop(invoke, tool_message):
    """Calls tools until there is a text. Returns the cities and the text."""
    cities = []
    answer = invoke(None)
    while answer.tool_calls:
        for call in answer.tool_calls:
            cities.append(call['args']['city'])
        answer = invoke((answer, [tool_message(call) for call in answer.tool_calls]))
    return [cities, text_of(answer.content)]


def text_of(content):
    if isinstance(content, str):
        return content
    return ''.join(part.get('text', '') for part in content if part.get('type') == 'text')


def langchain(make):
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool

    def tools():
        model = make('two-cities').bind_tools([tool(weather)])
        history = [HumanMessage('Ask for two cities.')]

        def invoke(step):
            if step is not None:
                history.extend([step[0], *step[1]])
            return model.invoke(history)

        return loop(invoke, lambda call: ToolMessage(weather(**call['args']), tool_call_id=call['id']))

    def image():
        content = [{'type': 'text', 'text': 'What is it?'}, {'type': 'image_url', 'image_url': {'url': IMAGE}}]
        return text_of(make('text').invoke([HumanMessage(content)]).content)

    def stream():
        pieces = [text_of(chunk.content) for chunk in make('text').stream('one two three')]
        return [''.join(pieces), len([one for one in pieces if one]) > 1]

    def usage():
        found = make('text').invoke('one two three').usage_metadata
        return [found['input_tokens'], found['output_tokens']]

    return {
        'chat': lambda: text_of(make('text').invoke('one two three').content),
        'usage': usage,
        'stream': stream,
        'tools': tools,
        'structured': lambda: make('structured').with_structured_output(SCHEMA).invoke('Where?'),
        'image': image,
        'retry': lambda: text_of(make('retry', 2).invoke('one two three').content),
        'refused': lambda: make('refused').invoke('one two three'),
        'wrong key': lambda: make('text', key='sk-nobody').invoke('one two three'),
    }


def langchain_openai():
    from langchain_openai import ChatOpenAI

    def make(model, retries=0, key=KEY):
        return ChatOpenAI(model=model, base_url=BASE + '/v1', api_key=key, max_retries=retries, stream_usage=True)

    return langchain(make)


def langchain_anthropic():
    from langchain_anthropic import ChatAnthropic

    def make(model, retries=0, key=KEY):
        return ChatAnthropic(model=model, base_url=BASE, api_key=key, max_retries=retries, max_tokens=200)

    return langchain(make)


def genai():
    from google import genai
    from google.genai import types

    def client(key=KEY, attempts=1):
        options = types.HttpOptions(base_url=BASE, retry_options=types.HttpRetryOptions(attempts=attempts, initial_delay=0.01))
        return genai.Client(api_key=key, http_options=options)

    def ask(model, contents='one two three', config=None, **how):
        one = client(**how)  # closed when nothing names it
        return one.models.generate_content(model=model, contents=contents, config=config)

    def usage():
        found = ask('text').usage_metadata
        return [found.prompt_token_count, found.candidates_token_count]

    def stream():
        caller = client()
        frames = caller.models.generate_content_stream(model='text', contents='one two three')
        pieces = [one.text or '' for one in frames]
        return [''.join(pieces), len([one for one in pieces if one]) > 1]

    def tools():
        called = []

        def noted(city: str, days: int) -> str:
            """The weather."""
            called.append(city)
            return f'{city}: sun'

        noted.__name__ = 'weather'
        answer = ask('two-cities', 'Ask for two cities.', types.GenerateContentConfig(tools=[noted]))
        return [called, answer.text]

    def structured():
        schema = {key: value for key, value in SCHEMA.items() if key != 'description'}
        config = types.GenerateContentConfig(response_mime_type='application/json', response_json_schema=schema)
        return json.loads(ask('structured', 'Where?', config).text)

    def image():
        part = types.Part.from_bytes(data=base64.b64decode(IMAGE.split(',')[1]), mime_type='image/png')
        return ask('text', ['What is it?', part]).text

    return {
        'chat': lambda: ask('text').text,
        'usage': usage,
        'stream': stream,
        'tools': tools,
        'structured': structured,
        'image': image,
        'retry': lambda: ask('retry', attempts=3).text,
        'refused': lambda: ask('refused'),
        'wrong key': lambda: ask('text', key='sk-nobody'),
    }


def litellm_client():
    import litellm

    def ask(model, messages=None, key=KEY, **more):
        say = messages or [{'role': 'user', 'content': 'one two three'}]
        return litellm.completion(model='litellm_proxy/' + model, api_base=BASE, api_key=key, messages=say, **{'num_retries': 0, **more})

    def text(model, **more):
        return ask(model, **more).choices[0].message.content

    def usage():
        found = ask('text').usage
        return [found.prompt_tokens, found.completion_tokens]

    def stream():
        pieces = [one.choices[0].delta.content or '' for one in ask('text', stream=True)]
        return [''.join(pieces), len([one for one in pieces if one]) > 1]

    def tools():
        declared = [{'type': 'function', 'function': {'name': 'weather', 'description': 'The weather.', 'parameters': SCHEMA}}]
        history, cities = [{'role': 'user', 'content': 'Ask for two cities.'}], []
        for _ in range(5):
            message = ask('two-cities', history, tools=declared).choices[0].message
            if not message.tool_calls:
                return [cities, message.content]
            history.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls:
                args = json.loads(call.function.arguments)
                cities.append(args['city'])
                history.append({'role': 'tool', 'tool_call_id': call.id, 'content': weather(**args)})
        return [cities, None]

    def structured():
        form = {'type': 'json_schema', 'json_schema': {'name': 'place', 'schema': SCHEMA}}
        return json.loads(text('structured', response_format=form))

    def image():
        parts = [{'type': 'text', 'text': 'What is it?'}, {'type': 'image_url', 'image_url': {'url': IMAGE}}]
        return text('text', messages=[{'role': 'user', 'content': parts}])

    return {
        'chat': lambda: text('text'),
        'usage': usage,
        'stream': stream,
        'tools': tools,
        'structured': structured,
        'image': image,
        'retry': lambda: text('retry', num_retries=2),
        'refused': lambda: ask('refused'),
        'wrong key': lambda: ask('text', key='sk-nobody'),
    }


CLIENTS = {
    'langchain-openai': langchain_openai,
    'langchain-anthropic': langchain_anthropic,
    'google-genai': genai,
    'litellm': litellm_client,
}
for name in asked['clients']:
    for case, call in CLIENTS[name]().items():
        line = {'client': name, 'case': case}
        try:
            line['value'] = call()
        except Exception as error:
            status = getattr(error, 'status_code', None) or getattr(error, 'code', None)
            line['error'] = f'{type(error).__name__}: {error}'[:400]
            line['kind'] = type(error).__name__
            line['status'] = status
        print(json.dumps(line, default=str), flush=True)
os._exit(0)
