"""The platform's own client of its LLM proxy (lite_llm_manager.py), run as it is against a proxy.

Reads {"source": path, "url": ..., "key": ..., "team": ...} from stdin. The modules that it imports from the platform are
stood in for: constants, a logger that is silent, users and their e-mail addresses. Prints one JSON line for each step: what
it returned, or the error that it raised, and each HTTP call that it made with its status.
"""

import asyncio
import importlib.util
import json
import logging
import sys
import types

import httpx
from pydantic import SecretStr

ASKED = json.load(sys.stdin)
CALLS: list[list] = []


class Plain:
    """Holds whatever is set."""

    def __init__(self, **members):
        self.__dict__.update(members)


class Settings(Plain):
    """Of a user: later versions say in one update what the first ones set member by member."""

    def update(self, said):
        for agent in said.values():
            self.llm_api_key = SecretStr(agent['llm']['api_key'])


class Organizations:
    """The names of organizations, which are in no database here."""

    @staticmethod
    async def get_org_by_id(_id):
        return None


class Users:
    """The e-mail addresses of the identity provider."""

    emails: dict[str, str] = {}

    async def get_user_info_from_user_id(self, user_id):
        return {'email': self.emails.get(user_id), 'preferred_username': user_id}


class Members:
    """The key that the platform's database holds for a user."""

    keys: dict[tuple[str, str], str] = {}

    @staticmethod
    async def get_user_by_id(user_id):
        found = [
            Plain(org_id=org, llm_api_key=key)
            for (org, user), key in Members.keys.items()
            if user == user_id
        ]
        return Plain(org_members=found)


def not_encrypted(_value):
    raise ValueError('not encrypted')


def stand_in(name, **members):
    parts = name.split('.')
    for end in range(1, len(parts) + 1):
        path = '.'.join(parts[:end])
        if path not in sys.modules:
            sys.modules[path] = types.ModuleType(path)
            sys.modules[path].__path__ = []
    sys.modules[name].__dict__.update(members)


logger = logging.getLogger('platform')
logger.addHandler(logging.NullHandler())
logger.propagate = False
stand_in('server.auth.token_manager', TokenManager=Users)
stand_in(
    'server.constants',
    DEFAULT_INITIAL_BUDGET=0.0,
    LITE_LLM_API_KEY=ASKED['key'],
    LITE_LLM_API_URL=ASKED['url'],
    LITE_LLM_TEAM_ID=ASKED['team'],
    ORG_SETTINGS_VERSION=5,
    get_default_litellm_model=lambda: 'litellm_proxy/demo',
    get_default_llm_api_key=lambda: None,
    get_default_llm_base_url=lambda: None,
    get_default_llm_model=lambda: None,
    should_use_direct_llm_defaults=lambda: False,
)
stand_in('server.logger', logger=logger)
stand_in('storage.encrypt_utils', decrypt_legacy_value=not_encrypted)
stand_in('storage.org_store', OrgStore=Organizations)
stand_in('storage.user_settings', UserSettings=Plain)
stand_in('storage.user_store', UserStore=Members)
# The names of April 2026, and those of July.
for settings, session in (
    ('server.settings', 'utils.http_session'),
    ('app_server.settings.settings_models', 'app_server.utils.http_session'),
):
    stand_in(f'openhands.{settings}', Settings=Settings)
    stand_in(f'openhands.{session}', httpx_verify_option=lambda: False)

sending = httpx.AsyncClient.send


async def noted(self, request, **options):
    response = await sending(self, request, **options)
    CALLS.append([request.method, request.url.path, response.status_code])
    return response


httpx.AsyncClient.send = noted

spec = importlib.util.spec_from_file_location('lite_llm_manager', ASKED['source'])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
Manager = module.LiteLlmManager


async def step(name, work):
    CALLS.clear()
    said = {'step': name}
    try:
        said['value'] = await work
    except Exception as error:  # what the platform would have logged
        status = getattr(getattr(error, 'response', None), 'status_code', None)
        said['error'] = f'{type(error).__name__}: {error}'[:300]
        said['status'] = status
    said['calls'] = list(CALLS)
    print(json.dumps(said, default=lambda one: getattr(one, '__dict__', str(one))), flush=True)
    return said.get('value')


def alias(kind, user, org):
    return getattr(module, f'get_{kind}_key_alias')(user, org)


