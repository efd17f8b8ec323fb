import { sharedInbox } from '../../test/support/node-red/flows';
import type { PostgresServer } from '../../test/support/postgres/postgres-server';
import { eventually } from '../../test/support/time/patience';
import { CountingNodeRed, webhookInFlow } from '../counting-node-red';
import type { Row, Scale } from '../measurement';
import { rateRow, ratesOf } from '../webhook-rate';
import { benchServer } from './shared-inboxes';

/** P3: *webhook in* on the server of Node-RED with its inbox in PostgreSQL, against the same with its inbox in SQLite. */
export async function rateInPostgres(scale: Scale): Promise<Row[]> {
  const server = await benchServer();
  try {
    const comparison = await ratesOf(scale, {
      ours: (events) => startInPostgres(events, server),
      other: (events) => CountingNodeRed.start(events, webhookInFlow()),
    });
    const measured = 'webhook in with its inbox in PostgreSQL on the same machine: events per second';
    return [rateRow('P3', measured, 'B1: its inbox in SQLite', comparison, 0.6)];
  } finally {
    await server.remove();
  }
}

/** Its flows run before its inbox is open: nothing is sent until it says that it would keep it. */
async function startInPostgres(events: number, server: PostgresServer): Promise<CountingNodeRed> {
  const flow = webhookInFlow({ inbox: 'inbox' }, sharedInbox(server.url()));
  const counting = await CountingNodeRed.start(events, flow);
  const ready = `${counting.nodeRed.url}/remote-monitoring/ready`;
  await eventually(async () => (await fetch(ready)).ok, 'the inbox to open');
  return counting;
}
