// The files of capsules: one per call, readable by their owner alone, there under their names only when they are whole. Bounded in
// size and age: the oldest go for new ones. Workers of one server share the folder.
import { Buffer } from 'node:buffer';
import { hash, createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, lstat, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { errorCode } from '../../config/error-code.ts';
import type { FinishedRecording } from './call-recording.ts';
import { CAPSULE_ID, chunksOf, lineOf, MOST_CAPSULE_BYTES, type CapsuleMetadata } from './format.ts';
import { CHUNK_BYTES, fingerprint, Sealer } from './seal.ts';

/** One file, as a list shows it. */
export interface CapsuleFile {
  readonly id: string;
  readonly bytes: number;
  readonly writtenMs: number;
}

interface Limits {
  readonly maxBytes: number;
  readonly maxAgeMs: number;
}

const SUFFIX = '.capsule';
const PARTIAL = '.partial';
/** A partial file of this age is of a process that has died. */
const STALE_MS = 600_000;
const MOST_FILES = 10_000;
const LOOK_EVERY_MS = 10_000;

export class CapsuleDirectory {
  readonly path: string;
  /** As far as this process knows: others write here, too. */
  #bytes = 0;
  #files = 0;
  #lookedMs = -Infinity;

  constructor(path: string) {
    this.path = path;
  }

  /** Of all files, as far as this process knows. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Makes the folder and says whether files can be written. @throws the system's error */
  async prepare(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    await access(this.path, constants.W_OK | constants.X_OK);
  }

  /**
   * Writes one capsule, after room was made for it.
   * @param publicKey null = its content is not kept. @returns its bytes. @throws the system's error; nothing is left behind then
   */
  async write(
    { metadata, content }: FinishedRecording,
    rule: string,
    publicKey: string | null,
    nowMs: number,
    limits: Limits,
  ): Promise<number> {
    const sealer = publicKey === null ? null : new Sealer(publicKey);
    const bytes = content.reduce((sum, part) => sum + part.length, 0);
    const sealed =
      sealer === null || publicKey === null
        ? null
        : { for: fingerprint(publicKey), ephemeral: sealer.ephemeral, bytes };
    const whole: CapsuleMetadata = { ...metadata, rule, sealed };
    const first = lineOf(whole);
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    const size = first.length + Math.ceil(bytes * 1.34) + chunksOf(bytes) * 64;
    if (size > limits.maxBytes) throw new Error('the capsule alone is larger than capsules.max_bytes');
    await this.#makeRoom(size, nowMs, limits);
    const partial = join(this.path, `${metadata.id}.${randomUUID().slice(0, 8)}${PARTIAL}`);
    try {
      const file = await open(partial, 'wx', 0o600);
      let written = first.length;
      try {
        const digest = createHash('sha256').update(first);
        await file.writeFile(first);
        if (sealer !== null) {
          const bound = hash('sha256', first, 'buffer');
          for (const line of sealedLines(sealer, content, bytes, bound)) {
            digest.update(line);
            await file.writeFile(line);
            written += line.length;
            await setImmediate(); // a chunk is sealed in some 50 us; calls are served between two
          }
        }
        const last = lineOf({ sha256: digest.digest('hex') });
        await file.writeFile(last);
        written += last.length;
        await file.utimes(nowMs / 1000, nowMs / 1000); // its age by the clock that judges it
      } finally {
        await file.close();
      }
      await rename(partial, this.#file(metadata.id));
      this.#bytes += written;
      this.#files += 1;
      return written;
    } catch (error) {
      await rm(partial, { force: true }).catch(() => undefined);
      throw error;
    }
  }

  /** Newest first. A folder that is not there holds none. */
  async list(): Promise<readonly CapsuleFile[]> {
    const files = await Promise.all((await this.#names()).map((name) => this.#look(name)));
    return files
      .flatMap((file) =>
        file === null || file.isPartial
          ? []
          : [{ id: file.id, bytes: file.bytes, writtenMs: file.writtenMs }],
      )
      .toSorted(newestFirst);
  }

  /** null = there is none of this id. */
  async read(id: string): Promise<Buffer | null> {
    if (!CAPSULE_ID.test(id)) return null;
    try {
      const file = await open(this.#file(id), constants.O_RDONLY | constants.O_NOFOLLOW);
      try {
        const { size } = await file.stat();
        return size > MOST_CAPSULE_BYTES ? null : await file.readFile();
      } finally {
        await file.close();
      }
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** @returns whether there was one */
  async remove(id: string): Promise<boolean> {
    if (!CAPSULE_ID.test(id)) return false;
    try {
      await rm(this.#file(id));
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
  }

  /** Removes what is over its time or beyond the bound, also when nothing is written any more. */
  tidy(nowMs: number, { maxBytes, maxAgeMs }: Limits): Promise<void> {
    return this.#prune(nowMs, maxBytes, maxAgeMs);
  }

  /** Looks at the folder when it may be full, and now and then: 10,000 files are looked at in some 100 ms of other threads. */
  async #makeRoom(size: number, nowMs: number, limits: Limits): Promise<void> {
    const mayBeFull = this.#bytes + size > limits.maxBytes || this.#files >= MOST_FILES;
    const isStale = Math.abs(nowMs - this.#lookedMs) > LOOK_EVERY_MS;
    if (mayBeFull || isStale) await this.#prune(nowMs, limits.maxBytes - size, limits.maxAgeMs);
  }

  /** Removes what is too old, and the oldest beyond the bounds. */
  async #prune(nowMs: number, maxBytes: number, maxAgeMs: number): Promise<void> {
    const found = await Promise.all((await this.#names()).map((name) => this.#look(name)));
    const files = found.filter((file) => file !== null).toSorted(newestFirst);
    let [bytes, count] = [0, 0];
    for (const { name, bytes: size, writtenMs, isPartial } of files) {
      const ageMs = nowMs - writtenMs;
      const isBeyond = ageMs > maxAgeMs || bytes + size > maxBytes || count + 1 >= MOST_FILES;
      if (isPartial ? ageMs > STALE_MS : isBeyond) await rm(join(this.path, name), { force: true });
      else {
        bytes += size;
        count += 1;
      }
    }
    this.#bytes = bytes;
    this.#files = count;
    this.#lookedMs = nowMs;
  }

  #file(id: string): string {
    return join(this.path, `${id}${SUFFIX}`);
  }

  async #names(): Promise<readonly string[]> {
    try {
      return await readdir(this.path);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  /** null = no file of ours. */
  async #look(name: string): Promise<(CapsuleFile & { name: string; isPartial: boolean }) | null> {
    const isPartial = name.endsWith(PARTIAL);
    const id = isPartial ? (name.split('.', 1)[0] ?? '') : name.slice(0, -SUFFIX.length);
    if (!CAPSULE_ID.test(id) || (!isPartial && !name.endsWith(SUFFIX))) return null;
    try {
      const found = await lstat(join(this.path, name));
      if (!found.isFile()) return null; // a link leads elsewhere
      const { size, mtimeMs } = found;
      return { name, id, isPartial, bytes: size, writtenMs: Math.floor(mtimeMs) };
    } catch (error) {
      if (isMissing(error)) return null; // another process has removed it
      throw error;
    }
  }
}

const newestFirst = (a: CapsuleFile, b: CapsuleFile): number =>
  b.writtenMs - a.writtenMs || (a.id < b.id ? 1 : -1);

const isMissing = (error: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errorCode(error) ?? '');

/** The content as lines, one chunk at a time. */
function* sealedLines(
  sealer: Sealer,
  content: readonly Buffer[],
  bytes: number,
  bound: Buffer,
): Generator<Buffer> {
  const last = chunksOf(bytes) - 1;
  let index = 0;
  let held: Buffer = Buffer.alloc(0);
  const line = (chunk: Buffer): Buffer => {
    const sealed = sealer.chunk(chunk, index, index === last, bound);
    index += 1;
    return lineOf({ sealed: sealed.toString('base64') });
  };
  for (const part of content) {
    let from = 0;
    while (held.length + part.length - from > CHUNK_BYTES) {
      const need = CHUNK_BYTES - held.length;
      yield line(Buffer.concat([held, part.subarray(from, from + need)]));
      held = Buffer.alloc(0);
      from += need;
    }
    held = Buffer.concat([held, part.subarray(from)]);
  }
  yield line(held);
}