async def provision(user, org, create_user=True):
    """A new user: what the platform does at the first sign-in, and at each one where the key is gone."""
    await Manager.delete_key_by_alias(alias('openhands_cloud', user, org))
    settings = await Manager.create_entries(org, user, Settings(), create_user)
    key = settings.llm_api_key.get_secret_value()
    Members.keys[(org, user)] = key
    return key


async def whole(key, user, org):
    """Whether everything that was provisioned is found again, as the platform looks for it."""
    return {
        'valid': await Manager.verify_key(key, user),
        'found': await Manager.verify_existing_key(key, user, org),
        'info': await Manager.get_key_info(org, user),
        'budget': Manager.get_budget_from_team_info(
            await Manager.get_user_team_info(user, org), user, org
        ),
    }


async def migrated(user, org):
    """A user of the time before organizations: a budget and twelve keys of its own."""
    await Manager.create_user(Users.emails[user], user)
    await Manager.update_user(user, max_budget=20.0)
    keys = [
        await Manager.generate_key(user, None, f'{user} {n}', None) for n in range(12)
    ]
    settings = Plain(
        user_version=5,
        billing_margin=1.0,
        llm_api_key=keys[11],
        llm_base_url=ASKED['url'],
        agent_settings={'llm': {'api_key': keys[11], 'base_url': ASKED['url']}},
    )
    await Manager.migrate_entries(org, user, settings)
    team = await Manager.get_team(org)
    again = await Manager.migrate_entries(org, user, settings)
    return {
        'moved': len(team['keys']),
        'budget': team['team_info']['max_budget'],
        'again': again is None,
        'valid': [await Manager.verify_key(key, user) for key in keys].count(True),
    }


async def downgraded(user, org):
    await Manager.downgrade_entries(org, user, Plain())
    info = await Manager.get_user(user)
    return {
        'budget': info['user_info']['max_budget'],
        'teams': sorted({key['team_id'] for key in info['keys']}),
        'valid': len(info['keys']),
    }


async def rotated(user, org):
    """A key of the user's own (BYOR), then another one in its place."""
    name = alias('byor', user, org)
    first = await Manager.generate_key(user, org, name, {'type': 'byor'})
    found = await Manager.verify_existing_key(first, user, org)
    await Manager.delete_key(first, name)
    second = await Manager.generate_key(user, org, name, {'type': 'byor'})
    return {
        'found': found,
        'old': await Manager.verify_key(first, user),
        'new': await Manager.verify_key(second, user),
        'old_found': await Manager.verify_existing_key(first, user, org),
        'new_found': await Manager.verify_existing_key(second, user, org),
    }


async def budgets(user, org):
    await Manager.update_team_and_users_budget(org, 25.0)
    membership = await Manager.get_user_team_info(user, org)
    team = await Manager.get_team(org)
    return {
        'team': team['team_info']['max_budget'],
        'member': membership['litellm_budget_table']['max_budget'],
        'metadata': team['team_info']['metadata'],
    }


async def left(user, org):
    await Manager.remove_user_from_team(user, org)
    await Manager.remove_user_from_team(user, org)
    return [one['user_id'] for one in (await Manager.get_team(org))['team_memberships']]


async def main():
    Users.emails = {
        'first': 'first@example.com',
        'second': 'second@example.com',
        'shadow': 'FIRST@example.com',
        'old': 'old@example.com',
    }
    org = 'org-1'
    await step('a team that does not exist', Manager.get_team(org))
    key = await step('the first user of an organization', provision('first', org))
    await step('everything is found again', whole(key, 'first', org))
    again = await step('the same once more', provision('first', org))
    await step('the old key is gone', Manager.verify_key(key, 'first'))
    await step('the new one is there', whole(again, 'first', org))
    await step('the second user', provision('second', org))
    await step("a user with somebody else's e-mail address", provision('shadow', 'org-2'))
    await step('budgets of the team and of its members', budgets('first', org))
    await step('a key of the user, rotated', rotated('first', org))
    await step('a user from before organizations moves with twelve keys', migrated('old', 'org-3'))
    await step('and back', downgraded('old', 'org-3'))
    await step('a member leaves, twice', left('second', org))
    await step('a user is deleted', Manager.delete_user('second'))
    await step('a team is deleted', Manager.delete_team(org))
    await step('once more', Manager.delete_team(org))
    await step('its keys are gone', Manager.verify_key(again, 'first'))


asyncio.run(main())
