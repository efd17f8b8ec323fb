import fs from 'node:fs';
import type { StoreWarning } from './store/protocol';

/** Magic numbers of Linux file systems, from linux/magic.h. */
const VOLATILE: Readonly<Record<number, string>> = {
  0x01021994: 'tmpfs',
  0x858458f6: 'ramfs',
  0x794c7630: 'overlay',
  0x61756673: 'aufs',
};
const NETWORK: Readonly<Record<number, string>> = {
  0x6969: 'NFS',
  0x517b: 'SMB',
  0xff534d42: 'CIFS',
  0xfe534d42: 'SMB',
  0x01021997: '9p',
  0x00c36400: 'Ceph',
  0x5346414f: 'AFS',
  0x65735546: 'FUSE',
};

/** Warns where a folder lies on a file system that forgets, or whose locks and syncs cannot be relied on. */
export function fileSystemWarning(folder: string): StoreWarning | undefined {
  // A share of Windows; there the type of a file system says nothing.
  if (/^[\\/]{2}[^\\/?.]/.test(folder)) return { kind: 'network', fileSystem: 'SMB' };
  const type = statOf(folder)?.type ?? 0;
  const volatile = VOLATILE[type];
  if (volatile !== undefined) return { kind: 'volatile', fileSystem: volatile };
  const network = NETWORK[type];
  return network === undefined ? undefined : { kind: 'network', fileSystem: network };
}

/** Free space of the file system under a folder, in bytes; Infinity where it cannot be told. */
export function freeOf(folder: string): number {
  const stat = statOf(folder);
  return stat === undefined ? Infinity : stat.bavail * stat.bsize;
}

/** Makes names in a folder durable: without it one may be gone, or back, after a power loss. @throws Error of the disk */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = fs.openSync(folder, 'r');
  try {
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
}

function statOf(folder: string): fs.StatsFs | undefined {
  try {
    return fs.statfsSync(folder);
  } catch {
    return undefined;
  }
}
