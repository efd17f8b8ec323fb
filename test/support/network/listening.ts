import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { eventually } from '../time/patience';

/**
 * Waits until a program takes connections on all of these ports.
 * @param log what it has told, for the error where it ends or does not listen
 */
export async function untilListening(
  child: ChildProcess,
  ports: readonly number[],
  log: () => string,
): Promise<void> {
  const isListening = async (): Promise<boolean> => {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} has ended: ${log()}`);
    return (await Promise.all(ports.map(accepts))).every(Boolean);
  };
  await eventually(isListening, `${child.spawnfile} to listen`);
}

async function accepts(port: number): Promise<boolean> {
  const socket = net.connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
