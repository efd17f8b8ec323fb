import fs from 'node:fs';
import path from 'node:path';

/** Bytes that a process and its threads have caused to be written to a disk: whole pages of the system, as soon as they are dirty. */
export function bytesWritten(pid: number): number {
  return writtenIn(path.join('/proc', `${pid}`, 'io'));
}

/** CPU time of the main thread of a process, in nanoseconds. */
export function cpuOfMainThread(pid: number): number {
  return cpuIn(path.join('/proc', `${pid}`, 'task', `${pid}`));
}

/** The same of the one thread besides it that has written most: that of a store, once it has stored anything. */
export function cpuOfWritingThread(pid: number): number {
  const folder = path.join('/proc', `${pid}`, 'task');
  const others = fs.readdirSync(folder).filter((thread) => thread !== `${pid}`);
  const threads = others.map((thread) => path.join(folder, thread));
  const written = new Map(threads.map((thread) => [thread, writtenIn(path.join(thread, 'io'))]));
  const [most = ''] = threads.toSorted((one, other) => (written.get(other) ?? 0) - (written.get(one) ?? 0));
  return cpuIn(most);
}

function writtenIn(file: string): number {
  return Number(/^write_bytes: (\d+)$/m.exec(fs.readFileSync(file, 'utf8'))?.[1]);
}

function cpuIn(thread: string): number {
  return Number(fs.readFileSync(path.join(thread, 'schedstat'), 'utf8').split(' ')[0]);
}
