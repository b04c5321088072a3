// The database that a configuration names, and nothing else of it: reports over spend are made on machines that have
// neither the keys of the gateways nor the files that hold them.
import { dirname } from 'node:path';
import { byPlace, Diagnostics } from './diagnostics.ts';
import type { Issue } from './issue.ts';
import { environmentOf, withReferences } from './references.ts';
import type { Environment } from './environment.ts';
import { databaseOf } from './resolve/database.ts';
import { SecretFiles, withFileVariables, withSecretFiles } from './secret-files.ts';
import type { DatabaseSettings } from './database-settings.ts';
import { readText } from './read.ts';
import { readSource } from './source.ts';
import { memberOf, type Tree } from './tree.ts';
import { validated } from './validate.ts';

type LoadedDatabase =
  | { readonly ok: true; readonly database: DatabaseSettings | null }
  | { readonly ok: false; readonly issues: readonly Issue[] };

const KEYS = ['database_url', 'database_url_file'];

/** @returns the database (null = the embedded store), or the issues of its settings alone */
export function loadDatabase(path: string, env: Environment): LoadedDatabase {
  const read = readSource(path, readText);
  if (!read.ok) return { ok: false, issues: read.issues.toSorted(byPlace) };
  const written = pruned(read.source.tree);
  const diagnostics = new Diagnostics(written);
  const files = new SecretFiles(dirname(read.source.files[0] ?? ''));
  const own = withFileVariables(environmentOf(read.source.tree, env, files), files, diagnostics, [
    'DATABASE_URL',
    'DATABASE_PASSWORD',
  ]);
  const tree = withSecretFiles(withReferences(written, env, own, files, diagnostics), files, diagnostics);
  const { database_url: url } = validated(tree, diagnostics).general_settings;
  const isSound = diagnostics.isSound(['general_settings', 'database_url']);
  const database = isSound ? databaseOf(url, own, diagnostics) : null;
  const issues = diagnostics.issues();
  return issues.some(({ severity }) => severity === 'error') ? { ok: false, issues } : { ok: true, database };
}

/** Without all that concerns no database. */
function pruned(root: Tree): Tree {
  const general = memberOf(root, 'general_settings');
  if (root.kind !== 'map' || general?.kind !== 'map') return { ...root, kind: 'map', members: new Map() };
  const members = new Map([...general.members].filter(([key]) => KEYS.includes(key)));
  const section = root.members.get('general_settings');
  if (section === undefined) return root;
  return { ...root, members: new Map([['general_settings', { ...section, tree: { ...general, members } }]]) };
}
