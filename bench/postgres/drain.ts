import type { SharedInbox } from '../../lib/inbox/shared-inbox';
import type { PostgresServer } from '../../test/support/postgres/postgres-server';
import type { Row, Scale } from '../measurement';
import { sideBySide } from '../side-by-side';
import { inFlight } from './in-flight';
import { sampleEvents } from './sample-events';
import { SettlingInbox } from './settling-inbox';
import { benchServer, sharedInbox } from './shared-inboxes';

interface Size {
  many: number;
  few: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { many: 100_000, few: 10_000, rounds: 3 },
  quick: { many: 2000, few: 500, rounds: 1 },
};
/** On their way at once while an inbox is filled, which is not measured; and events that are made in one go. */
const SENDERS = 500;
const SHARE = 10_000;

/** P5: what waits in PostgreSQL goes to a flow that settles each event at once; the time of an event. */
export async function drainOfMany(scale: Scale): Promise<Row[]> {
  const { many, few, rounds } = SIZES[scale];
  const server = await benchServer();
  try {
    const { ratio, ours, other } = await sideBySide(rounds, {
      ours: () => microsecondsOfAnEvent(server, many),
      other: () => microsecondsOfAnEvent(server, few),
    });
    return [
      {
        id: 'P5',
        measured: `an inbox in PostgreSQL with ${many.toLocaleString('en')} waiting events: time until each is settled`,
        against: `the same with ${few.toLocaleString('en')}`,
        figure: ratio,
        unit: 'x',
        target: { atMost: 1.2 },
        seen: { manyMicroseconds: ours.median, fewMicroseconds: other.median },
      },
    ];
  } finally {
    await server.remove();
  }
}

async function microsecondsOfAnEvent(server: PostgresServer, count: number): Promise<number> {
  const schema = `drain ${count}`;
  const inbox = await sharedInbox(server, schema);
  try {
    await fill(inbox, count);
    const begun = performance.now();
    await new SettlingInbox(inbox).settled(count);
    return ((performance.now() - begun) / count) * 1000;
  } finally {
    await inbox.close();
    await server.sql(`DROP SCHEMA "${schema}" CASCADE`);
  }
}

async function fill(inbox: SharedInbox, count: number): Promise<void> {
  for (let left = count; left > 0; left -= SHARE)
    await inFlight(sampleEvents(Math.min(left, SHARE)), SENDERS, (event) => inbox.accept(event));
}
