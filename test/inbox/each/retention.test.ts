import assert from 'node:assert/strict';
import type { DeadLetter, ProvenMessage } from '../../../lib/message/record';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { allSettled, DAY, proven, Taker } from '../samples';

inEachStore('what the inbox keeps', (open) => {
  let now: number;
  let inbox: TestedInbox;
  beforeEach(async () => {
    now = 0;
    inbox = await open({ steady: () => now });
  });

  const tidy = (keys: number, bodies: number): Promise<void> =>
    inbox.tidy({ keys: keys * DAY, bodies: bodies * DAY });
  const rows = async () => (await inbox.list({ state: 'all', limit: 10_000 })).messages;

  const states = async () => (await rows()).map(({ state }) => state);

  async function deliver(count: number, left = 0): Promise<void> {
    const taker = new Taker(inbox);
    await Promise.all(Array.from({ length: count }, () => inbox.accept(proven())));
    await eventually(() => taker.ids.length >= count, 'the deliveries');
    await allSettled(inbox, left);
    void taker.consumption.end();
  }

  it('goes when it is final and old, the body before the id', async () => {
    await deliver(3);
    now = 4 * DAY;
    await deliver(2);
    now = 8 * DAY;
    await tidy(10, 7);
    assert.deepEqual(
      (await rows()).map(({ event }) => event.eventName !== undefined),
      [true, true, false, false, false],
    );
    now = 11 * DAY;
    await tidy(10, 7);
    assert.equal((await rows()).length, 2);
  });

  it('keeps an id as long as its body', async () => {
    await deliver(1);
    now = 8 * DAY;
    await tidy(7, 30);
    const [row] = await rows();
    assert.equal(row?.event.eventName, 'Person in yard');
    now = 31 * DAY;
    await tidy(7, 30);
    assert.deepEqual(await rows(), []);
  });

  it('stays as long as it is not final, and so do dead letters', async () => {
    await inbox.accept(proven());
    const { event: _event, envelope: _envelope, ...record } = proven();
    await inbox.accept({ ...record, kind: 'dead-letter', reason: 'not-json' });
    await inbox.accept({ ...record, fingerprint: 'x', kind: 'stale', reason: 'too-old' });
    now = 400 * DAY;
    await tidy(2, 1);
    assert.deepEqual(await states(), ['dead', 'received']);
  });

  describe('of dead letters, conflicts and stale messages', () => {
    /** One of each state that a list shows as dead. */
    async function acceptDead(): Promise<Record<'dead' | 'conflict' | 'stale', string>> {
      const idOf = async (record: ProvenMessage | DeadLetter): Promise<string> =>
        (await inbox.accept(record)).deliveryId ?? '';
      const { event: _event, envelope: _envelope, ...record } = proven();
      await idOf(proven({}, { messageId: 'one id' }));
      return {
        dead: await idOf({ ...record, kind: 'dead-letter', reason: 'not-json' }),
        conflict: await idOf(proven({}, { messageId: 'one id' })),
        stale: await idOf({ ...record, fingerprint: 'x', kind: 'stale', reason: 'too-old' }),
      };
    }
    const isKept = async (deliveryId: string): Promise<boolean> =>
      (await rows()).some((row) => row.deliveryId === deliveryId);

    for (const state of ['dead', 'conflict', 'stale'] as const) {
      it(`goes with the others once it is discarded: ${state}`, async () => {
        const { [state]: deliveryId } = await acceptDead();
        assert.equal(await inbox.dismiss(deliveryId), true);
        for (const days of [6, 8]) {
          now = days * DAY;
          await tidy(7, 7);
          assert.equal(await isKept(deliveryId), days === 6);
        }
      });
    }

    it('goes, where it is a dead letter for want of attempts, once it is discarded', async () => {
      const taker = new Taker(inbox, { handledWhen: 'settled', redeliverAfter: 1, maxAttempts: 1 });
      const { deliveryId } = await inbox.accept(proven());
      await eventually(() => taker.dead.length === 1, 'the dead letter');
      now = 8 * DAY;
      await tidy(7, 7);
      assert.equal(await isKept(deliveryId), true);
      assert.equal(await inbox.dismiss(deliveryId), true);
      // Behind what a pass has seen already.
      now = 10 * DAY;
      await tidy(7, 7);
      assert.equal(await isKept(deliveryId), false);
    });
  });

  it('goes behind what stays, too, once that is final', async () => {
    const { deliveryId } = await inbox.accept(proven({}, { endpointId: 'another' }));
    await deliver(1200, 1);
    now = 40 * DAY;
    await tidy(7, 30);
    assert.deepEqual(await states(), ['received']);
    await inbox.settle(deliveryId, { action: 'done' });
    now = 42 * DAY;
    await tidy(7, 30);
    assert.deepEqual(await rows(), []);
  });

  it('C-72 ages by the time that the inbox was open, whatever the wall clock says', async () => {
    await deliver(1);
    await inbox.accept(proven({}, { receivedTime: '1970-01-01T00:00:03.000Z' }));
    await inbox.accept(proven({}, { receivedTime: '2099-01-01T00:00:00.000Z' }));
    const taker = new Taker(inbox);
    await taker.came(2);
    await allSettled(inbox);
    now = 6 * DAY;
    await tidy(7, 7);
    assert.equal((await rows()).length, 3);
    now = 7.1 * DAY;
    await tidy(7, 7);
    assert.equal((await rows()).length, 0);
  });
});
