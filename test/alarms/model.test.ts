import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { AlarmEvent } from '../../lib/alarms/level';
import type { EventOutcome } from '../../lib/alarms/alarm-state';
import type { Control } from '../../lib/alarms/settings';
import { alarmEvent, Instances, SETTINGS } from '../support/alarms/instances';
import { few } from '../support/suite/lanes';
import { VirtualTime } from '../support/time/virtual-time';

type Deed =
  | { do: 'events'; events: { event: Partial<AlarmEvent>; at: number }[] }
  | { do: 'again'; which: number; at: number }
  | { do: 'control'; control: Control; at: number }
  | { do: 'wait'; seconds: number }
  | { do: 'kill' | 'stop' | 'start'; at: number };

const GROUPS = ['north', 'south'];
/** For a hunt: `RVM_MODEL_RUNS=5000`. */
const RUNS = Number(process.env['RVM_MODEL_RUNS'] ?? few(20, 60));

/** What an alarm state is, said plainly: one level for each group, whoever asks, whatever happens to those who answer. */
class Plain {
  raised = false;
  until = 0;
  isArmed = true;
  testUntil = 0;
  counted: { id: string; at: number }[] = [];
  readonly alarms = new Map<string, string>();

  constructor(private readonly count: number) {}

  event(event: AlarmEvent, now: number): string {
    const { hold, within, ignoreOlder } = SETTINGS;
    if (event.isRedelivery && this.alarms.get(event.alarm) === event.id) return 'state';
    if ((event.age ?? 0) > ignoreOlder) return 'late';
    if (event.isSandbox) return 'sandbox';
    if (event.eventClass === 'health') return 'class';
    if (!this.isArmed) return 'disarmed';
    if (now < this.testUntil) return 'test';
    if (this.raised) this.until = now + hold;
    if (this.raised || event.isEnd || this.alarms.has(event.alarm)) return 'extended';
    this.counted = this.counted.filter(({ id, at }) => at >= now - within && id !== event.id);
    this.counted.push({ id: event.id, at: now });
    if (this.counted.length < this.count) return 'count';
    Object.assign(this, { raised: true, until: now + hold, counted: [] });
    this.alarms.set(event.alarm, event.id);
    return 'state';
  }

  control({ do: what, lasts }: Control, now: number): void {
    if (what === 'arm') this.isArmed = true;
    if (what === 'disarm') this.isArmed = false;
    if (what === 'test') this.testUntil = now + lasts;
    if (what !== 'arm' && (what !== 'test' || lasts > 0))
      Object.assign(this, { raised: false, counted: this.raised ? [] : this.counted });
  }
}

function wordOf({ output, reason }: EventOutcome): string {
  return reason ?? output;
}

/** Held back events first, then who raises, then who extends: in some such order they have come. */
const ORDER = ['late', 'sandbox', 'class', 'disarmed', 'test', 'count', 'state', 'extended'];

class Model {
  readonly #instances: Instances;
  readonly #plain: Map<string, Plain>;
  readonly #sent: AlarmEvent[] = [];
  readonly #shown = new Map<string, boolean>();
  /** Groups of which an end may be later than it is, by a part of the hold: the instance that knew it is gone. */
  readonly #vague = new Set<string>();
  #heard = 0;

  constructor(
    count: number,
    private readonly size: number,
  ) {
    this.#instances = new Instances({ ...SETTINGS, count }, size > 1);
    this.#plain = new Map(GROUPS.map((group) => [group, new Plain(count)]));
  }

  async start(): Promise<void> {
    for (let at = 0; at < this.size; at += 1) await this.#instances.start(at);
  }

  async act(deed: Deed): Promise<void> {
    await this.#act(deed);
    this.#hear();
    this.#check();
  }

