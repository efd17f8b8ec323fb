import { RvmError } from '../../error';

const ROOM: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk with the folder for clips is full: make room on it.',
  EDQUOT: 'The folder for clips has used up its quota: make room in it.',
  EFBIG: 'A clip is larger than a file in its folder may be: make it shorter, or choose another disk.',
  EROFS:
    'The disk with the folder for clips can no longer be written to: see why the system made it read-only.',
  ENOENT: 'The folder for clips was removed while a clip was written: make it again.',
};

/** A fault of the system while a clip is written, in words. */
export function diskFault(error: unknown): RvmError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown fault';
  const known = ROOM[code];
  return new RvmError(
    'STORE_FAILED',
    known ?? `The clip could not be written to its folder (${code}): see to the disk.`,
  );
}
