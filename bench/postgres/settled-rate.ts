import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { DurableInbox } from '../../lib/inbox/durable-inbox';
import type { ProvenMessage } from '../../lib/message/record';
import type { PostgresServer } from '../../test/support/postgres/postgres-server';
import type { Row, Scale } from '../measurement';
import { sideBySide } from '../side-by-side';
import { BareTable, type Commits } from './bare-table';
import { sampleEvents } from './sample-events';
import { SettlingInbox } from './settling-inbox';
import { benchServer, KEEP, sharedInbox } from './shared-inboxes';

interface Size {
  events: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { events: 5000, rounds: 15 },
  quick: { events: 500, rounds: 1 },
};
const SENDERS = 32;

/** What an inbox in PostgreSQL is compared with. */
interface Other {
  perSecond(events: readonly ProvenMessage[], senders: number): Promise<number>;
  close(): Promise<void>;
}

/** How it is opened beside the inbox, and what its row says. */
type Against = Pick<Row, 'id' | 'against' | 'target'> & { open: (server: PostgresServer) => Promise<Other> };

const COMMITS: Record<Commits, string> = {
  each: 'each statement committed by itself',
  together: 'both in one transaction, sent in one go',
};

/** P1: events accepted, delivered and settled by an inbox in PostgreSQL, library alone, against what PostgreSQL can do at most. */
export async function rateToBareTable(scale: Scale): Promise<Row[]> {
  return [...(await toBareTable(scale, 'each')), ...(await toBareTable(scale, 'together'))];
}

function toBareTable(scale: Scale, commits: Commits): Promise<Row[]> {
  return rows(scale, {
    id: 'P1',
    against: `a bare INSERT ... ON CONFLICT DO NOTHING and DELETE in batches of the same size, ${COMMITS[commits]}`,
    target: { atLeast: 0.6 },
    open: (server) => BareTable.open(server.url(), commits),
  });
}

/** P2: the same against an inbox in SQLite. */
export async function rateToSqlite(scale: Scale): Promise<Row[]> {
  return rows(scale, {
    id: 'P2',
    against: 'an inbox in SQLite',
    target: { atLeast: 0.35 },
    open: () => Promise.resolve(inboxInSqlite()),
  });
}

async function rows(scale: Scale, { open, ...row }: Against): Promise<Row[]> {
  const { events, rounds } = SIZES[scale];
  const server = await benchServer();
  const other = await open(server);
  const shared = new SettlingInbox(await sharedInbox(server, 'rvm'));
  try {
    const compared = await sideBySide(rounds, {
      ours: () => shared.perSecond(sampleEvents(events), SENDERS),
      other: () => other.perSecond(sampleEvents(events), SENDERS),
    });
    return [
      {
        ...row,
        measured: 'an inbox in PostgreSQL, library alone: events accepted and settled per second',
        figure: compared.ratio,
        unit: 'x',
        seen: { oursPerSecond: compared.ours.median, otherPerSecond: compared.other.median },
      },
    ];
  } finally {
    await shared.inbox.close();
    await other.close();
    await server.remove();
  }
}

function inboxInSqlite(): Other {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-bench-'));
  const file = path.join(folder, 'inbox.sqlite');
  const alone = new SettlingInbox(
    new DurableInbox({ file, spillFolder: path.join(folder, 'spill'), keep: KEEP }),
  );
  return {
    perSecond: (events, senders) => alone.perSecond(events, senders),
    close: async () => {
      await alone.inbox.close();
      fs.rmSync(folder, { recursive: true, force: true });
    },
  };
}
