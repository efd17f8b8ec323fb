import assert from 'node:assert/strict';
import { webhookInFlow } from './counting-node-red';
import { FilledInbox } from './filled-inbox';
import { handWiredFlow } from './hand-wired-flow';
import type { Row, Scale } from './measurement';
import { Restarts } from './restarts';
import { sideBySide, type Comparison } from './side-by-side';

interface Size {
  /** Events that wait at each restart, at least. */
  waiting: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { waiting: 100_000, rounds: 7 },
  quick: { waiting: 5000, rounds: 1 },
};
/** Events that may be delivered between the first one and the end of Node-RED. */
const OF_A_ROUND = 5000;

/** B10: a restart with events that wait, until the flow has one, against a Node-RED that has nothing of the package. */
export async function restartWithManyWaiting(scale: Scale): Promise<Row[]> {
  const { waiting, rounds } = SIZES[scale];
  const plain = await Restarts.prepare(handWiredFlow(), { withoutPackage: true });
  const rows: Row[] = [];
  try {
    for (const [end, signal] of [
      ['an ordinary end', 'SIGTERM'],
      ['kill -9', 'SIGKILL'],
    ] as const) {
      const comparison = await compare(plain, { signal, waiting, rounds });
      rows.push(row(`restart after ${end} with ${waiting.toLocaleString('en')} events`, comparison));
    }
    return rows;
  } finally {
    plain.remove();
  }
}

async function compare(
  plain: Restarts,
  { signal, waiting, rounds }: { signal: NodeJS.Signals; waiting: number; rounds: number },
): Promise<Comparison> {
  const ours = await Restarts.prepare(webhookInFlow());
  try {
    fill(ours.userDir, waiting + (rounds + 1) * OF_A_ROUND);
    const comparison = await sideBySide(rounds, {
      ours: () => ours.secondsUntil('delivered', signal),
      other: () => plain.secondsUntil('started', signal),
    });
    assert.ok(waitingIn(ours.userDir) >= waiting, 'too few events were left for the last restart');
    return comparison;
  } finally {
    ours.remove();
  }
}

function fill(userDir: string, count: number): void {
  const inbox = new FilledInbox(userDir);
  inbox.add(count, 'waiting');
  inbox.close();
}

function waitingIn(userDir: string): number {
  const inbox = new FilledInbox(userDir);
  const { waiting } = inbox;
  inbox.close();
  return waiting;
}

function row(measured: string, { difference, ours, other }: Comparison): Row {
  return {
    id: 'B10',
    measured: `${measured} undelivered: seconds until the first is delivered`,
    against: 'Node-RED without the package, until its flows are started',
    figure: difference,
    unit: 's',
    target: { atMost: 1.5 },
    seen: { oursSeconds: ours.median, otherSeconds: other.median },
  };
}
