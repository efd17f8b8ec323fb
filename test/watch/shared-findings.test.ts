import assert from 'node:assert/strict';
import type { ActiveFinding } from '../../lib/watch/findings';
import { SharedFindings } from '../../lib/watch/shared-findings';
import { SlotPlace } from '../support/inbox/hooked-inbox';

const OWNER = 'watch:node';

describe('what several instances have found', () => {
  let now: number;
  let place: SlotPlace;
  beforeEach(() => {
    now = 0;
    place = new SlotPlace(() => now);
  });

  const instance = (name: string, isShared = true): SharedFindings =>
    new SharedFindings({ store: place, owner: OWNER, isShared, instance: name, monotonic: () => now });
  const standing = (id: string, since = '2026-01-02T03:04:05.000Z'): ActiveFinding => {
    return { id, what: 'silent', station: null, since, sentence: 'silent', values: {} };
  };

  /** Ids of what an instance tells after a look; undefined where it is not for it to tell. */
  const told = async (by: SharedFindings, seen: string[], unsure: string[] = []) =>
    (await by.take({ seen: seen.map((id) => standing(id)), unsure }))?.map(({ id }) => id);

  /** A Node-RED alone, and the same after a restart. */
  async function restarted(): Promise<SharedFindings> {
    await told(instance('node', false), ['x']);
    return instance('node', false);
  }

  it('is told by one of them, and stands for all', async () => {
    const [a, b] = [instance('a'), instance('b')];
    assert.deepEqual(await told(a, ['x']), ['x']);
    assert.equal(await told(b, ['x']), undefined);
    assert.deepEqual(b.standing, [standing('x')]);
  });

  it('stands while one of them sees it, and its end is told by whoever finds that', async () => {
    const [a, b] = [instance('a'), instance('b')];
    await told(a, ['x']);
    assert.equal(await told(b, []), undefined);
    assert.deepEqual(await told(a, []), []);
    assert.equal(await told(b, []), undefined);
  });

  it('is over for an instance that has never seen it, once the one that saw it is dead', async () => {
    await told(instance('a'), ['x']);
    const late = instance('late');
    assert.equal(await told(late, []), undefined);
    now += 46_000;
    assert.deepEqual(await told(late, []), []);
  });

  it('stands on where an instance that sees it says so from time to time', async () => {
    const [a, b] = [instance('a'), instance('b')];
    await told(a, ['x']);
    for (let times = 0; times < 10; times += 1) {
      now += 20_000;
      assert.equal(await told(a, ['x']), undefined);
      assert.equal(await told(b, []), undefined);
    }
  });

  it('is told once, however many find it at the same time', async () => {
    const all = ['a', 'b', 'c', 'd'].map((name) => instance(name));
    const tellings = await Promise.all(all.map((each) => told(each, ['x'])));
    assert.equal(tellings.filter((each) => each !== undefined).length, 1);
  });

  it('is known after a restart, and not told again', async () => {
    const after = await restarted();
    assert.equal(await after.read(), true);
    assert.deepEqual([after.isReported('x'), await told(after, ['x'])], [true, undefined]);
  });

  it('stands after a restart while nobody knows, and goes once it is known to be over', async () => {
    const after = await restarted();
    assert.equal(await told(after, [], ['x']), undefined);
    assert.equal(after.standing.length, 1);
    assert.deepEqual(await told(after, []), []);
  });

  it('keeps the moment since when it stands', async () => {
    const after = await restarted();
    await after.take({ seen: [standing('x', '2027-01-01T00:00:00.000Z'), standing('y')], unsure: [] });
    assert.equal(after.standing.find(({ id }) => id === 'x')?.since, standing('x').since);
  });

  it('costs no write where nothing has changed, and the inbox is of this Node-RED alone', async () => {
    const alone = instance('node', false);
    await told(alone, ['x']);
    const before = place.writes.length;
    for (let times = 0; times < 10; times += 1) {
      now += 60_000;
      await told(alone, ['x']);
    }
    assert.equal(place.writes.length, before);
  });

  it('is told by each where the store fails, and its end, too', async () => {
    const [a, b] = [instance('a'), instance('b')];
    await Promise.all([told(a, []), told(b, [])]);
    place.fails = true;
    for (const seen of [['store'], []]) {
      assert.deepEqual([await told(a, seen), await told(b, seen)], [seen, seen]);
      assert.deepEqual([await told(a, seen), await told(b, seen)], [undefined, undefined]);
      place.fails = false;
    }
  });

  it('is not known before the store has said what was told', async () => {
    place.fails = true;
    const first = instance('a');
    assert.deepEqual([await first.read(), first.isKnown], [false, false]);
    place.fails = false;
    assert.deepEqual([await first.read(), first.isKnown], [true, true]);
  });

  it('takes no part in what others see once it has left', async () => {
    const [a, b] = [instance('a'), instance('b')];
    await told(a, ['x']);
    await told(b, []);
    await a.leave();
    assert.deepEqual([await told(b, []), b.hasOthers], [[], false]);
  });

  it('is not what another version of the package has written in another form', async () => {
    await place.putSlots(OWNER, [{ name: 'state', value: { findings: [{ id: 7 }, 'x', null] } }]);
    const after = instance('node', false);
    assert.equal(await after.read(), true);
    assert.deepEqual(after.standing, []);
  });
});
