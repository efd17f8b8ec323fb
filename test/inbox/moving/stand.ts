import { randomUUID } from 'node:crypto';
import type { NewMessage } from '../../../lib/inbox/store/port';
import { MovingStand } from '../../support/inbox/moving';
import { SharedServer } from '../../support/postgres/shared-server';
import { ENDPOINT, incoming } from '../../support/postgres/stores';
import { needs } from '../../support/suite/programs';

export const DAY = 24 * 60 * 60 * 1000;
/** What is asked of a file. */
export const LEASE = { endpoint: ENDPOINT, limit: 100, health: 100, ordered: true };
/** Several batches of a move, the last of them not full. */
export const MANY = 450;

/** An event of an alarm of its own. */
export function event(changes: Partial<NewMessage> = {}): NewMessage {
  return incoming({ alarm: randomUUID(), ...changes });
}

export function events(count: number): NewMessage[] {
  return Array.from({ length: count }, () => event());
}

/** For the tests of a `describe`: each has a stand with a database of its own. @param name of no other file */
export function standOfEach(name: string, use: (stand: MovingStand) => unknown): void {
  let server: SharedServer;
  let stand: MovingStand;
  let count = 0;
  before(async function () {
    needs(this, 'postgres');
    server = await SharedServer.use();
  });
  after(() => server?.remove());
  beforeEach(async () => {
    stand = await MovingStand.make(server, `${name}${(count += 1)}`);
    await use(stand);
  });
  afterEach(() => stand.remove());
}
