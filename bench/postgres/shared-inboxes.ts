import { readConnection } from '../../lib/inbox/postgres/connection-settings';
import { PostgresStore } from '../../lib/inbox/postgres/store';
import { DurableInbox } from '../../lib/inbox/durable-inbox';
import { PostgresServer } from '../../test/support/postgres/postgres-server';
import { eventually } from '../../test/support/time/patience';

const DAY = 24 * 60 * 60 * 1000;
export const KEEP = { keys: 7 * DAY, bodies: 30 * DAY };

/** A server as it is set up for such a machine: no checkpoint falls into each round. */
export function benchServer(): Promise<PostgresServer> {
  return PostgresServer.start({ settings: { shared_buffers: '256MB', max_wal_size: '4GB' } });
}

/** An inbox in a schema of the server, once it is open. */
export async function sharedInbox(server: PostgresServer, schema: string): Promise<DurableInbox> {
  const settings = readConnection(server.url(), { schema, tls: 'off', instanceName: 'bench' });
  const inbox = new DurableInbox({ keep: KEEP, share: (news) => new PostgresStore({ settings }, news) });
  await eventually(() => inbox.state().durable === true, 'the inbox to open');
  return inbox;
}
