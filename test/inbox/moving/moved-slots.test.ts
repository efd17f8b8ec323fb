import assert from 'node:assert/strict';
import type { StoreSession } from '../../support/postgres/stores';
import type { MovingStand } from '../../support/inbox/moving';
import { DAY, events, standOfEach } from './stand';

const OWNER = 'alarms:yard';

describe('slots that were moved', () => {
  let stand: MovingStand;
  standOfEach('slots', (made) => (stand = made));

  const put = (owner: string, name: string, value?: string, lasts?: number): void => {
    const write = { name, ...(value !== undefined && { value }), ...(lasts !== undefined && { lasts }) };
    stand.file.ask('putSlots', { owner, writes: [write] });
  };
  const read = async (instance: StoreSession, owner = OWNER) =>
    (await instance.call('slots', { owner, since: 0 })).slots;
  const contents = async (instance: StoreSession, owner = OWNER) =>
    (await read(instance, owner)).map(({ name, value }) => [name, value]);

  it('have their values and the time that is left of them, and those removed do not come back', async () => {
    put(OWNER, 'a\u0000', '{"a":"\\u0000"}', DAY);
    put(OWNER, 'b', '1');
    put(OWNER, 'c', '2', 0);
    put(OWNER, 'gone', '3');
    put(OWNER, 'gone');
    put('watch:', 'a', '4');
    stand.file.now = DAY / 4;
    stand.file.ask('ping', undefined);
    assert.equal((await stand.moved()).slots, 4);
    const instance = await stand.instance();
    assert.deepEqual(await contents(instance), [
      ['a\u0000', '{"a":"\\u0000"}'],
      ['b', '1'],
      ['c', '2'],
    ]);
    assert.deepEqual(await contents(instance, 'watch:'), [['a', '4']]);
    const [a, b, c] = (await read(instance)).map(({ left }) => left);
    assert.ok(a !== undefined && a > DAY / 2 && a <= (3 * DAY) / 4, `left: ${a}`);
    assert.equal(b, undefined);
    assert.ok(c !== undefined && c <= 0, `left: ${c}`);
  });

  it('are all there, however many they are', async () => {
    const names = Array.from({ length: 450 }, (_, number) => `${number}`);
    for (const owner of ['alarms:a', 'alarms:b'])
      stand.file.ask('putSlots', { owner, writes: names.map((name) => ({ name, value: `"${owner}"` })) });
    assert.equal((await stand.moved()).slots, 900);
    const instance = await stand.instance();
    for (const owner of ['alarms:a', 'alarms:b'])
      assert.deepEqual(
        await contents(instance, owner),
        names.map((name) => [name, `"${owner}"`]),
      );
  });

  it('are there once where the move was ended before its end', async () => {
    put(OWNER, 'a', '1');
    stand.file.accept(events(2));
    await stand.endedAfter(2);
    put(OWNER, 'a', '2');
    assert.equal((await stand.moved()).slots, 1);
    assert.deepEqual(await contents(await stand.instance()), [['a', '2']]);
  });
});
