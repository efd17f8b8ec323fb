import assert from 'node:assert/strict';
import type { Slot, SlotWrite } from '../../../lib/inbox/slot';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { proven } from '../samples';

const OWNER = 'alarms:yard';
const HOUR = 60 * 60 * 1000;

inEachStore('the slots of an inbox', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => (inbox = await open()));

  const put = (...writes: SlotWrite[]) => inbox.putSlots(OWNER, writes);
  const valuesOf = (slots: readonly Slot[]) => slots.map(({ name, value }) => [name, value]);
  const all = async () => valuesOf((await inbox.slots(OWNER)).slots);

  it('are kept over a restart, each with its version', async () => {
    const value = { level: true, raised: [{ webhook: 'ü"\u0000\ud800' }], count: 0.5, none: null };
    const [outcome] = await put({ name: 'north', value });
    assert.equal(outcome?.written, true);
    await inbox.close();
    inbox = await open();
    const { slots, version, isAll } = await inbox.slots(OWNER);
    assert.deepEqual(slots, [{ name: 'north', value, version: outcome?.slot?.version }]);
    assert.deepEqual([version, isAll], [outcome?.slot?.version, true]);
  });

  it('of an owner who has none are none', async () => {
    assert.deepEqual(await inbox.slots(OWNER), { version: 0, isAll: true, slots: [] });
    await inbox.dropSlots(OWNER);
    assert.deepEqual(await put(), []);
    assert.deepEqual(await inbox.slotOwners(''), []);
  });

  it('last as long as they are given, tell how long is left, and stay when they are over', async () => {
    const [outcome] = await put(
      { name: 'a', value: 1, lasts: HOUR },
      { name: 'b', value: 2, lasts: 0 },
      { name: 'c', value: 3 },
    );
    assert.equal(outcome?.slot?.left, HOUR);
    const { slots } = await inbox.slots(OWNER);
    const [a, b, c] = slots.map(({ left }) => left);
    assert.ok(a !== undefined && a > HOUR / 2 && a <= HOUR, `left: ${a}`);
    assert.ok(b !== undefined && b <= 0, `left: ${b}`);
    assert.equal(c, undefined);
    await put({ name: 'a', value: 1 });
    assert.equal((await inbox.slots(OWNER)).slots.at(-1)?.left, undefined);
  });

  it('belong to their owner, who may have any name', async () => {
    const owners = [
      'alarms:',
      'alarms:a',
      'alarms:a%',
      'alarms:A',
      "alarms:'; drop",
      'alarms:\u0000',
      'watch:港',
    ];
    for (const owner of owners) await inbox.putSlots(owner, [{ name: 'n', value: owner }]);
    for (const owner of owners) assert.deepEqual(valuesOf((await inbox.slots(owner)).slots), [['n', owner]]);
    assert.deepEqual(new Set(await inbox.slotOwners('')), new Set(owners));
    assert.deepEqual(new Set(await inbox.slotOwners('alarms:a')), new Set(['alarms:a', 'alarms:a%']));
    assert.deepEqual(await inbox.slotOwners('watch:'), ['watch:港']);
  });

  it('may have the longest names and a value of a mebibyte', async () => {
    const name = '港'.repeat(500);
    const value = 'x'.repeat(1024 * 1024 - 2);
    await inbox.putSlots(name, [{ name, value }]);
    assert.deepEqual(valuesOf((await inbox.slots(name)).slots), [[name, value]]);
  });

  it('that are too large, or no JSON, are refused with what to do', async () => {
    const circle: Record<string, unknown> = {};
    circle['own'] = circle;
    for (const [write, reason] of [
      [{ name: 'x'.repeat(501), value: 1 }, /501 characters: give it one of 1 to 500/],
      [{ name: '', value: 1 }, /0 characters/],
      [{ name: 'a', value: 'x'.repeat(1024 * 1024 - 1) }, /make it smaller/],
      [{ name: 'a', value: circle }, /no JSON: give it plain values/],
      [{ name: 'a', value: 1n }, /no JSON/],
      [{ name: 'a', value: () => 1 }, /no JSON/],
      [{ name: 'a', value: 1, lasts: Number.NaN }, /a number of milliseconds/],
    ] as const)
      await assert.rejects(put(write), { code: 'BAD_INPUT', message: reason });
    assert.deepEqual(await all(), []);
  });

  it('tell whoever watches their owner of each change, and nobody else', async () => {
    let [told, toldOfOther] = [0, 0];
    const end = inbox.watchSlots(OWNER, () => (told += 1));
    inbox.watchSlots('other', () => (toldOfOther += 1));
    await eventually(async () => (await put({ name: 'a', value: 1 })) && told > 0, 'the first change');
    const before = told;
    await put({ name: 'a', value: 2 });
    assert.ok(told > before);
    end();
    const after = told;
    await inbox.dropSlots(OWNER);
    assert.equal(told, after);
    assert.ok(toldOfOther <= 1);
  });

  it('say so where the store fails, and are there again when it works', async () => {
    await put({ name: 'a', value: 1 });
    inbox.fails = true;
    await assert.rejects(put({ name: 'a', value: 2 }), { code: 'STORE_FAILED' });
    await assert.rejects(inbox.slots(OWNER), { code: 'STORE_FAILED' });
    await assert.rejects(inbox.slotOwners(''), { code: 'STORE_FAILED' });
    await assert.rejects(inbox.dropSlots(OWNER), { code: 'STORE_FAILED' });
    inbox.fails = false;
    assert.deepEqual(await all(), [['a', 1]]);
  });

  it('are in no list of messages, and keep no message waiting', async () => {
    await Promise.all([put({ name: 'a', value: 1 }), inbox.accept(proven()), put({ name: 'b', value: 2 })]);
    assert.equal((await inbox.list({ state: 'all', limit: 9 })).messages.length, 1);
    assert.equal((await all()).length, 2);
  });
});
