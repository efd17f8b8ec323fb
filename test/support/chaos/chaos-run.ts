import { setTimeout as sleep } from 'node:timers/promises';
import type { CallOptions } from '../../../lib/cloud/calls';
import { RvmError, type RvmErrorCode } from '../../../lib/error';
import { SeededChoice } from '../../../sandbox/world/seeded';
import { soon } from '../time/patience';
import { ChaosDeeds, keyOf, type Deed, AT_ONCE, type ChaosWorld } from './chaos-world';

export interface Outcome {
  deed: Deed;
  /** Undefined where it succeeded. */
  code: RvmErrorCode | undefined;
  /** Milliseconds after which its caller gave up; Infinity where nobody did. */
  patience: number;
  ms: number;
  /** It went on, though its time was over. */
  isLate: boolean;
}

type Tally = Record<'begun' | 'succeeded', number>;

export class ChaosRun {
  /** Results that are not those of the call. */
  readonly wrong: string[] = [];
  /** POSTs that the sandbox got more often than they were called for, or not at all. */
  readonly miscounted: string[] = [];
  readonly #lanes = new Map<string, Promise<unknown>>();
  readonly #tallies = new Map<string, Tally>();

  private constructor(
    private readonly world: ChaosWorld,
    private readonly choice: SeededChoice,
    private readonly deeds: ChaosDeeds,
  ) {}

  static async of(world: ChaosWorld, seed: number): Promise<ChaosRun> {
    const choice = new SeededChoice(seed);
    return new ChaosRun(world, choice, new ChaosDeeds(choice, world, await world.listedCameras()));
  }

  /** @param impatient some of the callers give up, or have little time: on a busy machine it is too little without faults, too */
  async many(count: number, impatient: boolean): Promise<Outcome[]> {
    const outcomes: Outcome[] = [];
    let left = count;
    const worker = async (): Promise<void> => {
      while (left > 0) {
        left -= 1;
        const outcome = await this.one(impatient);
        outcomes.push(outcome);
        // With an open circuit a call fails at once: all would be gone before it closes.
        if (outcome.ms < 5) await sleep(20);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return outcomes;
  }

  one(impatient: boolean): Promise<Outcome> {
    const deed = this.deeds.next(impatient);
    const patience = impatient && this.choice.below(20) === 0 ? 1 + this.choice.below(300) : Infinity;
    if (deed.lane === undefined) return this.#act(deed, patience);
    const before = this.#lanes.get(deed.lane) ?? Promise.resolve();
    const mine = before.then(() => this.#act(deed, patience));
    this.#lanes.set(deed.lane, mine);
    return mine;
  }

  /** Looks once more whether anything came later than its call ended, and begins to count anew. */
  endRound(): void {
    for (const post of this.#tallies.keys()) this.#count(post);
    this.world.forwarder.requests.length = 0;
    this.#tallies.clear();
  }

  async #act(deed: Deed, patience: number): Promise<Outcome> {
    const tally = this.#tallyOf(deed.post);
    if (tally !== undefined) tally.begun += 1;
    const caller = new AbortController();
    const timer = patience < Infinity ? setTimeout(() => caller.abort(), patience) : undefined;
    const begun = performance.now();
    const calling = this.#outcome(deed, { signal: caller.signal });
    const isLate = await goesOnAfter(
      calling,
      Math.min(patience, deed.deadlineMs ?? this.world.deadline(isCommand(deed.post))),
    );
    const code = await calling;
    const ms = performance.now() - begun;
    clearTimeout(timer);
    if (tally !== undefined && code === undefined) tally.succeeded += 1;
    if (deed.post !== undefined) this.#count(deed.post);
    return { deed, code, patience, ms, isLate };
  }

  async #outcome(deed: Deed, options: CallOptions): Promise<RvmErrorCode | undefined> {
    try {
      const check = await deed.act(this.world.client, options);
      await check();
      return undefined;
    } catch (error) {
      if (error instanceof RvmError) return error.code;
      this.wrong.push(`${deed.name}: ${String(error)}`);
      return undefined;
    }
  }

  /**
   * The sandbox has got what has succeeded, and no command more often than it was called for: a session may be asked for once
   * too often. A POST that was refused for want of a session was not carried out.
   */
  #count(post: string): void {
    const { begun, succeeded } = this.#tallyOf(post) ?? { begun: 0, succeeded: 0 };
    const { requests } = this.world.forwarder;
    const arrived = requests.filter((request) => request.status !== 401 && keyOf(request) === post).length;
    if (succeeded <= arrived && (arrived <= begun || !isCommand(post))) return;
    this.miscounted.push(`${post}: ${begun} begun, ${arrived} arrived, ${succeeded} succeeded`);
  }

  #tallyOf(post: string | undefined): Tally | undefined {
    if (post === undefined) return undefined;
    const tally = this.#tallies.get(post) ?? { begun: 0, succeeded: 0 };
    this.#tallies.set(post, tally);
    return tally;
  }
}

function isCommand(post: string | undefined): boolean {
  return post?.includes('/ptz-') === true;
}

/** True where work is still under way when its time, in milliseconds, is over and a little more. */
async function goesOnAfter(work: Promise<unknown>, time: number): Promise<boolean> {
  const over = new AbortController();
  const inTime = work.then(() => false);
  const late = sleep(time, undefined, { signal: over.signal }).then(
    () => soon(inTime).catch(() => true),
    () => false,
  );
  const isLate = await Promise.race([inTime, late]);
  over.abort();
  return isLate;
}
