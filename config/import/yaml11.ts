// LiteLLM reads YAML 1.1 (PyYAML's safe_load), this proxy YAML 1.2: some plain words are other values there. The table is that
// of yaml/resolver.py. Pure.

const TRUE = /^(?:yes|on)$/i;
const FALSE = /^(?:no|off)$/i;
const BINARY = /^([-+]?)0b([01_]+)$/;
const OCTAL = /^([-+]?)0([0-7_]+)$/;
const HEX = /^([-+]?)0x([0-9a-fA-F_]+)$/;
const DECIMAL = /^[-+]?[1-9][0-9_]*$/;
const FLOAT = /^[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9_]+(?:[eE][-+][0-9]+)?)$/;
const SIXTIES = /^([-+]?)([0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)$/;
/** A number in YAML 1.2 alone. */
const NEW_OCTAL = /^0o[0-7]+$/;

/** What PyYAML makes of a plain word; undefined = the same as YAML 1.2 does. */
export function inYaml11(source: string): boolean | number | string | undefined {
  if (TRUE.test(source)) return isWord(source) ? true : undefined;
  if (FALSE.test(source)) return isWord(source) ? false : undefined;
  if (NEW_OCTAL.test(source)) return source;
  const based =
    number(BINARY.exec(source), 2) ?? number(OCTAL.exec(source), 8) ?? number(HEX.exec(source), 16);
  if (based !== undefined) return based;
  const sixties = SIXTIES.exec(source);
  if (sixties !== null) {
    const parts = bare(sixties[2] ?? '').split(':');
    return sign(sixties[1]) * parts.reduce((total, part) => total * 60 + Number(part), 0);
  }
  const isNumber = source.includes('_') && (DECIMAL.test(source) || FLOAT.test(source));
  return isNumber ? Number(bare(source)) : undefined;
}

/** `yes`, `Yes` and `YES`, but not `yEs`. */
const isWord = (text: string): boolean => /^(?:[a-z]+|[A-Z][a-z]*|[A-Z]+)$/.test(text);
const bare = (text: string): string => text.replaceAll('_', '');
const sign = (text: string | undefined): number => (text === '-' ? -1 : 1);

function number(found: RegExpExecArray | null, base: number): number | undefined {
  const digits = bare(found?.[2] ?? '');
  return found === null || digits === '' ? undefined : sign(found[1]) * Number.parseInt(digits, base);
}
