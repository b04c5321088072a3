// What was thrown, as a sentence.
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return typeof thrown === 'string' ? thrown : 'Something failed that says nothing about itself.';
}
