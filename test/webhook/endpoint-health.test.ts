import assert from 'node:assert/strict';
import { EndpointHealth } from '../../lib/webhook/endpoint-health';
import { SlotPlace } from '../support/inbox/hooked-inbox';
import { eventually } from '../support/time/patience';

const HOUR = 60 * 60 * 1000;

describe('the silence of a webhook', () => {
  let now: number;
  let place: SlotPlace;
  let told: string[];
  const all: EndpointHealth[] = [];
  beforeEach(() => {
    now = 0;
    told = [];
    place = new SlotPlace(() => now);
  });
  afterEach(() => {
    for (const silence of all.splice(0)) silence.stop();
  });

  /** Looks every 5 ms: clock and timers of a test have nothing to do with each other. */
  function begun(name: string, hours = 4): EndpointHealth {
    const clocks = { monotonic: () => now, now: () => now, every: 5 };
    const watched = { store: place, endpointId: ':/yard', limit: hours * HOUR };
    const silence = new EndpointHealth({ ...watched, ...clocks, onSilent: () => void told.push(name) });
    all.push(silence);
    silence.start();
    return silence;
  }

  /** The same, once it knows what the slot says. */
  async function known(name: string, hours?: number): Promise<EndpointHealth> {
    const silence = begun(name, hours);
    await eventually(() => silence.since !== 'unknown', 'the slot');
    return silence;
  }
  const isSilent = (silence: EndpointHealth): Promise<void> =>
    eventually(() => silence.since instanceof Date, 'the silence');
  const tellings = (count: number): Promise<void> => eventually(() => told.length >= count, 'what is told');

  it('is told once when it lasts longer than allowed, and is over with the next proven message', async () => {
    const silence = await known('a');
    silence.proven();
    now += 4.1 * HOUR;
    await tellings(1);
    assert.deepEqual(silence.since, new Date(0));
    silence.proven();
    assert.equal(silence.since, undefined);
    now += 3.9 * HOUR;
    assert.equal(silence.since, undefined);
    assert.deepEqual(told, ['a']);
    now += HOUR;
    await tellings(2);
  });

  for (const thrower of ['whoever is told', 'the inbox'] as const)
    it(`is looked for again where ${thrower} has thrown`, async () => {
      let throws = 0;
      const silence = await known('a');
      const slots = place.slots.bind(place);
      if (thrower === 'the inbox')
        place.slots = (...asked) => {
          place.slots = slots;
          throws += 1;
          throw new Error(`of the test, for ${asked[0]}`);
        };
      else
        told.push = (...names) => {
          told.push = Array.prototype.push;
          throws += names.length;
          throw new Error('of the test');
        };
      now += 4.1 * HOUR;
      await eventually(() => throws === 1, 'the throw');
      silence.proven();
      now += 4.1 * HOUR;
      await tellings(1);
    });

  it('begins with the start where no message has ever come', async () => {
    const silence = await known('a');
    assert.equal(silence.since, undefined);
    now += 5 * HOUR;
    await tellings(1);
  });

  it('goes on over a restart, the time that Node-RED is down counted, and is not told again', async () => {
    const first = await known('a');
    now += 120_000;
    first.proven();
    await eventually(() => place.writes.length >= 2, 'the note');
    first.stop();
    now += 5 * HOUR;
    const second = begun('b');
    await isSilent(second);
    assert.deepEqual(told, [], 'held messages come first');
    now += 180_000;
    await tellings(1);
    second.stop();
    const third = begun('c');
    now += HOUR;
    await isSilent(third);
    assert.deepEqual(told, ['b']);
  });

  it('is over for all instances with a message at one of them, and told by one of them', async () => {
    const [first, second] = await Promise.all([known('a'), known('b')]);
    now += 5 * HOUR;
    await tellings(1);
    await Promise.all([isSilent(first), isSilent(second)]);
    first.proven();
    now += 60_000;
    await eventually(() => second.since === undefined, 'the end at the other');
    assert.equal(told.length, 1);
  });

  it('is never where nobody asks for it, and begins anew where somebody does again', async () => {
    const first = await known('a');
    first.stop();
    const off = begun('b', 0);
    await eventually(() => place.writes.length >= 2, 'the end of the slot');
    assert.equal(off.since, undefined);
    now += 100 * HOUR;
    const again = await known('c');
    assert.equal(again.since, undefined);
  });

  it('keeps the age of the last message where its limit is changed', async () => {
    const first = await known('a', 24);
    now += 5 * HOUR;
    first.stop();
    await isSilent(begun('b'));
  });

  it('is found also while the store fails', async () => {
    const silence = await known('a');
    silence.proven();
    place.fails = true;
    now += 5 * HOUR;
    await tellings(1);
    silence.proven();
    assert.equal(silence.since, undefined);
  });

  it('costs a note a minute, however many messages come', async () => {
    const silence = await known('a');
    silence.proven();
    const before = place.writes.length;
    for (let times = 0; times < 1000; times += 1) silence.proven();
    assert.ok(place.writes.length - before <= 1);
  });
});
