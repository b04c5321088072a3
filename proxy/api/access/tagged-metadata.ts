// Metadata of keys and teams: their calls get the tags that stand in it, so these are read as `tags` beside it are. What else stands in
// it is kept as it is.
import { MOST_TAGS } from '../../access/caller.ts';
import { isObject, type Json } from '../../bodies/json.ts';
import { described, objectOf, textsUpTo } from './fields.ts';
import { METADATA_FIELDS } from './term-fields.ts';

/** All of them count with every call, whatever the call states, so that there must be an end to them. */
const tags = textsUpTo(MOST_TAGS);
const TAGGED = objectOf({ tags });

/** A text with commas is a list, as it is in a call: earlier versions kept it, and clients send back what they have read. */
const tagsIn = (text: string): readonly string[] =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter((tag) => tag !== '');

const metadata = described<Json>(METADATA_FIELDS.metadata.schema, (value, at, mistakes) => {
  if (!isObject(value)) return METADATA_FIELDS.metadata(value, at, mistakes);
  const stated = typeof value['tags'] === 'string' ? { ...value, tags: tagsIn(value['tags']) } : value;
  TAGGED(stated, at, mistakes);
  return METADATA_FIELDS.metadata(stated, at, mistakes);
});

export const TAGGED_METADATA_FIELDS = { ...METADATA_FIELDS, metadata, tags };
