// Leaves comments in the place of what was taken out.
import { isNode } from 'yaml';
import { printable } from '../printable.ts';

/** Adds lines to the comment before a node; a line that is there already is not added again. */
export function commentOn(node: unknown, ...texts: readonly string[]): void {
  if (!isNode(node)) return;
  const lines = (node.commentBefore ?? '').split('\n').filter((one) => one !== '');
  node.commentBefore = [...new Set([...lines, ...texts.map(printable)])].join('\n');
}
