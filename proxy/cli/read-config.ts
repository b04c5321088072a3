// The configuration that a command works on, loaded whole. Apart from terminal.ts, so that other commands load no reader of YAML.
import { resolve } from 'node:path';
import { loadConfig, type Loaded } from '../../config/load.ts';
import { ConfigRefused } from '../errors/cannot-start.ts';
import { configPathOf, type Terminal } from './terminal.ts';

/** @param flag undefined: the variable names it @throws UsageError when nothing does, ConfigRefused */
export function readConfig(flag: string | undefined, terminal: Terminal): Extract<Loaded, { ok: true }> {
  const loaded = loadConfig(resolve(terminal.cwd, configPathOf(flag, terminal)), terminal.env);
  if (!loaded.ok) throw new ConfigRefused(loaded.issues);
  return loaded;
}
