import assert from 'node:assert/strict';
import type { HistoryEntry, Consumer, ListedMessage } from '../../../lib/inbox/model';
import { MOST_STEPS } from '../../../lib/inbox/store/port';
import type { ProvenMessage } from '../../../lib/message/record';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { allSettled, DAY, ENDPOINT, proven, Taker } from '../samples';

const PLC = { node: { id: '1a2b', name: 'to the PLC' } };
const ANNA = { user: 'anna' };
const DELIVERED = { step: 'delivered', attempt: 1 };
const LAPSED = [{ step: 'lapsed' }, { step: 'dead', reason: 'attempts' }];

inEachStore('the history of an event', (open) => {
  let inbox: TestedInbox;
  let now: number;
  beforeEach(async () => {
    now = 0;
    inbox = await open({ steady: () => now });
  });

  async function rowOf(deliveryId: string): Promise<ListedMessage> {
    const { messages } = await inbox.list({ state: 'all', deliveryId, history: true, limit: 1 });
    return messages[0] ?? assert.fail('the event is not there');
  }
  const historyOf = async (deliveryId: string): Promise<HistoryEntry[]> =>
    (await rowOf(deliveryId)).history ?? assert.fail('it has no history');
  /** Without the times, and without the instance, which one store alone has. */
  const steps = async (deliveryId: string): Promise<object[]> =>
    (await historyOf(deliveryId)).map(({ time: _time, instance: _instance, ...entry }) => entry);

  /** An event with a flow that has to settle it. */
  async function atFlow(message = proven(), terms = {}): Promise<{ deliveryId: string; taker: Taker }> {
    const taker = new Taker(inbox, { handledWhen: 'settled', ...terms });
    const { deliveryId } = await inbox.accept(message);
    await eventually(() => taker.ids.length > 0, 'the delivery');
    return { deliveryId, taker };
  }

  it('tells of its receipt, its delivery, and who settled it', async () => {
    const { deliveryId } = await atFlow(proven({}, { remoteAddress: '192.0.2.7', secret: 'previous' }));
    await inbox.settle(deliveryId, { action: 'done' }, PLC);
    assert.deepEqual(await steps(deliveryId), [
      { step: 'received', from: '192.0.2.7', proof: 'hmac', secret: 'previous' },
      DELIVERED,
      { step: 'settled', by: 'to the PLC' },
    ]);
    const times = (await historyOf(deliveryId)).map(({ time }) => time);
    assert.deepEqual(times, times.toSorted());
  });

  it('has a node without a name by its id, and nobody where an event was handled as it left', async () => {
    const { deliveryId } = await atFlow();
    await inbox.settle(deliveryId, { action: 'done' }, { node: { id: '1a2b', name: '' } });
    assert.equal((await historyOf(deliveryId)).at(-1)?.by, '1a2b');
    void new Taker(inbox, { endpointId: 'sent' });
    const { deliveryId: sent } = await inbox.accept(proven({}, { endpointId: 'sent' }));
    await allSettled(inbox);
    assert.deepEqual((await steps(sent)).slice(1), [DELIVERED, { step: 'settled' }]);
  });

  it('is in no list that does not ask for it', async () => {
    await inbox.accept(proven());
    const { messages } = await inbox.list({ state: 'all', limit: 9 });
    assert.ok(messages[0] && !('history' in messages[0]));
  });

  for (const [title, act, terms, told] of [
    [
      'when an event was wanted again, and comes again',
      async (deliveryId, taker) => {
        await inbox.settle(deliveryId, { action: 'retry' }, PLC);
        await taker.came(2);
      },
      {},
      [DELIVERED, { step: 'retry', by: 'to the PLC' }, { ...DELIVERED, attempt: 2 }],
    ],
    [
      'of leases that ended, of the dead letter, and of the user who delivers it again',
      async (deliveryId, { dead }) => {
        await eventually(() => dead.length === 1, 'the dead letter');
        await inbox.settle(deliveryId, { action: 'retry' }, ANNA);
        await eventually(() => dead.length === 2, 'the dead letter once more');
      },
      { redeliverAfter: 1, maxAttempts: 1 },
      [
        DELIVERED,
        ...LAPSED,
        { step: 'delivered-again', by: 'anna' },
        { ...DELIVERED, attempt: 2 },
        ...LAPSED,
      ],
    ],
    [
      'why an event was rejected, and who has discarded it',
      async (deliveryId) => {
        await inbox.settle(deliveryId, { action: 'reject', note: 'no such coil' }, PLC);
        await inbox.dismiss(deliveryId, ANNA);
      },
      {},
      [
        DELIVERED,
        { step: 'rejected', by: 'to the PLC', reason: 'no such coil' },
        { step: 'discarded', by: 'anna' },
      ],
    ],
    [
      'of more time that a node of the flow asked for, not of a node that is at work on it',
      async (deliveryId) => {
        await inbox.settle(deliveryId, { action: 'extend' });
        await inbox.settle(deliveryId, { action: 'extend' }, PLC);
        await inbox.settle(deliveryId, { action: 'done' });
        await inbox.settle(deliveryId, { action: 'extend' }, PLC);
      },
      {},
      [DELIVERED, { step: 'extended', by: 'to the PLC' }, { step: 'settled' }],
    ],
    [
      'that a flow was cut off while it had the event',
      async (_deliveryId, taker) => {
        await taker.consumption.end();
        await new Taker(inbox, { handledWhen: 'settled' }).came(1);
      },
      {},
      [DELIVERED, { step: 'cut-off', attempt: 1 }, { ...DELIVERED, attempt: 2 }],
    ],
  ] as [string, (deliveryId: string, taker: Taker) => Promise<void>, Partial<Consumer>, object[]][])
    it(`tells ${title}`, async () => {
      const { deliveryId, taker } = await atFlow(proven(), terms);
      await act(deliveryId, taker);
      assert.deepEqual((await steps(deliveryId)).slice(1), told);
    });

  it('tells why a message is a dead letter from the start', async () => {
    const { event: _event, envelope: _envelope, ...record } = proven();
    const { deliveryId } = await inbox.accept({ ...record, kind: 'dead-letter', reason: 'not-json' });
    assert.deepEqual(await steps(deliveryId), [{ step: 'received' }, { step: 'dead', reason: 'not-json' }]);
    const first = proven();
    await inbox.accept(first);
    const conflict = proven({ eventName: 'another' }, { messageId: first.envelope.messageId });
    const { deliveryId: other } = await inbox.accept(conflict);
    assert.deepEqual((await steps(other)).at(-1), { step: 'dead', reason: 'conflict' });
  });

  describe('has what falls into one millisecond as it happened', () => {
    const { now: clock } = Date;
    const millisecond = new Date('2026-03-04T05:06:07.000Z');
    const message = (): ProvenMessage => proven({}, { receivedTime: millisecond.toISOString() });
    beforeEach(() => (Date.now = () => millisecond.getTime()));
    afterEach(() => (Date.now = clock));

    it('more time and a settlement with a finding', async () => {
      const { deliveryId } = await atFlow(message());
      await inbox.settle(deliveryId, { action: 'extend' }, PLC);
      await inbox.settle(deliveryId, { action: 'done', finding: { verdict: 'real' } });
      await inbox.settle(deliveryId, { action: 'done', finding: { note: 'seen on site' } });
      assert.deepEqual((await steps(deliveryId)).slice(1), [
        DELIVERED,
        { step: 'extended', by: 'to the PLC' },
        { step: 'settled' },
        { step: 'verdict', verdict: 'real' },
        { step: 'verdict', note: 'seen on site' },
      ]);
    });

    it('another path, its delivery, one more, and the end', async () => {
      const { deliveryId } = await inbox.accept(message());
      await inbox.assign(ENDPOINT, ':/there', ANNA);
      const taker = new Taker(inbox, { endpointId: ':/there', handledWhen: 'settled' });
      await taker.came(1);
      await inbox.settle(deliveryId, { action: 'retry' });
      await taker.came(2);
      await inbox.settle(deliveryId, { action: 'done' });
      assert.deepEqual((await steps(deliveryId)).slice(1), [
        { step: 'assigned', by: 'anna', reason: ':/there' },
        DELIVERED,
        { step: 'retry' },
        { step: 'delivered', attempt: 2 },
        { step: 'settled' },
      ]);
    });
  });

  it('tells when a phrase that was corrected proved it', async () => {
    const provenTime = '2026-03-04T05:06:07.000Z';
    const { deliveryId } = await inbox.accept(
      proven({}, { receivedTime: '2026-03-04T05:00:00.000Z', provenTime }),
    );
    assert.deepEqual((await historyOf(deliveryId)).at(1), { time: provenTime, step: 'phrase' });
  });

  describe('has what a person found', () => {
    const finding = { verdict: 'false', note: 'a cat', by: 'Anna' } as const;

    for (const action of ['done', 'retry', 'reject', 'extend'] as const)
      it(`with the settlement, whatever that is: ${action}`, async () => {
        const { deliveryId } = await atFlow();
        await inbox.settle(deliveryId, { action, finding }, PLC);
        assert.equal((await rowOf(deliveryId)).verdict, 'false');
        const found = (await steps(deliveryId)).filter((entry) => 'verdict' in entry);
        assert.deepEqual(found, [{ step: 'verdict', ...finding }]);
      });

    it('after it, the last verdict being the one that counts', async () => {
      const { deliveryId } = await atFlow();
      await inbox.settle(deliveryId, { action: 'done', finding });
      await inbox.settle(deliveryId, { action: 'done', finding: { verdict: 'real' } });
      const { state, verdict, history = [] } = await rowOf(deliveryId);
      assert.deepEqual([state, verdict], ['delivered', 'real']);
      assert.equal(history.filter(({ step }) => step === 'settled').length, 1);
      await inbox.settle(deliveryId, { action: 'done', finding: { note: 'seen on site' } });
      assert.equal((await rowOf(deliveryId)).verdict, 'real', 'a remark takes no verdict away');
    });

    it('not of an event that nobody knows', async () => {
      const unknown = '00000000-0000-4000-8000-000000000000';
      assert.equal(await inbox.settle(unknown, { action: 'done', finding }), false);
    });

    it('cut where it is too long, and says so', async () => {
      const { deliveryId } = await atFlow();
      await inbox.settle(deliveryId, { action: 'done', finding: { note: 'x'.repeat(5000) } });
      const note = (await historyOf(deliveryId)).find(({ step }) => step === 'verdict')?.note ?? '';
      assert.equal(note.length, 2000);
      assert.ok(note.endsWith('x…'));
    });
  });

  it('keeps the newest steps of an event to which very much happens, and says how many are missing', async () => {
    const { deliveryId } = await atFlow();
    for (let i = 0; i < MOST_STEPS + 3; i += 1)
      await inbox.settle(deliveryId, { action: 'done', finding: { note: `look ${i}` } });
    const looks = (await historyOf(deliveryId)).filter(({ step }) => step === 'verdict');
    assert.equal(looks.length, MOST_STEPS);
    assert.deepEqual([looks[0]?.note, looks[0]?.omitted, looks[1]?.omitted], ['look 3', 3, undefined]);
  });

  it('ends with the body of the event: no name and no remark of a person outlives it', async () => {
    const { deliveryId } = await atFlow(proven({}, { remoteAddress: '192.0.2.7' }));
    const finding = { verdict: 'real', note: 'a man', by: 'Anna' } as const;
    await inbox.settle(deliveryId, { action: 'done', finding }, PLC);
    now = 8 * DAY;
    await inbox.tidy({ keys: 30 * DAY, bodies: 7 * DAY });
    assert.deepEqual(await steps(deliveryId), [
      { step: 'received' },
      DELIVERED,
      { step: 'settled', by: 'to the PLC' },
    ]);
    assert.equal((await rowOf(deliveryId)).verdict, 'real', 'for the statistics');
  });

  it('is of each event its own', async () => {
    const { deliveryId: rejected, taker } = await atFlow();
    const { deliveryId: settled } = await inbox.accept(proven());
    await taker.came(2);
    await inbox.settle(rejected, { action: 'reject', note: 'no' });
    await inbox.settle(settled, { action: 'done' });
    const { messages } = await inbox.list({ state: 'all', history: true, limit: 9 });
    const last = messages.map(({ history = [] }) => history.at(-1)?.step);
    assert.deepEqual(last, ['settled', 'rejected']);
  });
});
