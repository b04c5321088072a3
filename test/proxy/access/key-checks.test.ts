// Which routes the `allowed_routes` of a key open. What its type and its role do is tested from outside.
import t from 'tap';
import { checkRoute, type RouteKind } from '../../../proxy/access/key-checks.ts';
import { blankKey } from '../../../proxy/access/objects/blank.ts';

const CHAT: RouteKind = { path: '/v1/chat/completions', kind: 'llm' };
const PLAIN_CHAT: RouteKind = { path: '/chat/completions', kind: 'llm' };
const MESSAGES: RouteKind = { path: '/anthropic/v1/messages', kind: 'llm' };
const MODELS: RouteKind = { path: '/v1/models', kind: 'listing' };
const NEW_KEY: RouteKind = { path: '/key/generate', kind: 'management' };
const KEY_INFO: RouteKind = { path: '/v2/key/info', kind: 'management' };
const USER_INFO: RouteKind = { path: '/v2/user/info', kind: 'management' };
const MODEL_INFO: RouteKind = { path: '/model/info', kind: 'listing' };
const NEW_MODEL: RouteKind = { path: '/model/new', kind: 'admin' };
const ROWS: RouteKind = { path: '/spend/logs', kind: 'admin' };
const ALL = [CHAT, PLAIN_CHAT, MESSAGES, MODELS, NEW_KEY, KEY_INFO, USER_INFO, MODEL_INFO, NEW_MODEL, ROWS];

function opened(allowed: string): readonly RouteKind[] {
  const key = { ...blankKey('k', '', 1), allowedRoutes: [allowed] };
  return ALL.filter((route) => {
    try {
      checkRoute(key, route);
      return true;
    } catch {
      return false;
    }
  });
}

t.test('a path, a prefix, a group: with a version only what has one', async (t) => {
  for (const [allowed, routes] of [
    ['*', ALL],
    ['/*', ALL],
    ['/chat/completions', [CHAT, PLAIN_CHAT]],
    ['/v1/chat/*', [CHAT, PLAIN_CHAT]],
    ['/v1/*', [CHAT, PLAIN_CHAT, MESSAGES, MODELS, MODEL_INFO]],
    ['/openai/v1/*', [CHAT, PLAIN_CHAT, MESSAGES, MODELS, MODEL_INFO]],
    ['/anthropic/v1/*', [MESSAGES]],
    ['/anthropic/*', [MESSAGES]],
    ['/v1*', [CHAT, MODELS]],
    ['/v1/m*', [MESSAGES, MODELS, MODEL_INFO]],
    ['/v1/key/generate', []],
    ['/key/*', [NEW_KEY]],
    ['/model/*', [MODEL_INFO, NEW_MODEL]],
    ['llm_api_routes', [CHAT, PLAIN_CHAT, MESSAGES, MODELS, MODEL_INFO]],
    ['management_routes', [NEW_KEY, KEY_INFO, USER_INFO]],
    ['info_routes', [MODELS, KEY_INFO, USER_INFO, MODEL_INFO]],
    ['key_management_routes', [NEW_KEY, KEY_INFO]],
    ['user_management_routes', [USER_INFO]],
    ['no_such_routes', []],
  ] as const)
    t.same(opened(allowed), routes, allowed);
});
