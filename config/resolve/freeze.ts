// Freezes the snapshot. A configuration is replaced, never edited: a write to it must throw at once instead of changing
// the rules of running requests.

/** Freezes plain objects, arrays and the values of maps; leaves class instances (Secret, RegExp) alone. */
export function deepFreeze<T>(value: T): T {
  freeze(value);
  return value;
}

function freeze(value: unknown): void {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return;
  if (value instanceof Map) for (const inner of value.values()) freeze(inner);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && !Array.isArray(value)) return;
  Object.freeze(value);
  for (const inner of Object.values(value)) freeze(inner);
}
