import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { withTimeout } from '../../lib/concurrency/timers';
import type { Delivery } from '../../lib/inbox/model';
import { SPILL_REGISTER } from '../../lib/inbox/spare/spare-folder';
import type { ProvenMessage } from '../../lib/message/record';
import { seededChance } from '../support/inbox/broken-files';
import { fail, type Hook } from '../support/inbox/each-store';
import { windowIsKept } from '../support/inbox/flow-model';
import { HookedInbox } from '../support/inbox/hooked-inbox';
import { few } from '../support/suite/lanes';
import { steadyNow } from '../support/time/event-loop';
import { PATIENCE } from '../support/time/patience';
import { proven, Taker } from './samples';

/** For a hunt: `RVM_MODEL_RUNS=2000 RVM_MODEL_SEED=1000`. */
const RUNS = Number(process.env['RVM_MODEL_RUNS'] ?? few(1, 10, 100));
const SEED = Number(process.env['RVM_MODEL_SEED'] ?? 1);
const DEEDS = 60;
/** Milliseconds. */
const REOPENED_AFTER = 30;
const GIVEN_UP = /not settled come again/;
/** They wait most of the time. */
const AT_ONCE = 5;

/**
 * What becomes of what the store is asked. `readable`: it can be read, and not written. `hangs`: done and answered when that is over.
 * `lost`: perhaps done, and the answer is lost with its thread. `refuses`: it works, and takes some of what was spilled not.
 */
const FAULTS = ['fails', 'readable', 'hangs', 'lost', 'refuses'] as const;
type Fault = (typeof FAULTS)[number] | 'none';
const SPARE_FAULTS = ['fails', 'hangs', 'lost'] as const;
type SpareFault = (typeof SPARE_FAULTS)[number] | 'none';

interface Sent {
  readonly message: ProvenMessage;
  readonly alarm: string;
  acknowledged: boolean;
  retried: boolean;
  readonly deliveries: Delivery[];
  /** In which life of the inbox it came to the flow last. */
  life: number;
}

/** An inbox whose store fails, hangs and mends, a sender, a flow, and kills: what must be true of them at every moment. */
class Model {
  readonly violations: string[] = [];
  readonly #sent: Sent[] = [];
  /** With the flow: by delivery id. */
  readonly #atFlow = new Map<string, Sent>();
  /** Of those that were killed: what they do from then on is no concern of the one that follows. */
  readonly #endings: Promise<void>[] = [];
  /** What became of the events of each alarm: no seed brings the same times again. */
  readonly #course: { alarm: string; text: string }[] = [];
  #hanging: (() => void)[] = [];
  #inbox: HookedInbox;
  #life = 0;
  #fault: Fault = 'none';
  /** What becomes of what is beside it: `lost` as above. */
  #spareFault: SpareFault = 'none';
  /** The thread of the store has ended, and is followed by another soon. */
  #isGone = false;
  #maxInFlight = 0;

  constructor(
    private readonly chance: () => number,
    private readonly handledWhen: 'sent' | 'settled',
  ) {
    this.#inbox = this.#open();
  }

