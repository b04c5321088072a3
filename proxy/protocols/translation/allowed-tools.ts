// A choice among some of the tools. Not every protocol can state it; to offer these alone says the same in all of them.
import { asObject, textIn, type Json } from '../../bodies/json.ts';
import type { Tool } from './form.ts';
import { optionalList } from './read.ts';

/** OpenAI's `allowed_tools`: what `tools` of it name. Tools of the vendor have no name. */
export function allowedNames(holder: Json, path: string): readonly string[] {
  return optionalList(holder, 'tools', path).flatMap((one) => {
    const tool = asObject(one);
    return textIn(asObject(tool?.['function']) ?? asObject(tool?.['custom']) ?? tool, 'name') ?? [];
  });
}

/** @param names null: all of them */
export function onlyAllowed(tools: readonly Tool[], names: readonly string[] | null): readonly Tool[] {
  if (names === null) return tools;
  const allowed = new Set(names);
  return tools.filter(({ name }) => allowed.has(name));
}
