import assert from 'node:assert/strict';
import { MovingStand } from '../../support/inbox/moving';
import { PgBouncer } from '../../support/postgres/odd-servers';
import { SharedServer } from '../../support/postgres/shared-server';
import { needs } from '../../support/suite/programs';
import { events, MANY } from './stand';

describe('moving an inbox through a pooler that gives each transaction another connection', () => {
  let server: SharedServer;
  let pooler: PgBouncer;
  let stand: MovingStand;

  before(async function () {
    needs(this, 'postgres', 'pgbouncer');
    server = await SharedServer.use();
    pooler = await PgBouncer.start(server);
    stand = await MovingStand.make(server, 'beside');
  });
  after(async () => {
    await stand?.remove();
    await pooler?.remove();
    await server?.remove();
  });

  it('brings all of it', async () => {
    stand.file.accept(events(MANY));
    const { messages, waiting } = await stand.moved(undefined, pooler.urlOf(server.nameOf(stand.database)));
    assert.deepEqual([messages, waiting], [MANY, MANY]);
  });
});