  async act(): Promise<void> {
    const dice = this.chance();
    if (dice < 0.45) await this.#send(this.#new());
    else if (dice < 0.6) await this.#send(this.#oneOf(this.#unacknowledged()) ?? this.#sent.at(-1));
    else if (dice < 0.72) this.#settleSome(0.6);
    else if (dice < 0.76) this.#retry();
    else if (dice < 0.86) this.#change();
    else if (dice < 0.9) this.#kill();
    else await delay(5 + this.chance() * 60);
    await delay(this.chance() * 8);
    if (!windowIsKept(this.#inbox)) this.violations.push('more leased than the window');
  }

  /** From now on nothing fails, and the flow settles whatever comes: then all must come to its end. */
  async finish(): Promise<void> {
    this.#mend();
    // What was refused is offered again at a start.
    this.#kill();
    const end = steadyNow() + PATIENCE;
    while (!(await this.#isOver())) {
      if (steadyNow() > end) return void this.violations.push(`left: ${await this.#left()}`);
      for (const sent of this.#unacknowledged()) await this.#send(sent);
      this.#settleSome(1);
      await delay(20);
    }
    const { messages } = await this.#inbox.list({ state: 'all', limit: 100_000 });
    const inside = new Set(messages.map(({ messageId }) => messageId));
    for (const sent of this.#sent)
      if (sent.deliveries.length === 0 || !inside.has(sent.message.envelope.messageId))
        this.#violated('lost', sent);
  }

  async end(): Promise<void> {
    await Promise.all([...this.#endings, this.#end(this.#inbox)]);
  }

  async #end(inbox: HookedInbox): Promise<void> {
    await inbox.close();
    fs.rmSync(inbox.folder, { recursive: true });
  }

  #open(folder?: string): HookedInbox {
    this.#life += 1;
    this.#atFlow.clear();
    this.#hanging = [];
    this.#isGone = false;
    const life = this.#life;
    const inbox = new HookedInbox({
      hook: this.#hookOf(life),
      log: (news) => {
        if (news.kind === 'line' && GIVEN_UP.test(news.line) && life === this.#life) this.#giveUp();
      },
      ...(folder && { folder }),
    });
    inbox.spareHook = this.#spareHookOf(this.#life);
    this.#consume(inbox, this.#life);
    return inbox;
  }

  /** What a spare has that fails for long is with the flow no more: it comes again. */
  #giveUp(): void {
    for (const [deliveryId, sent] of this.#atFlow) {
      if (this.#inbox.leaseOf(deliveryId) !== undefined) continue;
      this.#note(sent, 'given up', deliveryId);
      this.#atFlow.delete(deliveryId);
    }
  }

  #consume(inbox: HookedInbox, life: number): void {
    this.#maxInFlight = this.chance() < 0.3 ? 2 : 20;
    void new Taker(inbox, {
      handledWhen: this.handledWhen,
      redeliverAfter: 1_000_000,
      maxAttempts: 1000,
      maxInFlight: this.#maxInFlight,
      deliver: (delivery) => {
        if (life === this.#life) this.#deliver(delivery);
        return true;
      },
    });
  }

  #hookOf(life: number): Hook {
    return (name, pass) => {
      if (life !== this.#life) return fail();
      const act = (): unknown => {
        const given = pass();
        if (name !== 'bring' || this.#fault !== 'none' || this.chance() > 0.04) return given;
        // It is in both, and nobody has noted that.
        this.#kill();
        return fail();
      };
      if (this.#isGone) return fail();
      switch (this.#fault) {
        case 'none':
          return act();
        case 'readable':
          return ['look', 'list', 'page'].includes(name) ? act() : fail();
        case 'refuses':
          return name === 'bring' && this.chance() < 0.5 ? fail() : act();
        case 'hangs':
          return new Promise((resolve, reject) => {
            this.#hanging.push(() => {
              new Promise((done) => done(life === this.#life ? act() : fail())).then(resolve, reject);
            });
          });
        case 'lost':
          this.#isGone = true;
          setTimeout(() => life === this.#life && this.#reopen(), REOPENED_AFTER);
          if (this.chance() < 0.5) pass();
          return fail();
        case 'fails':
          break;
      }
      return fail();
    };
  }

  #reopen(): void {
    this.#isGone = false;
    this.#inbox.reopen();
  }

  #spareHookOf(life: number): Hook {
    return async (name, pass) => {
      if (life !== this.#life) return fail();
      // It is in both, and one of them knows that.
      if (name === 'gone' && this.chance() < 0.04) {
        if (this.chance() < 0.5) pass();
        this.#kill();
        return fail();
      }
      if (this.#spareFault === 'none') return pass();
      if (this.#spareFault === 'hangs') {
        await new Promise<void>((resolve) => this.#hanging.push(resolve));
        return life === this.#life ? pass() : fail();
      }
      if (this.#spareFault === 'lost') {
        this.#spareFault = 'fails';
        setTimeout(() => life === this.#life && this.#reopenSpares(), REOPENED_AFTER);
        if (this.chance() < 0.5) pass();
      }
      return fail();
    };
  }

  #reopenSpares(): void {
    this.#spareFault = 'none';
    this.#inbox.reopenSpares();
  }

  #new(): Sent {
    const alarm = `alarm ${Math.floor(this.chance() * 3)}`;
    const eventEndTime = this.chance() < 0.3 ? '2026-03-04T05:06:09Z' : null;
    const message = proven({ alarmId: alarm, eventEndTime });
    const sent = { message, alarm, acknowledged: false, retried: false, deliveries: [], life: 0 };
    this.#sent.push(sent);
    return sent;
  }

  /** As the service does: not acknowledged, it is sent again. */
  async #send(sent: Sent | undefined): Promise<void> {
    if (sent === undefined) return;
    const life = this.#life;
    const accepting = this.#inbox.accept(sent.message).then(
      ({ deliveryId, outcome }) => {
        this.#note(sent, 'accepted', deliveryId, outcome);
        sent.acknowledged ||= life === this.#life;
      },
      () => undefined,
    );
    await withTimeout(accepting, 600);
  }

  #unacknowledged(): Sent[] {
    return this.#sent.filter(({ acknowledged }) => !acknowledged);
  }

  #oneOf<One>(some: readonly One[]): One | undefined {
    return some[Math.floor(this.chance() * some.length)];
  }

  #deliver(delivery: Delivery): void {
    const { again, attempt, message, deliveryId } = delivery;
    const sent = this.#sent.find((one) => one.message.envelope.messageId === message.envelope.messageId);
    if (sent === undefined) return void this.violations.push('delivered and never sent');
    const isMarked = again !== undefined || attempt > 1 || message.warnings.includes('may-repeat');
    // One that was in memory alone when the process ended comes once more, and cannot say so; it has said so before.
    const hasSaidSo =
      sent.life < this.#life && sent.deliveries.at(-1)?.message.warnings.includes('may-repeat') === true;
    sent.deliveries.push(delivery);
    sent.life = this.#life;
    this.#note(sent, 'delivered', deliveryId, attempt, again);
    if (sent.deliveries.length > 1 && !isMarked && !hasSaidSo) this.#violated('twice, unmarked', sent);
    if (this.handledWhen !== 'settled') return;
    const others = [...this.#atFlow.values()].filter((other) => other !== sent);
    if (others.some(({ alarm }) => alarm === sent.alarm))
      this.#violated('two of one alarm at the flow', sent);
    if (others.length >= this.#maxInFlight) this.#violated('more than the window', sent);
    this.#atFlow.set(deliveryId, sent);
  }

  #note({ alarm }: Sent, ...words: unknown[]): void {
    const when = [this.#life, this.#isGone ? 'gone' : this.#fault, Math.round(steadyNow())];
    this.#course.push({ alarm, text: [...when, ...words].join(' ') });
  }

  #settleSome(part: number): void {
    for (const [deliveryId, sent] of this.#atFlow) if (this.chance() < part) this.#settle(deliveryId, sent);
  }

  #settle(deliveryId: string, sent: Sent): void {
    const life = this.#life;
    this.#note(sent, 'to be settled', deliveryId);
    this.#inbox.settle(deliveryId, { action: 'done' }).then(
      (isKnown) => {
        if (life !== this.#life) return;
        if (!isKnown) this.#violated('unknown', sent);
        this.#note(sent, 'settled', deliveryId);
        this.#atFlow.delete(deliveryId);
      },
      () => undefined,
    );
  }

  /** Once of each, for it comes after a second then, and after five the next time. */
  #retry(): void {
    const [deliveryId, sent] = this.#oneOf([...this.#atFlow].filter(([, { retried }]) => !retried)) ?? [];
    if (deliveryId === undefined || sent === undefined) return;
    sent.retried = true;
    // The flow has done with it, also where the store cannot be told that.
    this.#atFlow.delete(deliveryId);
    this.#note(sent, 'retry', deliveryId);
    this.#inbox.settle(deliveryId, { action: 'retry' }).catch(() => undefined);
  }

  #change(): void {
    this.#mend();
    if (this.chance() > 0.45) this.#fault = this.#oneOf(FAULTS) ?? 'fails';
    if (this.chance() < 0.2) this.#spareFault = this.#oneOf(SPARE_FAULTS) ?? 'fails';
  }

  #mend(): void {
    this.#fault = 'none';
    this.#spareFault = 'none';
    for (const act of this.#hanging.splice(0)) act();
  }

  #kill(): void {
    const image = this.#inbox.image();
    // It names the folder of the inbox that was copied, which lives on in this process.
    fs.rmSync(path.join(image, SPILL_REGISTER), { force: true });
    const [killed, hanging] = [this.#inbox, this.#hanging.splice(0)];
    this.#inbox = this.#open(image);
    for (const act of hanging) act();
    this.#endings.push(this.#end(killed));
  }

  async #isOver(): Promise<boolean> {
    const { messages, fault } = await this.#inbox.list({ state: 'open', limit: 1000 });
    const { durable, spilled } = this.#inbox.state();
    const isInside = fault === undefined && durable === true && spilled === undefined;
    return isInside && messages.length === 0 && this.#unacknowledged().length === 0;
  }

  async #left(): Promise<string> {
    const { messages } = await this.#inbox.list({ state: 'open', limit: 9 });
    const rows = messages.map(({ deliveryId, state, attempts }) => [deliveryId, state, attempts]);
    return JSON.stringify([rows, this.#inbox.state(), this.#unacknowledged().length]);
  }

  #violated(what: string, sent: Sent): void {
    const course = this.#course.filter(({ alarm }) => alarm === sent.alarm).map(({ text }) => text);
    this.violations.push([what, ...course.slice(-30)].join('\n  '));
  }
}

describe('an inbox whose store fails, hangs and mends', () => {
  for (const handledWhen of ['sent', 'settled'] as const)
    it(`loses nothing, doubles nothing unmarked, and has one of each alarm at the flow, with events that are ${handledWhen}`, async function () {
      this.timeout(PATIENCE + RUNS * 30_000);
      const violations: string[] = [];
      const seeds = Array.from({ length: RUNS }, (_, run) => SEED + run);
      const run = async (): Promise<void> => {
        for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
          const model = new Model(seededChance(seed * 7919), handledWhen);
          for (let deed = 0; deed < DEEDS; deed += 1) await model.act();
          await model.finish();
          await model.end();
          violations.push(...model.violations.map((violation) => `seed ${seed}: ${violation}`));
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, run));
      assert.deepEqual(violations, []);
    });
});
