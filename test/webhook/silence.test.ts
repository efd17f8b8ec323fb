import assert from 'node:assert/strict';
import { SilenceWatchdog } from '../../lib/webhook/endpoint-health';
import { SlotPlace } from '../support/inbox/hooked-inbox';
import { eventually } from '../support/time/patience';

const HOUR = 60 * 60 * 1000;

describe('the silence of a webhook', () => {
  let now: number;
  let place: SlotPlace;
  let told: string[];
  const all: SilenceWatchdog[] = [];
  beforeEach(() => {
    now = 0;
    told = [];
    place = new SlotPlace(() => now);
  });
  afterEach(() => {
    for (const silence of all.splice(0)) silence.stop();
  });

  /** Looks each quarter of a second: clock and timers of a test have nothing to do with each other. */
  function begun(name: string, hours: number, endpointId = ':/yard'): SilenceWatchdog {
    const clock = (): number => now;
    const onSilent = (): void => void told.push(name);
    const silence = new SilenceWatchdog({
      place,
      endpointId,
      limit: hours * HOUR,
      onSilent,
      steady: clock,
      now: clock,
      every: 5,
    });
    all.push(silence);
    silence.start();
    return silence;
  }

  const known = (silence: SilenceWatchdog): Promise<void> =>
    eventually(() => silence.since !== 'unknown', 'the slot');
  const isSilent = (silence: SilenceWatchdog): Promise<void> =>
    eventually(() => silence.since instanceof Date, 'the silence');
  const tellings = (count: number): Promise<void> => eventually(() => told.length >= count, 'what is told');

  it('is told once when it lasts longer than allowed, and is over with the next proven message', async () => {
    const silence = begun('a', 4);
    await known(silence);
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

  for (const thrower of ['whoever is told', 'the inbox'] as const) {
    it(`is looked for again where ${thrower} has thrown`, async () => {
      let throws = 0;
      const silence = begun('a', 4);
      await known(silence);
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
  }

  it('begins with the start where no message has ever come', async () => {
    const silence = begun('a', 4);
    await known(silence);
    assert.equal(silence.since, undefined);
    now += 5 * HOUR;
    await tellings(1);
  });

  it('goes on over a restart, the time that Node-RED is down counted, and is not told again', async () => {
    const first = begun('a', 4);
    await known(first);
    now += 120_000;
    first.proven();
    await eventually(() => place.writes.length >= 2, 'the note');
    first.stop();
    now += 5 * HOUR;
    const second = begun('b', 4);
    await isSilent(second);
    assert.deepEqual(told, [], 'held messages come first');
    now += 180_000;
    await tellings(1);
    second.stop();
    const third = begun('c', 4);
    now += HOUR;
    await isSilent(third);
    assert.deepEqual(told, ['b']);
  });

  it('is over for all instances with a message at one of them, and told by one of them', async () => {
    const [first, second] = [begun('a', 4), begun('b', 4)];
    await Promise.all([known(first), known(second)]);
    now += 5 * HOUR;
    await tellings(1);
    await Promise.all([isSilent(first), isSilent(second)]);
    first.proven();
    now += 60_000;
    await eventually(() => second.since === undefined, 'the end at the other');
    assert.equal(told.length, 1);
  });

  it('is never where nobody asks for it, and begins anew where somebody does again', async () => {
    const first = begun('a', 4);
    await known(first);
    first.stop();
    const off = begun('b', 0);
    await eventually(() => place.writes.length >= 2, 'the end of the slot');
    assert.equal(off.since, undefined);
    now += 100 * HOUR;
    const again = begun('c', 4);
    await known(again);
    assert.equal(again.since, undefined);
  });

  it('keeps the age of the last message where its limit is changed', async () => {
    const first = begun('a', 24);
    await known(first);
    now += 5 * HOUR;
    first.stop();
    await isSilent(begun('b', 4));
  });

  it('is found also while the store fails', async () => {
    const silence = begun('a', 4);
    await known(silence);
    silence.proven();
    place.fails = true;
    now += 5 * HOUR;
    await tellings(1);
    silence.proven();
    assert.equal(silence.since, undefined);
  });

  it('costs a note a minute, however many messages come', async () => {
    const silence = begun('a', 4);
    await known(silence);
    silence.proven();
    const before = place.writes.length;
    for (let times = 0; times < 1000; times += 1) silence.proven();
    assert.ok(place.writes.length - before <= 1);
  });
});
