import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PATH, PHRASE } from '../test/support/node-red/flows';
import { CountingNodeRed, webhookInFlow } from './counting-node-red';
import { handWiredFlow } from './hand-wired-flow';
import { Load } from './load/load';
import type { Row, Scale } from './measurement';
import { percentile, sideBySide, spreadOf } from './side-by-side';

const RATE = 500;
/** Milliseconds between two syncs: as often as events come. */
const SYNC_EVERY = 1000 / RATE;
/** Bytes of a sync: what an event takes in the log. */
const SYNCED = 8 * 1024;
/** Syncs after which the file is written from its start again, as a log is. */
const SYNCS = 300;

interface Size {
  /** Events of a round. */
  events: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { events: 5000, rounds: 7 },
  quick: { events: 250, rounds: 1 },
};

/** B3: the time from the last byte sent to the answer, at a fixed rate that both sides can keep up with. */
export async function latencyOnNodeRed(scale: Scale): Promise<Row[]> {
  const { events, rounds } = SIZES[scale];
  const ours = await CountingNodeRed.start(events, webhookInFlow());
  const byHand = await CountingNodeRed.start(events, handWiredFlow(), { withoutPackage: true });
  const load = new Load();
  const slowSyncs: number[] = [];
  const answers: number[] = [];
  try {
    const {
      ours: own,
      other,
      ratio,
    } = await sideBySide(rounds, {
      ours: async () => {
        // The price of keeping the event, which the other side does not pay; to be paid by a machine as busy as with events.
        const sync = await slowSync(() => slowAnswer(load, byHand));
        slowSyncs.push(sync);
        const slow = await slowAnswer(load, ours);
        answers.push(slow);
        return slow - sync;
      },
      other: () => slowAnswer(load, byHand),
    });
    const sync = spreadOf(slowSyncs).median;
    return [
      {
        id: 'B3',
        measured: `webhook in: 99th percentile of the answers at ${RATE} events/s, less that of a sync to the disk`,
        against: 'the hand-wired flow',
        figure: ratio,
        unit: 'x',
        target: { atMost: 1.5 },
        seen: {
          oursMs: spreadOf(answers).median,
          oursLessSyncMs: own.median,
          otherMs: other.median,
          syncMs: sync,
        },
      },
    ];
  } finally {
    await load.stop();
    await ours.nodeRed.stopAndRemove();
    await byHand.nodeRed.stopAndRemove();
  }
}

/** The 99th percentile of a round, in milliseconds. */
async function slowAnswer(load: Load, server: CountingNodeRed): Promise<number> {
  await load.prepare({ count: server.count, path: PATH, phrase: PHRASE });
  const { times } = await load.pace({ port: server.nodeRed.port, rate: RATE });
  await server.lastDelivered();
  return percentile(times, 0.99);
}

/**
 * The 99th percentile, in milliseconds, of a sync of a few pages of a file that has its size, on the disk of the inbox, while
 * something else goes on.
 */
async function slowSync(beside: () => Promise<unknown>): Promise<number> {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-sync-'));
  try {
    const over = new AbortController();
    const [times] = await Promise.all([
      syncs(path.join(folder, 'file'), over.signal),
      beside().finally(() => over.abort()),
    ]);
    return percentile(times, 0.99);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
}

/** How long each took, in milliseconds. */
async function syncs(name: string, over: AbortSignal): Promise<number[]> {
  const file = fs.openSync(name, 'w');
  const pages = Buffer.alloc(SYNCED, 1);
  fs.writeSync(file, Buffer.alloc(SYNCS * SYNCED));
  fs.fsyncSync(file);
  const times: number[] = [];
  while (!over.aborted) {
    fs.writeSync(file, pages, 0, SYNCED, (times.length % SYNCS) * SYNCED);
    const from = performance.now();
    fs.fsyncSync(file);
    times.push(performance.now() - from);
    await sleep(SYNC_EVERY);
  }
  fs.closeSync(file);
  return times;
}
