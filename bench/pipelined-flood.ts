import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { PATH, PHRASE, webhookFlow } from '../test/support/node-red/flows';
import { freePort, NodeRed, type FlowNode } from '../test/support/node-red/node-red';
import { alarmMessage, answerTo } from '../test/support/webhook/alarm-message';
import { PipelinedFlood } from '../test/support/webhook/pipelined-flood';
import type { Row, Scale } from './measurement';
import { percentile, sideBySide } from './side-by-side';

interface Size {
  alarms: number;
  /** How many, and how often that is measured. */
  connections: readonly (readonly [count: number, rounds: number])[];
  /** Of each connection. */
  posts: number;
}
const SIZES: Record<Scale, Size> = {
  full: {
    alarms: 100,
    connections: [
      [400, 3],
      [4000, 1],
    ],
    posts: 500,
  },
  quick: { alarms: 10, connections: [[20, 1]], posts: 100 },
};
/** Milliseconds between two alarms, each on a connection of its own. */
const EVERY = 50;

/** B17: alarms while a stranger has many connections with many forged posts behind one another, of which nobody reads the answers. */
export async function alarmsBesideFlood(scale: Scale): Promise<Row[]> {
  const { alarms, connections, posts } = SIZES[scale];
  const listenerPort = await freePort();
  const nodeRed = await NodeRed.start({ fresh: true });
  try {
    const rows: Row[] = [];
    for (const server of ['Node-RED', 'a listener']) {
      const isListener = server === 'a listener';
      await nodeRed.deploy(isListener ? flowOnListener(listenerPort) : webhookFlow());
      const port = isListener ? listenerPort : nodeRed.port;
      for (const [count, rounds] of connections) {
        const quiet = (): Promise<number> => slowAnswer(port, alarms);
        const besideFlood = async (): Promise<number> => {
          const flood = await PipelinedFlood.start({ port, path: PATH, connections: count, posts });
          try {
            return await quiet();
          } finally {
            await flood.stop();
          }
        };
        const { ours, other, ratio } = await sideBySide(rounds, { ours: besideFlood, other: quiet });
        rows.push({
          id: 'B17',
          measured: `webhook in on the server of ${server}: 95th percentile of the answers beside ${count} connections with ${posts} forged posts each`,
          against: 'without these',
          figure: ratio,
          unit: 'x',
          target: { atMost: 50 },
          seen: { oursMs: ours.median, slowestMs: ours.high, otherMs: other.median },
        });
      }
    }
    return rows;
  } finally {
    await nodeRed.stopAndRemove();
  }
}

function flowOnListener(port: number): FlowNode[] {
  const listener = { id: 'listener', type: 'rvm-listener', name: '', port, host: '127.0.0.1', tls: '' };
  return webhookFlow({ webhook: { listener: 'listener' } }, { ...listener, proxies: '' });
}

/** In milliseconds. @throws AssertionError where one had no answer */
async function slowAnswer(port: number, alarms: number): Promise<number> {
  const sent: Promise<number>[] = [];
  for (let index = 0; index < alarms; index += 1) {
    sent.push(timeOfAlarm(`http://127.0.0.1:${port}${PATH}`));
    await pause(EVERY);
  }
  return percentile(await Promise.all(sent), 0.95);
}

async function timeOfAlarm(url: string): Promise<number> {
  const from = performance.now();
  assert.equal(await answerTo(url, alarmMessage(), PHRASE), 200);
  return performance.now() - from;
}
