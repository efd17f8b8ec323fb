import { createHash, randomBytes } from 'node:crypto';
import os from 'node:os';

/** Milliseconds after which a half file of another machine is nobody's: whoever writes one writes to it every few seconds. */
const ABANDONED = 60 * 60 * 1000;
/** Machine, process, and when that began: ids of processes come again, above all in containers. */
const OURS = /^\.clip-([0-9a-f]{8})-(\d{1,10})-(\d{13,16})-[0-9a-f]{8}\.part$/;
const MACHINE = createHash('sha256').update(os.hostname()).digest('hex').slice(0, 8);
const BEGAN = Math.round(performance.timeOrigin);

/** A new name for what is not a clip yet. */
export function halfName(): string {
  return `.clip-${MACHINE}-${process.pid}-${BEGAN}-${randomBytes(4).toString('hex')}.part`;
}

/**
 * Whether a file is the half clip of a process that has ended.
 * @param age since it was last written to, in milliseconds
 */
export function isLeftOver(name: string, age: number): boolean {
  const [, machine, pid, began] = OURS.exec(name) ?? [];
  if (machine === undefined) return false;
  if (machine !== MACHINE) return age > ABANDONED;
  if (Number(pid) === process.pid) return Number(began) !== BEGAN;
  // The id of one that was killed may have become that of any other program.
  return age > ABANDONED || !isAlive(Number(pid));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's is alive as well.
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}
