// The machine: Node.js, limits of the process and of its container, the disk and kind of file system below a directory.
import { readFileSync, statfsSync } from 'node:fs';
import type { Reporter } from './finding.ts';

/** `engines` of package.json. */
const LEAST_NODE = [22, 19] as const;
const FEW_FILES = 4_096;
/** The proxy has 130 MB when idle, and bodies of some MB each under load. */
const LITTLE_MEMORY_BYTES = 384 * 1024 * 1024;
const MIB = 1024 * 1024;
const UNLIMITED_BYTES = 2 ** 50;

/** What is read of the machine; a test states its own. */
export interface MachineFacts {
  readonly nodeVersion: string;
  /** Files that the process may open; null = not known. */
  readonly openFiles: number | null;
  /** Limit of the container; null = none. */
  readonly memoryBytes: number | null;
}

export function machineFacts(): MachineFacts {
  const bytes = process.constrainedMemory();
  return {
    nodeVersion: process.versions.node,
    openFiles: openFiles(),
    memoryBytes: bytes > 0 && bytes < UNLIMITED_BYTES ? bytes : null,
  };
}

export function checkMachine(facts: MachineFacts, report: Reporter): void {
  const { nodeVersion, openFiles: files, memoryBytes } = facts;
  const [major = 0, minor = 0] = nodeVersion.split('.').map(Number);
  if (major < LEAST_NODE[0] || (major === LEAST_NODE[0] && minor < LEAST_NODE[1]))
    report.found('node', 'TL-1001', {
      seen: `Node.js ${nodeVersion}; ${LEAST_NODE.join('.')} or newer is needed`,
    });
  else report.passed('node', `Node.js ${nodeVersion}`);
  if (files === null) report.skipped('files', 'this system does not say how many files a process may open');
  else if (files < FEW_FILES) report.found('files', 'TL-1002', { seen: `at most ${files} open files` });
  else report.passed('files', `${files === Infinity ? 'any number of' : files} open files`);
  if (memoryBytes === null) report.passed('memory', 'no memory limit');
  else if (memoryBytes < LITTLE_MEMORY_BYTES)
    report.found('memory', 'TL-1003', {
      seen: `the limit is ${Math.round(memoryBytes / MIB)} MiB; ${LITTLE_MEMORY_BYTES / MIB} are the least that is sensible`,
    });
  else report.passed('memory', `memory limit ${Math.round(memoryBytes / MIB)} MiB`);
}

function openFiles(): number | null {
  try {
    const [, soft] = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    if (soft === undefined) return null;
    return soft === 'unlimited' ? Infinity : Number(soft);
  } catch {
    return null;
  }
}

/** statfs(2). */
const NETWORK_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x01021997, '9p'],
  [0x00c36400, 'CephFS'],
]);

interface DiskFacts {
  /** null = a local one, as far as is known. */
  readonly network: string | null;
  readonly freeBytes: number;
  readonly totalBytes: number;
}

/** @throws NodeJS.ErrnoException */
export function diskOf(dir: string): DiskFacts {
  const { type, bavail, blocks, bsize } = statfsSync(dir);
  return {
    network: NETWORK_FILE_SYSTEMS.get(type) ?? null,
    freeBytes: bavail * bsize,
    totalBytes: blocks * bsize,
  };
}
