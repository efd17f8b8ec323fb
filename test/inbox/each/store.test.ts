import assert from 'node:assert/strict';
import type { DeadLetter } from '../../../lib/message/record';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { allSettled, proven, Taker } from '../samples';

inEachStore('the store of an inbox', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => (inbox = await open()));

  async function restart(): Promise<void> {
    await inbox.close();
    inbox = await open();
  }

  it('C-75 knows a repeat and a conflict over a restart, and keeps both contents', async () => {
    const message = proven();
    const { messageId } = message.envelope;
    const first = await inbox.accept(message);
    await restart();
    assert.deepEqual(await inbox.accept(message), { outcome: 'repeat', deliveryId: first.deliveryId });
    const other = proven({}, { messageId });
    const conflict = await inbox.accept(other);
    assert.equal(conflict.outcome, 'conflict');
    assert.notEqual(conflict.deliveryId, first.deliveryId);
    await restart();
    assert.deepEqual(await inbox.accept(other), { outcome: 'repeat', deliveryId: conflict.deliveryId });
    const { messages: rows } = await inbox.list({ state: 'all', limit: 9 });
    assert.deepEqual(
      rows.map(({ state, messageId: id }) => [state, id]),
      [
        ['conflict', messageId],
        ['received', messageId],
      ],
    );
  });

  it('knows repeats and conflicts of what comes at once', async () => {
    const [first, other] = [proven({}, { messageId: 'one id' }), proven({}, { messageId: 'one id' })];
    const accepted = await Promise.all([first, first, other, other].map((each) => inbox.accept(each)));
    assert.deepEqual(
      accepted.map(({ outcome }) => outcome),
      ['new', 'repeat', 'conflict', 'repeat'],
    );
    const [one, repeat, conflict, again] = accepted.map(({ deliveryId }) => deliveryId);
    assert.deepEqual([repeat, again], [one, conflict]);
  });

  it('lists a conflict as dead no more once it is dismissed, and knows it all the same', async () => {
    const [first, other] = [proven({}, { messageId: 'one id' }), proven({}, { messageId: 'one id' })];
    const { deliveryId: waiting } = await inbox.accept(first);
    const { deliveryId } = await inbox.accept(other);
    assert.deepEqual([await inbox.dismiss(deliveryId), await inbox.dismiss(waiting)], [true, false]);
    await restart();
    assert.deepEqual(await inbox.list({ state: 'dead', limit: 9 }), { messages: [] });
    assert.equal((await inbox.list({ state: 'all', limit: 9 })).messages.length, 2);
    assert.equal((await inbox.accept(other)).outcome, 'repeat');
  });

  it('sums up a quarantine, and lets go of what was seen of it', async () => {
    const unproven = (receivedTime: string, endpointId = 'one') =>
      inbox.quarantine({
        endpointId,
        receivedTime,
        remoteAddress: '192.0.2.7',
        authorization: [],
        body: Buffer.from('{}'),
      });
    unproven('2026-03-04T05:06:07.000Z');
    unproven('2026-03-04T05:06:08.000Z');
    unproven('2026-03-04T05:06:09.000Z', 'other');
    const [sum, other] = await inbox.quarantineSums();
    const { lastId = 0, ...told } = sum ?? {};
    assert.deepEqual(told, {
      endpointId: 'one',
      count: 2,
      lastTime: '2026-03-04T05:06:08.000Z',
      lastAddress: '192.0.2.7',
    });
    assert.equal(other?.count, 1);
    unproven('2026-03-04T05:06:10.000Z');
    await inbox.releaseUpTo('one', lastId);
    assert.deepEqual(
      (await inbox.quarantined('one')).map(({ receivedTime }) => receivedTime),
      ['2026-03-04T05:06:10.000Z'],
    );
    assert.equal((await inbox.quarantined('other')).length, 1);
  });

  it('delivers after a restart what waited, and nothing twice', async () => {
    const messages = [proven(), proven(), proven()];
    await inbox.accept(messages[0] ?? proven());
    const taker = new Taker(inbox);
    await taker.came(1);
    await allSettled(inbox);
    void taker.consumption.end();
    for (const message of messages.slice(1)) await inbox.accept(message);
    await restart();
    const next = new Taker(inbox);
    await next.came(2);
    assert.deepEqual(
      next.ids,
      messages.slice(1).map(({ envelope }) => envelope.messageId),
    );
    assert.ok(next.deliveries.every(({ attempt }) => attempt === 1));
  });

  it('C-76 delivers again under the same id what was not settled at a restart', async () => {
    const taker = new Taker(inbox, { handledWhen: 'settled' });
    await taker.takes();
    await restart();
    const next = new Taker(inbox, { handledWhen: 'settled' });
    await next.came(1);
    const [before, after] = [taker.deliveries[0], next.deliveries[0]];
    assert.deepEqual(after, { ...before, attempt: 2, again: 'restart', message: after?.message });
  });

  it('C-65 keeps stations apart, and has one sequence for all', async () => {
    const messageId = 'the same';
    const north = await inbox.accept(proven({}, { messageId }));
    const south = await inbox.accept(proven({}, { messageId, stationKey: 'south' }));
    assert.deepEqual([north.outcome, south.outcome], ['new', 'new']);
    const taker = new Taker(inbox);
    await taker.came(2);
    const [first = 0, second = 0] = taker.deliveries.map(({ sequence }) => Number(sequence));
    assert.ok(first < second);
  });

  it('C-73 takes ids literally, and takes none for what has none', async () => {
    const { event: _event, envelope: _envelope, ...record } = proven();
    const odd = ['\0', '\0\0', '\u0001', '\u00010', '\u00011', '\'"\\', '{}', 'é', '😀', ' '];
    const ids = [
      ' a',
      'a',
      'A',
      ` ${record.fingerprint}`,
      record.fingerprint,
      "'; drop table message",
      ...odd,
    ];
    for (const messageId of ids) {
      const message = proven({ alarmId: messageId }, { messageId, stationKey: `north${messageId}` });
      assert.equal((await inbox.accept(message)).outcome, 'new');
      assert.equal(await inbox.isKnown(message.stationKey, messageId), true);
    }
    const letter = { ...record, kind: 'dead-letter', reason: 'no-message-id' } as const;
    assert.equal((await inbox.accept(letter)).outcome, 'new');
    const { messages: rows } = await inbox.list({ state: 'all', limit: 99 });
    assert.deepEqual(new Set(rows.map(({ messageId }) => messageId)), new Set([...ids, null]));
    assert.equal(rows.length, ids.length + 1);
    const taker = new Taker(inbox);
    await eventually(() => taker.ids.length === ids.length, 'all of them');
    assert.ok(taker.deliveries.every(({ first }) => first));
  });

  it('tells messages apart by station and id, wherever the one ends and the other begins', async () => {
    const both = [
      proven({}, { stationKey: 's', messageId: 'a\n1b' }),
      proven({}, { stationKey: 's\n1a', messageId: 'b' }),
    ];
    for (const message of both) assert.equal((await inbox.accept(message)).outcome, 'new');
  });

  it('keeps dead letters with their content, and knows their repeats', async () => {
    const { event, envelope: _envelope, body, ...record } = proven();
    const letter: DeadLetter = { ...record, kind: 'dead-letter', reason: 'no-message-id', body };
    assert.equal((await inbox.accept(letter)).outcome, 'new');
    assert.equal((await inbox.accept(letter)).outcome, 'repeat');
    const [row] = (await inbox.list({ state: 'dead', limit: 9 })).messages;
    assert.deepEqual([row?.state, row?.messageId, row?.event], ['dead', null, event]);
    assert.equal(row?.reason, 'no-message-id');
  });

  it('lists newest first, from a time on, up to a limit', async () => {
    const at = (hour: number) => ({ receivedTime: `2026-03-04T0${hour}:00:00.000Z` });
    for (const hour of [1, 2, 3, 4]) await inbox.accept(proven({ eventName: `${hour}` }, at(hour)));
    const names = async (since: string | undefined, limit: number) => {
      const query = { state: 'all' as const, limit, ...(since && { since: Date.parse(since) }) };
      return (await inbox.list(query)).messages.map(({ event }) => event.eventName);
    };
    assert.deepEqual(await names(undefined, 9), ['4', '3', '2', '1']);
    assert.deepEqual(await names('2026-03-04T02:00:00Z', 2), ['4', '3']);
    assert.deepEqual(await names('2026-03-04T03:30:00Z', 9), ['4']);
  });
});
