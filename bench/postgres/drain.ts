import type { DurableInbox } from '../../lib/inbox/durable-inbox';
import type { PostgresServer } from '../../test/support/postgres/postgres-server';
import type { Row, Scale } from '../measurement';
import { sideBySide, spreadOf } from '../side-by-side';
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
  const kilobytes: number[] = [];
  try {
    const { ratio, ours, other } = await sideBySide(rounds, {
      ours: async () => {
        const drained = await drain(server, many);
        kilobytes.push(drained.kilobytes);
        return drained.microseconds;
      },
      other: async () => (await drain(server, few)).microseconds,
    });
    return [
      {
        id: 'P5',
        measured: `an inbox in PostgreSQL with ${many.toLocaleString('en')} waiting events: time until each is settled`,
        against: `the same with ${few.toLocaleString('en')}`,
        figure: ratio,
        unit: 'x',
        target: { atMost: 1.2 },
        seen: {
          manyMicroseconds: ours.median,
          fewMicroseconds: other.median,
          diskKBPerEvent: spreadOf(kilobytes).median,
        },
      },
    ];
  } finally {
    await server.remove();
  }
}

/** Of one event: how long it took, and what it and its indexes take on the disk once it is settled. */
async function drain(
  server: PostgresServer,
  count: number,
): Promise<{ microseconds: number; kilobytes: number }> {
  const schema = `drain ${count}`;
  const inbox = await sharedInbox(server, schema);
  try {
    await fill(inbox, count);
    const begun = performance.now();
    await new SettlingInbox(inbox).settled(count);
    const microseconds = ((performance.now() - begun) / count) * 1000;
    return { microseconds, kilobytes: (await bytesOf(server, schema)) / count / 1000 };
  } finally {
    await inbox.close();
    await server.sql(`DROP SCHEMA "${schema}" CASCADE`);
  }
}

async function bytesOf(server: PostgresServer, schema: string): Promise<number> {
  const [row] = await server.sql(
    `SELECT sum(pg_total_relation_size(c.oid)) AS bytes FROM pg_class c WHERE relkind = 'r' AND relnamespace = '"${schema}"'::regnamespace`,
  );
  return Number(row?.['bytes']);
}

async function fill(inbox: DurableInbox, count: number): Promise<void> {
  for (let left = count; left > 0; left -= SHARE)
    await inFlight(sampleEvents(Math.min(left, SHARE)), SENDERS, (event) => inbox.accept(event));
}
