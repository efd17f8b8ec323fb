import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import type { ListedMessage, ListQuery } from '../../lib/inbox/model';
import { type HookedInbox, SpillStand } from '../support/inbox/hooked-inbox';
import { eventually, soon } from '../support/time/patience';
import { proven, SETTLED, Taker } from './samples';

/** Another endpoint, whose events nobody takes. */
const UNATTENDED = { endpointId: 'unattended' };

describe('a list of an inbox whose store fails', () => {
  const stand = new SpillStand({});
  let inbox: HookedInbox;
  beforeEach(() => ({ inbox } = stand));

  /** One whose store has little time to answer. */
  const openImpatient = async (): Promise<void> => {
    inbox = await stand.works({ timeoutMs: 100 });
  };
  const list = (state: ListQuery['state'], more: Partial<ListQuery> = {}) =>
    inbox.list({ state, limit: 9, ...more });
  const idsOf = (messages: readonly Pick<ListedMessage, 'deliveryId'>[]) =>
    messages.map(({ deliveryId }) => deliveryId);

  it('has what is spilled, newest first, with all that a row has, and says why it is not all', async () => {
    await inbox.accept(proven({}, UNATTENDED));
    inbox.fails = true;
    const message = proven({ eventName: 'Beside' }, UNATTENDED);
    const { deliveryId } = await inbox.accept(message);
    const later = await inbox.accept(proven({}, UNATTENDED));
    const { messages, fault } = await list('all');
    assert.deepEqual(idsOf(messages), [later.deliveryId, deliveryId]);
    assert.deepEqual(messages[1], {
      receivedTime: message.receivedTime,
      station: 'north',
      state: 'received',
      attempts: 0,
      messageId: message.envelope.messageId,
      deliveryId,
      endpointId: message.endpointId,
      event: message.event,
      canRetry: false,
      proof: 'hmac',
    });
    assert.deepEqual(
      [fault?.code, fault?.message],
      ['STORE_FAILED', 'The inbox cannot store: the disk is gone.'],
    );
  });

  it('has each of them in the state it has, and in the lists of that state alone', async () => {
    const taker = new Taker(inbox, { ...SETTLED, redeliverAfter: 1, maxAttempts: 1 });
    inbox.fails = true;
    const { deliveryId: exhausted } = await inbox.accept(proven());
    await eventually(() => taker.dead.length === 1, 'the dead letter');
    await taker.consumption.end();
    const next = new Taker(inbox, SETTLED);
    const message = proven();
    const { deliveryId: delivered } = await inbox.accept(message);
    const { deliveryId: rejected } = await inbox.accept(proven());
    const { deliveryId: leased } = await inbox.accept(proven());
    await next.came(3);
    await inbox.settle(delivered, { action: 'done' });
    await inbox.settle(rejected, { action: 'reject' });
    const { deliveryId: received } = await inbox.accept(proven({}, UNATTENDED));
    const copy = proven({ eventName: 'Another' }, { messageId: message.envelope.messageId });
    const { deliveryId: conflict } = await inbox.accept(copy);
    const { event: _none, envelope: _neither, ...letter } = proven();
    const { deliveryId: unusable } = await inbox.accept({
      ...letter,
      kind: 'dead-letter',
      reason: 'not-json',
    });
    const { deliveryId: stale } = await inbox.accept({
      ...letter,
      kind: 'stale',
      reason: 'too-old',
      messageId: 'old',
    });
    const { deliveryId: other } = await inbox.accept(proven({}, { kind: 'other' }));
    const rowsOf = async (state: ListQuery['state']) =>
      (await list(state, { limit: 99 })).messages.map((row) => [row.deliveryId, row.state, row.canRetry]);
    const open = [
      [received, 'received', false],
      [leased, 'leased', false],
    ];
    const dead = [
      [stale, 'stale', false],
      [unusable, 'dead', false],
      [conflict, 'conflict', false],
      [rejected, 'dead', false],
      [exhausted, 'dead', true],
    ];
    const settled = [[delivered, 'delivered', false]];
    const all = [[other, 'other', false], ...dead.slice(0, 3), ...open, dead[3], ...settled, dead[4]];
    assert.deepEqual(await rowsOf('open'), open);
    assert.deepEqual(await rowsOf('settled'), settled);
    assert.deepEqual(await rowsOf('dead'), dead);
    assert.deepEqual(await rowsOf('all'), all);
  });

  it('has them from a time on, and up to a limit', async () => {
    const at = (second: number) => ({ ...UNATTENDED, receivedTime: `2026-03-04T05:06:0${second}.000Z` });
    inbox.fails = true;
    for (const second of [2, 4, 1, 3, 4]) await inbox.accept(proven({}, at(second)));
    const seconds = async (more: Partial<ListQuery>) =>
      (await list('all', more)).messages.map(({ receivedTime }) => Number(receivedTime.slice(17, 19)));
    assert.deepEqual(await seconds({}), [4, 4, 3, 2, 1]);
    assert.deepEqual(await seconds({ limit: 3 }), [4, 4, 3]);
    assert.deepEqual(await seconds({ since: Date.parse(at(3).receivedTime) }), [4, 4, 3]);
    assert.deepEqual(await seconds({ limit: 1 }), [4]);
  });

  it('has those of a site and a camera, be they in the inbox or beside it', async () => {
    const of = (locationName: string) =>
      inbox.accept(proven({ locationName, locationId: 'id', cameraId: 'a' }, UNATTENDED));
    const inside = [await of('North'), await of('South')];
    inbox.fails = true;
    const beside = [await of('North'), await of('South')];
    const where = { sites: ['north'], cameras: ['a'] };
    assert.deepEqual(idsOf((await list('open', where)).messages), idsOf(beside.slice(0, 1)));
    await stand.mend();
    const [one, other] = idsOf([...inside, ...beside].filter((_, index) => index % 2 === 0));
    assert.deepEqual(idsOf((await list('open', where)).messages), [other, one]);
  });

  it('has one message by its delivery id, be it in the inbox or beside it, and none by an id of no message', async () => {
    const inside = await inbox.accept(proven({}, UNATTENDED));
    await inbox.accept(proven({}, UNATTENDED));
    inbox.fails = true;
    const beside = await inbox.accept(proven({}, UNATTENDED));
    const one = async (deliveryId: string) => idsOf((await list('all', { deliveryId })).messages);
    assert.deepEqual(await one(beside.deliveryId), [beside.deliveryId]);
    await stand.mend();
    for (const { deliveryId } of [inside, beside]) assert.deepEqual(await one(deliveryId), [deliveryId]);
    assert.deepEqual(await one('none'), []);
  });

  it('has a dead letter until it is discarded, or delivered again', async () => {
    const taker = new Taker(inbox, { ...SETTLED, redeliverAfter: 1, maxAttempts: 1 });
    inbox.fails = true;
    const accepted = [await inbox.accept(proven()), await inbox.accept(proven())];
    await eventually(() => taker.dead.length === 2, 'the dead letters');
    await taker.consumption.end();
    const next = new Taker(inbox, SETTLED);
    const [again = '', discarded = ''] = accepted.map(({ deliveryId }) => deliveryId);
    assert.deepEqual(idsOf((await list('dead')).messages), [discarded, again]);
    assert.equal(await inbox.dismiss(discarded), true);
    assert.equal(await inbox.settle(again, { action: 'retry' }), true);
    assert.deepEqual((await list('dead')).messages, []);
    await next.came(1);
    assert.deepEqual([await stand.stateOf(discarded), await stand.stateOf(again)], ['dead', 'leased']);
    await inbox.settle(again, { action: 'done' });
    assert.deepEqual(idsOf((await list('settled')).messages), [again]);
  });

  it('has what a former process spilled', async () => {
    inbox.fails = true;
    const { deliveryId } = await inbox.accept(proven({ eventName: 'Of the former' }, UNATTENDED));
    inbox = stand.open({ folder: inbox.image(), fails: true });
    const { messages } = await list('open');
    assert.deepEqual(
      messages.map((row) => [row.deliveryId, row.event.eventName]),
      [[deliveryId, 'Of the former']],
    );
  });

  it('is whole where the inbox can be read: of both, each once, the newest first', async () => {
    const inside = await inbox.accept(proven({}, UNATTENDED));
    inbox.fails = true;
    inbox.isReadable = true;
    const beside = await inbox.accept(proven({}, UNATTENDED));
    assert.deepEqual(
      (await list('open')).messages.map(({ deliveryId }) => deliveryId),
      [beside.deliveryId, inside.deliveryId],
    );
    assert.equal((await list('open')).fault, undefined);
    assert.deepEqual(idsOf((await list('open', { limit: 1 })).messages), [beside.deliveryId]);
  });

  it('tells of an event in the inbox how it ended, though the inbox does not know yet', async () => {
    const taker = new Taker(inbox, SETTLED);
    const { deliveryId } = await taker.takes();
    inbox.fails = true;
    inbox.isReadable = true;
    await inbox.settle(deliveryId, { action: 'done' });
    assert.equal(await stand.stateOf(deliveryId), 'delivered');
    assert.deepEqual(await list('open'), { messages: [] });
  });

  it('has each message once, with its content, at any moment of its way into the inbox', async () => {
    const taker = new Taker(inbox);
    inbox.fails = true;
    const accepted = await Promise.all(
      Array.from({ length: 300 }, () => inbox.accept(proven({ eventName: 'Each' }))),
    );
    await taker.came(300);
    const expected = idsOf((await list('all', { limit: 1000 })).messages).toSorted();
    assert.deepEqual(expected, accepted.map(({ deliveryId }) => deliveryId).toSorted());
    inbox.fails = false;
    const lists: ReturnType<typeof list>[] = [];
    for (; stand.files().length > 0; await turn()) lists.push(list('all', { limit: 1000 }));
    for (const { messages } of await Promise.all([...lists, list('all', { limit: 1000 })])) {
      assert.deepEqual(idsOf(messages).toSorted(), expected);
      assert.ok(messages.every(({ event }) => event.eventName === 'Each'));
    }
  });

  it('has once what the store took after all, too late', async () => {
    await openImpatient();
    const taker = new Taker(inbox, SETTLED);
    // So that the next one is leased as it is stored.
    const first = await taker.takes();
    await inbox.settle(first.deliveryId, { action: 'done' });
    const late = inbox.answersLate();
    const { deliveryId } = await taker.takes();
    const listing = list('open');
    late.answer();
    assert.deepEqual(idsOf((await listing).messages), [deliveryId]);
    await stand.mend();
    assert.deepEqual(idsOf((await list('open')).messages), [deliveryId]);
  });

  it('does not wait for a store that hangs, which is asked again once it has answered', async () => {
    await openImpatient();
    const late = inbox.answersLate();
    const { deliveryId } = await inbox.accept(proven({}, UNATTENDED));
    const { messages, fault } = await soon(list('all'));
    assert.deepEqual([idsOf(messages), fault?.code], [[deliveryId], 'STORE_FAILED']);
    await soon(assert.rejects(inbox.quarantineSums(), { code: 'STORE_FAILED' }));
    const asked = () => inbox.questions.filter((name) => name === 'list').length;
    const before = asked();
    for (let count = 0; count < 3; count += 1)
      assert.deepEqual(idsOf((await list('all')).messages), [deliveryId]);
    assert.equal(asked(), before);
    late.answer();
    await eventually(async () => (await list('all')).fault === undefined, 'an answer');
    assert.deepEqual(idsOf((await list('all')).messages), [deliveryId]);
  });

  it('lets all else go on meanwhile, however many it has', async () => {
    inbox.fails = true;
    const COUNT = 5000;
    await Promise.all(Array.from({ length: COUNT }, () => inbox.accept(proven({}, UNATTENDED))));
    let turns = 0;
    const count = (): void => {
      turns += 1;
      next = setImmediate(count);
    };
    let next = setImmediate(count);
    const { messages } = await list('all', { limit: COUNT });
    clearImmediate(next);
    assert.equal(messages.length, COUNT);
    // In one piece it would be two or three.
    assert.ok(turns > 5, `${turns} turns of the event loop`);
  });
});
