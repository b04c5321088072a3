// The client of a call that asked for wrong usage: the same response, and other figures in the usage. What the proxy reads
// and records stays true, so that nobody can talk their budget down.
import { Buffer } from 'node:buffer';
import type { WriteDone } from '../downstream/downstream-response.ts';
import { ForwardingSink } from '../relay/response-sink.ts';

const TOKENS =
  /("(?:prompt|completion|total|input|output|cached|reasoning)_tokens"\s*:\s*|"(?:prompt|candidates|total)TokenCount"\s*:\s*)(\d+)/g;

export class WrongUsage extends ForwardingSink {
  override write(piece: Buffer, done?: WriteDone): boolean {
    return this.client.write(wrong(piece), done);
  }

  override end(piece?: Buffer | null): void {
    this.client.end(piece === undefined || piece === null ? piece : wrong(piece));
  }
}

/** As many bytes as before, so that a Content-Length stays true. */
function wrong(piece: Buffer): Buffer {
  const text = piece.toString('latin1');
  const changed = text.replace(TOKENS, (_, name: string, digits: string) => `${name}${otherDigits(digits)}`);
  return changed === text ? piece : Buffer.from(changed, 'latin1');
}

const otherDigits = (digits: string): string => (/^9+$/.test(digits) ? '8' : '9').repeat(digits.length);
