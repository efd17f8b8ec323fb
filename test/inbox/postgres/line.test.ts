import assert from 'node:assert/strict';
import { Client } from 'pg';
import { BatchQueue } from '../../../lib/inbox/postgres/connection/line';
import { Link } from '../../../lib/inbox/postgres/connection/link';
import { Session } from '../../../lib/inbox/postgres/session';
import { Work, type Reply, type Request } from '../../../lib/inbox/postgres/work';
import { eventually } from '../../support/time/patience';

const LAPSE = { deliveryId: 'a delivery', again: 'lease', maxAttempts: 9 } as const;

describe('calls on their way to PostgreSQL', () => {
  it('are not made of a lease whose epoch has ended meanwhile, and fail', async () => {
    let epoch = 'former';
    let answer: () => void = () => undefined;
    const ran: string[] = [];
    const run = async (_session: Session, batch: readonly Request[]): Promise<Reply[]> => {
      ran.push(...batch.map(({ name }) => name));
      await new Promise<void>((resolve) => (answer = resolve));
      return batch.map(({ id }) => ({ id }));
    };
    const line = new BatchQueue({
      link: { session: new Session(new Client()), fault: 'none', use: (_session, work) => work() },
      work: { run },
      limits: { requests: 9, acceptances: 9, bytes: 9 },
      onSlow: () => undefined,
      epoch: () => epoch,
    });
    const first = line.call('ping', undefined, true);
    await new Promise(setImmediate);
    const failing = Promise.all(
      [
        line.call('giveBack', { unsent: ['a delivery'], cutOff: [] }, true),
        line.call('lapse', LAPSE, true),
        line.call('again', 'a delivery', true),
      ].map((call) => assert.rejects(call, { code: 'STORE_FAILED', message: /took this instance for dead/ })),
    );
    const settled = line.call('markDelivered', ['a delivery'], true);
    epoch = 'next';
    answer();
    await first;
    await failing;
    answer();
    await settled;
    assert.deepEqual(ran, ['ping', 'markDelivered']);
    line.close();
  });
});

/** Milliseconds over which the calls are made. */
const SPAN = 20;

describe('calls on their way to a database that does not answer', () => {
  it('have each failed after a while, also those that become late while others are failed', async () => {
    const never = new Promise<never>(() => undefined);
    const link = new Link({ connect: () => never, prepare: () => never, onUp: () => undefined });
    const limits = { requests: 500, acceptances: 100, bytes: 1_000_000 };
    const line = new BatchQueue({
      link,
      work: new Work('rvm', () => 'epoch'),
      limits,
      onSlow: () => undefined,
      epoch: () => 'epoch',
    });
    let asked = 0;
    let failed = 0;
    // One after the other, so that the moments at which they are late lie close together.
    for (const until = performance.now() + SPAN; performance.now() < until; asked += 1)
      line.call('ping', undefined, true).catch(() => (failed += 1));
    await eventually(() => failed === asked, 'every call to fail');
    assert.ok(asked > 0);
    line.close();
  });
});
