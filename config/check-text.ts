// Has the loader judge a text that is not on the disk yet.
import type { Issue } from './issue.ts';
import { overlay } from './load.ts';
import { parse } from './parse.ts';
import type { Environment } from './environment.ts';

/** @returns its errors; empty = it can be served */
export function checkText(name: string, text: string, env: Environment): readonly Issue[] {
  const parsed = parse(name, text);
  if (!parsed.ok) return parsed.issues;
  const loaded = overlay(
    { files: [name], tree: parsed.tree, digest: '', secrets: new Map(), read: new Map() },
    env,
    [],
  );
  return loaded.ok ? [] : loaded.issues.filter(({ severity }) => severity === 'error');
}
