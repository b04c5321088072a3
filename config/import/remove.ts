// Leaves comments in the place of what was taken out.
import { isNode } from 'yaml';
import { printable } from '../printable.ts';

/** Adds one line to the comment before a node; a line that is there already is not added again. */
export function commentOn(node: unknown, text: string): void {
  if (!isNode(node)) return;
  const line = printable(text);
  const lines = (node.commentBefore ?? '').split('\n').filter((one) => one !== '');
  if (!lines.includes(line)) node.commentBefore = [...lines, line].join('\n');
}
