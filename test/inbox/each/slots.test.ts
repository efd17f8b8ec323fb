import assert from 'node:assert/strict';
import type { Slot, SlotWrite } from '../../../lib/inbox/slot';
import { inEachStore, type TestedInbox } from '../../support/inbox/each-store';
import { eventually } from '../../support/time/patience';
import { proven } from '../samples';

const OWNER = 'alarms:yard';
const HOUR = 60 * 60 * 1000;

inEachStore('the slots of an inbox', (open) => {
  let inbox: TestedInbox;
  beforeEach(async () => {
    inbox = await open();
  });

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

  it('that have changed since a version are told in the order of their changes, those removed among them', async () => {
    await put({ name: 'a', value: 1 }, { name: 'b', value: 2 }, { name: 'c', value: 3 });
    const { version } = await inbox.slots(OWNER);
    await put({ name: 'c', value: 4 });
    await put({ name: 'a', value: undefined }, { name: 'd', value: 5 });
    const changed = await inbox.slots(OWNER, version);
    assert.equal(changed.isAll, false);
    assert.deepEqual(valuesOf(changed.slots), [
      ['c', 4],
      ['a', undefined],
      ['d', 5],
    ]);
    const versions = changed.slots.map((slot) => slot.version);
    assert.ok(versions.every((each, i) => each > (versions[i - 1] ?? version)));
    assert.equal(versions.at(-1), changed.version);
    assert.deepEqual(await inbox.slots(OWNER, changed.version), { ...changed, slots: [] });
  });

  it('are given all where somebody asks from a version that the store has not come to', async () => {
    await put({ name: 'a', value: 1 });
    await put({ name: 'a', value: undefined }, { name: 'b', value: 2 });
    const { isAll, slots } = await inbox.slots(OWNER, 1_000_000);
    assert.deepEqual([isAll, valuesOf(slots)], [true, [['b', 2]]]);
  });

  it('are written where the version is the one that is expected', async () => {
    const [first] = await put({ name: 'a', expected: 0, value: 1 });
    const version = first?.slot?.version ?? assert.fail();
    const [second] = await put({ name: 'a', expected: version, value: 2 });
    assert.equal(second?.written, true);
    const [late] = await put({ name: 'a', expected: version, value: 3 });
    assert.deepEqual(late, { written: false, slot: second?.slot });
    const [taken] = await put({ name: 'a', expected: 0, value: 4 });
    assert.deepEqual(taken, { written: false, slot: second?.slot });
    const [none] = await put({ name: 'b', expected: version, value: 5 });
    assert.deepEqual(none, { written: false, slot: undefined });
    assert.deepEqual(await all(), [['a', 2]]);
  });

  it('one that is refused keeps no other from being written', async () => {
    await put({ name: 'a', value: 1 });
    const outcomes = await put({ name: 'a', expected: 0, value: 2 }, { name: 'b', expected: 0, value: 3 });
    assert.deepEqual(
      outcomes.map(({ written }) => written),
      [false, true],
    );
    assert.deepEqual(await all(), [
      ['a', 1],
      ['b', 3],
    ]);
  });

  it('one that is written twice at once is written in that order', async () => {
    const outcomes = await put(
      { name: 'a', expected: 0, value: 1 },
      { name: 'a', expected: 0, value: 2 },
      { name: 'a', value: 3 },
    );
    assert.deepEqual(
      outcomes.map(({ written, slot }) => [written, slot?.value]),
      [
        [true, 1],
        [false, 1],
        [true, 3],
      ],
    );
  });

  it('one that was removed counts as none, and may come again', async () => {
    const [first] = await put({ name: 'a', value: 1 });
    const version = first?.slot?.version ?? assert.fail();
    assert.deepEqual(await put({ name: 'a', expected: version, value: undefined }), [
      { written: true, slot: undefined },
    ]);
    const { version: removed } = await inbox.slots(OWNER);
    assert.deepEqual(await put({ name: 'a', expected: version, value: 2 }), [
      { written: false, slot: undefined },
    ]);
    assert.deepEqual(await put({ name: 'a', value: undefined }), [{ written: true, slot: undefined }]);
    assert.equal((await inbox.slots(OWNER)).version, removed);
    const [again] = await put({ name: 'a', expected: 0, value: 3 });
    assert.ok(again?.written === true && Number(again.slot?.version) > removed);
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

  it('of an owner are removed at once, and whoever asks for changes is told', async () => {
    await put({ name: 'a', value: 1 }, { name: 'b', value: 2 });
    const { version } = await inbox.slots(OWNER);
    await inbox.putSlots('other', [{ name: 'a', value: 3 }]);
    await inbox.dropSlots(OWNER);
    assert.deepEqual(await all(), []);
    assert.deepEqual(valuesOf((await inbox.slots(OWNER, version)).slots), [
      ['a', undefined],
      ['b', undefined],
    ]);
    assert.deepEqual(await inbox.slotOwners(''), ['other']);
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