  async end(): Promise<void> {
    for (const at of this.#instances.running) await this.#instances.kill(at);
  }

  async #act(deed: Deed): Promise<void> {
    switch (deed.do) {
      case 'events': {
        const events = deed.events.map(({ event, at }) => [alarmEvent(event), at] as const);
        return this.#send(events.filter(([, at]) => this.#runs(at)));
      }
      case 'again': {
        const event = this.#sent[deed.which % Math.max(1, this.#sent.length)];
        if (event === undefined || !this.#runs(deed.at)) return;
        return this.#send([[{ ...event, isRedelivery: true }, deed.at]]);
      }
      case 'control':
        return this.#control(deed.control, deed.at);
      case 'wait':
        return this.#instances.wait(deed.seconds * 1000);
      case 'start':
        if (deed.at < this.size && !this.#runs(deed.at)) await this.#instances.start(deed.at);
        return;
      case 'kill':
      case 'stop':
        if (!this.#runs(deed.at)) return;
        // An extension is durable within three seconds; one that is not comes again where it is to be settled.
        if (deed.do === 'kill') await this.#instances.wait(3500);
        for (const [group, { raised }] of this.#plain) if (raised) this.#vague.add(group);
        return this.#instances[deed.do](deed.at);
      default:
        return deed satisfies never;
    }
  }

  async #send(events: (readonly [AlarmEvent, number])[]): Promise<void> {
    const { now } = this.#instances.time;
    this.#end(now);
    const outcomes = await this.#instances.events(...events);
    const came = outcomes.map((outcome, index) => ({ event: events[index]?.[0] ?? alarmEvent(), outcome }));
    came.sort((one, other) => ORDER.indexOf(wordOf(one.outcome)) - ORDER.indexOf(wordOf(other.outcome)));
    for (const { event, outcome } of came) {
      this.#sent.push(event);
      const plain = this.#of(event.group);
      const word = plain.event(event, now);
      assert.equal(wordOf(outcome), word, JSON.stringify(event));
      if (word === 'state') this.#shown.set(event.group, plain.raised);
      if (word === 'state' && !event.isRedelivery) this.#vague.delete(event.group);
    }
  }

  async #control(control: Control, at: number): Promise<void> {
    if (!this.#runs(at)) return;
    const { now } = this.#instances.time;
    this.#end(now);
    await this.#instances.control(control, at);
    for (const [group, plain] of this.#plain)
      if (control.group === '' || control.group === group) plain.control(control, now);
  }

  /** What was said without an event: of one instance as much as of the others. */
  #hear(): void {
    const { said } = this.#instances;
    for (; this.#heard < said.length; this.#heard += 1) {
      const [group = '', raised] = (said[this.#heard] ?? '').split(' ');
      this.#shown.set(group, raised === 'true');
    }
  }

  /** Time may have ended a level; where that is vague, as it is. */
  #end(now: number): void {
    for (const [group, plain] of this.#plain) {
      if (!plain.raised || now < plain.until) continue;
      const isOver = now >= plain.until + 6000;
      if (this.#vague.has(group) && !isOver && this.#known(group)) plain.until = now;
      else Object.assign(plain, { raised: false });
    }
  }

  #check(): void {
    if (this.#instances.running.length === 0) return;
    this.#end(this.#instances.time.now);
    for (const [group, { raised }] of this.#plain) {
      assert.equal(this.#shown.get(group) ?? false, raised, `what is shown of ${group}`);
      for (const at of this.#instances.running)
        assert.equal(this.#raised(group, at), raised, `${group} at instance ${at}`);
    }
  }

  #known(group: string): boolean {
    return this.#instances.running.some((at) => this.#raised(group, at));
  }

  #raised(group: string, at: number): boolean {
    return this.#instances.state(at).raised().includes(group);
  }

  #of(group: string): Plain {
    return this.#plain.get(group) ?? assert.fail(group);
  }

  #runs(at: number): boolean {
    return this.#instances.running.includes(at);
  }
}

const at = fc.nat(1);
const rarely = (word: string) =>
  fc.oneof({ weight: 9, arbitrary: fc.constant('') }, { weight: 1, arbitrary: fc.constant(word) });
const event: fc.Arbitrary<Partial<AlarmEvent>> = fc
  .record({
    group: fc.constantFrom(...GROUPS),
    alarm: fc.constantFrom('one', 'two', 'three', 'four', 'five', 'six'),
    isEnd: fc.boolean(),
    odd: fc.oneof(rarely('late'), rarely('sandbox'), rarely('health')),
  })
  .map(({ odd, isEnd, ...rest }) => ({
    ...rest,
    isEnd: isEnd && odd === '',
    age: odd === 'late' ? 301 : 1,
    isSandbox: odd === 'sandbox',
    eventClass: odd === 'health' ? 'health' : 'security',
  }));
const control: fc.Arbitrary<Control> = fc.record({
  do: fc.constantFrom('arm', 'arm', 'disarm', 'acknowledge', 'test'),
  group: fc.constantFrom('', ...GROUPS),
  lasts: fc.constantFrom(0, 20_100, 90_100),
});
const events = fc.array(fc.record({ event, at }), { minLength: 1, maxLength: 3 });
const seconds = fc.constantFrom(1, 5, 10, 20, 29, 31, 60, 61);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('events'), events }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('again'), which: fc.nat(100), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('control'), control, at }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('wait'), seconds }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('kill', 'stop'), at }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('start'), at }) },
);

for (const [name, size] of [
  ['an alarm state', 1],
  ['an alarm state that two instances share', 2],
] as const) {
  describe(name, () => {
    afterEach(() => VirtualTime.restore());

    it('does as the plain one, whatever comes, is killed, and starts again', async () => {
      const run = async (deeds: readonly Deed[], count: number): Promise<void> => {
        const model = new Model(count, size);
        try {
          await model.start();
          for (const each of deeds) await model.act(each);
          await model.end();
        } finally {
          VirtualTime.restore();
        }
      };
      await fc.assert(fc.asyncProperty(fc.array(deed, { maxLength: 40 }), fc.constantFrom(1, 1, 3), run), {
        numRuns: RUNS,
      });
    });
  });
}
