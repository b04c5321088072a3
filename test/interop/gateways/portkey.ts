// Portkey's open gateway from npm: it has no keys, models or rows of its own; each call tells it where to go.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/free-port.ts';
import { npm } from '../../support/npm.ts';
import { Missing } from '../harness/suite.ts';
import { startProgram } from './program.ts';
import { PROVIDER_KEY, type GatewayRecipe } from './recipe.ts';

const VERSION = '1.15.2';
/** With the newest versions that it allows, every stream of it fails. */
const PINNED = { '@hono/node-server': '1.13.7', hono: '4.6.10' };

let installed = '';

export const portkey: GatewayRecipe = {
  name: 'Portkey',
  how: `from npm, with @hono/node-server ${PINNED['@hono/node-server']} and hono ${PINNED.hono}; the provider is named in headers of the entry.`,
  prepare: (run) => {
    installed = run.folder();
    const dependencies = { '@portkey-ai/gateway': VERSION };
    writeFileSync(
      join(installed, 'package.json'),
      JSON.stringify({ private: true, dependencies, overrides: PINNED }),
    );
    const { status, err } = npm(installed, 'npm', 'install', '--ignore-scripts');
    if (status !== 0) throw new Missing(`@portkey-ai/gateway cannot be installed: ${err.trim().slice(-300)}`);
    return Promise.resolve(VERSION);
  },
  start: async (run) => {
    const port = await freePort();
    const { kill } = await startProgram(run, {
      command: process.execPath,
      args: [
        join(installed, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
        '--headless',
        `--port=${port}`,
      ],
      folder: run.folder(),
      port,
      readyPath: '/',
    });
    return { port, key: PROVIDER_KEY, kill };
  },
  entry: ({ url, providerUrl, model, api, key }) => ({
    model: `openai/${model}`,
    api_base: `${url}/v1`,
    api_key: key,
    gateway: 'portkey',
    extra_headers: {
      'x-portkey-provider': api === 'messages' ? 'anthropic' : 'openai',
      'x-portkey-custom-host': `${providerUrl}/v1`,
      'x-portkey-forward-headers': 'x-from-client',
    },
  }),
  headerForProvider: 'x-from-client',
  sessionHeader: 'x-portkey-trace-id',
  limits: {
    'unknown-model': {
      cell: 'not offered',
      why: 'it has no models of its own: the name goes to the provider.',
      fails: /^status 200/,
    },
    'identity-log': {
      cell: 'not offered',
      why: 'it keeps no rows; `x-portkey-trace-id` and `x-portkey-metadata` arrive.',
      fails: /the gateway keeps no rows/,
    },
    'client-leaves': {
      cell: 'no',
      why: 'its call of a provider that is silent goes on; ours to it is aborted.',
      fails: /the provider goes on/,
    },
  },
};
