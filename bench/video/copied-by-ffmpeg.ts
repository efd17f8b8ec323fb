import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A shell tells what a program has used that it has waited for. */
const TIMED = `TIMEFORMAT='%U %S'; time "$@"`;

/** What ffmpeg takes to copy so many seconds of a stream into a file, from its start to its end: milliseconds of CPU time. */
export async function cpuOfCopying(url: string, seconds: number, file: string): Promise<number> {
  const input = ['-v', 'error', '-nostdin', '-y', '-rtsp_transport', 'tcp', '-i', url];
  const command = ['ffmpeg', ...input, '-t', String(seconds), '-c', 'copy', file];
  const { stderr } = await run('bash', ['-c', TIMED, 'timed', ...command], {
    env: { ...process.env, LC_ALL: 'C' },
  });
  const [user, system] = stderr.trim().split(/\s+/).slice(-2).map(Number);
  return ((user ?? NaN) + (system ?? NaN)) * 1000;
}
