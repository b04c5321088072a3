// Small faults that a test should notice: an operator turned, a condition fixed, a literal changed, a statement left out.
// Each is one replacement of a stretch of text, found in the syntax tree so that types and imports stay untouched.
import { parseSync } from 'oxc-parser';

export interface Mutant {
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

interface SyntaxNode {
  readonly type: string;
  readonly start: number;
  readonly end: number;
  readonly [member: string]: unknown;
}

const OPERATORS: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+=': '-=',
  '-=': '+=',
};

const isNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'type' in value && typeof value.type === 'string';

/** All mutants of a TypeScript source, in the order of the text. */
export function mutantsOf(file: string, text: string): Mutant[] {
  const { program, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file} cannot be parsed: ${errors[0]?.message ?? ''}`);
  const found: Mutant[] = [];
  const visit = (node: SyntaxNode): void => {
    // Types are gone when the code runs; what is imported has its own tests.
    if (/^(?:TS(?!AsExpression|SatisfiesExpression|NonNull)|ImportDeclaration|ExportAll)/.test(node.type))
      return;
    found.push(...mutantsAt(node, text));
    for (const [member, value] of Object.entries(node)) {
      if (member === 'key' && node['computed'] !== true) continue;
      for (const child of Array.isArray(value) ? (value as unknown[]) : [value])
        if (isNode(child)) visit(child);
    }
  };
  if (isNode(program)) visit(program);
  return found.toSorted((a, b) => a.start - b.start || a.end - b.end);
}

function mutantsAt(node: SyntaxNode, text: string): Mutant[] {
  const whole = (replacement: string): Mutant => ({ start: node.start, end: node.end, replacement });
  const of = (part: unknown, replacement: string): Mutant[] =>
    isNode(part) ? [{ start: part.start, end: part.end, replacement }] : [];
  switch (node.type) {
    case 'BinaryExpression':
    case 'LogicalExpression':
    case 'AssignmentExpression':
      return turned(node, text);
    case 'IfStatement':
    case 'ConditionalExpression':
      return [...of(node['test'], 'true'), ...of(node['test'], 'false')];
    case 'UnaryExpression':
      return node['operator'] === '!' && isNode(node['argument'])
        ? [whole(text.slice(node['argument'].start, node['argument'].end))]
        : [];
    case 'ReturnStatement':
      return isNode(node['argument']) && !node['argument'].type.endsWith('Literal')
        ? of(node['argument'], 'undefined')
        : [];
    case 'ExpressionStatement':
      return isNode(node['expression']) && node['expression'].type === 'CallExpression' ? [whole(';')] : [];
    case 'ContinueStatement':
    case 'BreakStatement':
      return [whole(';')];
    case 'Literal':
      return literal(node['value']).map(whole);
    default:
      return [];
  }
}

/** The operator between the two sides, replaced by its counterpart. */
function turned(node: SyntaxNode, text: string): Mutant[] {
  const [left, right] = [node['left'], node['right']];
  const operator = String(node['operator']);
  const other = OPERATORS[operator];
  if (other === undefined || !isNode(left) || !isNode(right)) return [];
  const start = text.indexOf(operator, left.end);
  return start < 0 || start >= right.start
    ? []
    : [{ start, end: start + operator.length, replacement: other }];
}

function literal(value: unknown): string[] {
  if (typeof value === 'boolean') return [String(!value)];
  if (typeof value === 'number') return [String(value + 1)];
  if (typeof value === 'string') return [value === '' ? "'mutant'" : "''"];
  return [];
}
