// Providers that want each request signed or a short-lived token of their cloud. Nothing here signs; a gateway that does may
// stand in front of them.

export const SIGNED: ReadonlyMap<string, string> = new Map([
  ['bedrock', 'a signature of AWS'],
  ['bedrock_converse', 'a signature of AWS'],
  ['sagemaker', 'a signature of AWS'],
  ['sagemaker_chat', 'a signature of AWS'],
  ['vertex_ai', 'a token of Google Cloud'],
  ['vertex_ai_beta', 'a token of Google Cloud'],
]);

/** What calls of this prefix would need; null = nothing of the kind. */
export function signatureOf(prefix: string): string | null {
  return SIGNED.get(prefix) ?? null;
}
