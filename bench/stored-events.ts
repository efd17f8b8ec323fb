import fs from 'node:fs';
import { CountingNodeRed, webhookInFlow } from './counting-node-red';
import { FilledInbox } from './filled-inbox';
import { Load } from './load/load';
import type { Row, Scale } from './measurement';
import { sideBySide } from './side-by-side';
import { deliveredPerSecond } from './webhook-rate';

interface Size {
  /** Events in the inbox before the first round. */
  stored: number;
  /** Events of a round: few, for the inbox that has none keeps those of all rounds. */
  events: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { stored: 1_000_000, events: 2000, rounds: 24 },
  quick: { stored: 5000, events: 500, rounds: 1 },
};

/** B9: *webhook in* with a full inbox, against itself with an empty one. The filling is not measured. */
export async function rateWithManyStored(scale: Scale): Promise<Row[]> {
  const { stored, events, rounds } = SIZES[scale];
  const inbox = new FilledInbox();
  inbox.add(stored, 'delivered');
  inbox.close();
  const bytes = fs.statSync(inbox.file).size;
  const full = await CountingNodeRed.start(events, webhookInFlow(), { userDir: inbox.userDir });
  const empty = await CountingNodeRed.start(events, webhookInFlow());
  const load = new Load();
  try {
    const { ratio, ours, other } = await sideBySide(rounds, {
      ours: () => deliveredPerSecond(load, full, full.nodeRed.port),
      other: () => deliveredPerSecond(load, empty, empty.nodeRed.port),
    });
    return [
      {
        id: 'B9',
        measured: `webhook in with ${stored.toLocaleString('en')} events stored: events per second`,
        against: 'the same with none stored',
        figure: ratio,
        unit: 'x',
        target: { atLeast: 0.9 },
        seen: {
          fullPerSecond: ours.median,
          emptyPerSecond: other.median,
          fileKBPerEvent: bytes / stored / 1000,
        },
      },
    ];
  } finally {
    await load.stop();
    await full.nodeRed.stopAndRemove();
    await empty.nodeRed.stopAndRemove();
  }
}
