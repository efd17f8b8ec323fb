import { forEachTimeSliced } from '../concurrency/iteration';
import { TimeoutBreaker, withTimeout } from '../concurrency/timers';
import { RvmError } from '../error';
import type { ListedMessage, ListQuery, MessageList } from './model';
import type { EventQueues } from './queue/event-queues';
import type { EventEnd, Spare } from './spare/spare';
import type { Spares } from './spare/spares';
import {
  type AnyCall,
  type AnyStore,
  type CallName,
  endStep,
  type LeasedMessage,
  type LocalCall,
  type StoreCalls,
  storeFailed,
  type StorePort,
  TOO_SLOW,
} from './store/port';
import { isListed, isOpenState, listed } from './store/stored-message';
import type { StoreHealth } from './store-health';

interface PatientReadingOptions {
  health: StoreHealth;
  /** True where there is something to see without the store: then nobody waits until it is open. */
  hasMore: () => boolean;
  /** Time for a store that fails to answer, in milliseconds. */
  timeoutMs: number;
}

/** What is asked of a store for somebody to see it: one that fails and hangs is not waited for. */
export class PatientReading {
  /** Open while questions are not answered that were not waited for: it is asked no other. */
  readonly #breaker = new TimeoutBreaker();

  constructor(
    private readonly store: AnyStore,
    private readonly options: PatientReadingOptions,
  ) {}

  /** @throws RvmError STORE_FAILED */
  async read<Name extends AnyCall>(
    name: Name,
    take: StoreCalls[Name]['take'],
  ): Promise<StoreCalls[Name]['give']> {
    const known = this.#fault();
    if (this.#breaker.isOpen && known !== undefined) throw storeFailed(known);
    const reading = this.store.call(name, take).then((give) => ({ give }));
    for (;;) {
      const answer = await withTimeout(reading, this.options.timeoutMs);
      if (answer !== undefined) return answer.give;
      const reason = this.#fault();
      if (reason === undefined) continue;
      this.#breaker.trip(reading);
      throw storeFailed(reason);
    }
  }

  /** Why the store fails; undefined where its answer is worth waiting for, however long it takes. */
  #fault(): string | undefined {
    const { health, hasMore } = this.options;
    const { durable = !hasMore(), fault = 'it is not open yet' } = health.state;
    return durable ? undefined : fault;
  }
}

/** What of the inbox belongs into a list; `fault`: why it is missing. */
interface InboxRows {
  rows: LeasedMessage[];
  fault?: RvmError;
}

export async function rowsOf(reading: PatientReading, query: ListQuery): Promise<InboxRows> {
  try {
    return { rows: await reading.read('list', query) };
  } catch (error) {
    if (!(error instanceof RvmError)) throw error;
    return { rows: [], fault: error };
  }
}

/** Newest first. @param rows of one moment, those that came later first */
export async function listedOf(
  rows: LeasedMessage[],
  { limit, history }: Pick<ListQuery, 'limit' | 'history'>,
): Promise<ListedMessage[]> {
  rows.sort((one, other) => other.received - one.received);
  const messages: ListedMessage[] = [];
  // Each body is read as JSON.
  await forEachTimeSliced(rows.slice(0, limit), (row) => messages.push(listed(row, history)));
  return messages;
}

type Take<Name extends CallName> = StoreCalls[Name]['take'];
type Give<Name extends CallName> = Promise<StoreCalls[Name]['give']>;
type Routes = { [Name in CallName]?: (take: Take<Name>, hurry?: boolean) => Give<Name> };

interface StoresOptions {
  spares: Spares;
  queues: EventQueues;
  health: StoreHealth;
  /** Time for a store to answer, in milliseconds. */
  timeoutMs: number;
}

/**
 * The inbox and its spares, as one: each event is asked of where it is, under the same delivery id throughout. What comes in, and
 * what waits, is asked of the one or the other by those who know which.
 */
export class Stores implements StorePort {
  readonly #routes: Routes = {
    // What is beside the inbox has the turn of its alarm all the same.
    lease: (take) => this.#lease(take),
    leased: (endpoint) => this.#leased(endpoint),
    giveBack: (take) => this.#giveBack(take),
    markDelivered: (ids, hurry) => this.#markDelivered(ids, hurry),
    lapse: (take) => this.#ask('lapse', take, take.deliveryId),
    again: (id) => this.#ask('again', id, id),
    dismiss: (take) => this.#ask('dismiss', take, take.deliveryId),
    stateOf: (id) => this.#ask('stateOf', id, id),
    revive: (take) => this.#revive(take),
    note: (take) => this.#note(take),
    finish: (take) => this.#finish(take),
  };

  readonly #notes = new TimeoutBreaker();

  constructor(
    private readonly main: StorePort,
    private readonly options: StoresOptions,
  ) {}

  call<Name extends LocalCall>(name: Name, take: Take<Name>, hurry?: boolean): Give<Name> {
    const route: Routes[Name] = this.#routes[name];
    return route === undefined ? this.main.call(name, take, hurry) : route(take, hurry);
  }

  close(): Promise<void> {
    return this.main.close();
  }

  /** What is in the inbox, and what is beside it, as one list, in which each message is once. */
  async list(query: ListQuery, inbox: PatientReading): Promise<MessageList> {
    const { spares, timeoutMs } = this.options;
    const isLoaded = await withTimeout(
      spares.loaded().then(() => true),
      timeoutMs,
    );
    // The spares first: what leaves one of them is in the inbox before, and so in what that gives later.
    const beside: LeasedMessage[] = [];
    let areGiven = isLoaded === true;
    for (const spare of spares.filled) {
      const rows = await withTimeout(spare.list(query), timeoutMs).catch(() => undefined);
      areGiven &&= rows !== undefined;
      beside.unshift(...(rows ?? []));
    }
    const inside = await rowsOf(inbox, query);
    const rows = await this.#withoutTwins(inside.rows, beside);
    const messages = await listedOf([...beside, ...this.#withEnds(rows, query)], query);
    const fault = inside.fault ?? (areGiven ? undefined : storeFailed('its spill folder cannot be read yet'));
    return { messages, ...(fault && { fault }) };
  }

  /** Rows of the inbox that are messages beside it: they are just entering it, or it has taken them too late. What is beside it has come further. */
  async #withoutTwins(
    rows: readonly LeasedMessage[],
    beside: readonly LeasedMessage[],
  ): Promise<LeasedMessage[]> {
    const { spares } = this.options;
    const late = await Promise.all(spares.filled.flatMap((spare) => [...spare.late.values()]).map(settled));
    const known = new Set<string | undefined>([...beside.map(({ deliveryId }) => deliveryId), ...late]);
    const shown = new Set(beside.map(keyOf));
    return rows.filter((row) => {
      if (known.has(row.deliveryId) || spares.having(row.deliveryId) !== undefined) return false;
      // As `bring` has it: one that waits goes on as the one beside.
      return row.state !== 'received' || !shown.has(keyOf(row));
    });
  }

  /** Some have come to an end that the inbox could not be told yet. */
  #withEnds(rows: readonly LeasedMessage[], { state }: ListQuery): LeasedMessage[] {
    const ends = this.options.spares.ends();
    if (ends.size === 0) return [...rows];
    return rows
      .map((row) => {
        const end = isOpenState(row.state) ? ends.get(row.deliveryId) : undefined;
        return end === undefined ? row : { ...row, state: end.state, again: undefined };
      })
      .filter((row) => isListed(state, row) || !ends.has(row.deliveryId));
  }

  /** Asks of one event, where it is. */
  #ask<Name extends LocalCall>(name: Name, take: Take<Name>, deliveryId: string): Give<Name> {
    return this.#at(
      deliveryId,
      () => this.main.call(name, take),
      (spare) => spare.call(name, take),
    );
  }

  /** In one step with the inbox where nothing is beside it: those who count what waits rely on the order of its answers. */
  #at<Result>(
    deliveryId: string,
    inside: () => Promise<Result>,
    beside: (spare: Spare) => Promise<Result>,
  ): Promise<Result> {
    const spare = this.options.spares.having(deliveryId);
    if (spare === undefined) return inside();
    return spare
      .shared(async () => (spare.has(deliveryId) ? { give: await beside(spare) } : undefined))
      .then((answer) => {
        if (answer !== undefined) return answer.give;
        // What has left it by then is in the inbox, or was in memory and is in a file.
        return this.#at(deliveryId, inside, beside);
      });
  }

  #lease(take: Take<'lease'>): Give<'lease'> {
    const { spares } = this.options;
    if (spares.size === 0) return this.main.call('lease', take);
    return spares.openAlarms(take.endpoint).then((except) => this.main.call('lease', { ...take, except }));
  }

  /** But for those that are on their way to their queue. */
  #leased(endpoint: string): Give<'leased'> {
    const { spares } = this.options;
    return spares.size === 0 ? this.main.call('leased', endpoint) : this.#leasedInBoth(endpoint);
  }

  async #leasedInBoth(endpoint: string): Give<'leased'> {
    const { filled } = this.options.spares;
    // One that fails keeps nothing of the inbox from its queue.
    const beside = filled.map((spare) => spare.call('leased', endpoint).catch(() => []));
    const all = await Promise.all([this.main.call('leased', endpoint), ...beside]);
    return all.flat().filter((id) => !filled.some((spare) => spare.isFresh(id)));
  }

  /** It waits beside the inbox then, where it looks for itself. */
  #revive(take: Take<'revive'>): Give<'revive'> {
    return this.#at(
      take.deliveryId,
      () => this.main.call('revive', take),
      async (spare) => {
        const endpoint = await spare.call('revive', take);
        await this.#changed(spare, endpoint);
        return undefined;
      },
    );
  }

  async #changed(spare: Spare, endpoint: string | undefined): Promise<void> {
    await spare.recount();
    if (endpoint !== undefined) this.options.spares.waits(endpoint);
  }

  /** How many wait again in the inbox. */
  #giveBack(take: Take<'giveBack'>): Give<'giveBack'> {
    const isBeside = [...take.unsent, ...take.cutOff].some((id) => this.options.spares.having(id));
    return isBeside ? this.#giveEachBack(take) : this.main.call('giveBack', take);
  }

  async #giveEachBack({ unsent, cutOff }: Take<'giveBack'>): Give<'giveBack'> {
    const given = new Set<string>();
    const those = (are: (id: string) => boolean): Take<'giveBack'> => ({
      unsent: unsent.filter(are),
      cutOff: cutOff.filter(are),
    });
    for (const spare of this.options.spares.filled)
      await spare.shared(async () => {
        const own = those((id) => spare.has(id));
        const ids = [...own.unsent, ...own.cutOff];
        if (ids.length === 0) return;
        for (const id of ids) given.add(id);
        await spare.call('giveBack', own);
        await spare.recount();
      });
    for (const { endpointsWaiting } of this.options.spares.filled)
      for (const endpoint of endpointsWaiting) this.options.spares.waits(endpoint);
    const rest = those((id) => !given.has(id));
    if (rest.unsent.length + rest.cutOff.length === 0) return 0;
    await this.#giveBack(rest);
    // Not in one step with the answer any more: what the store has told since may count them already.
    await this.main.call('waiting', undefined).then((waiting) => this.options.queues.waitingAre(waiting));
    return 0;
  }

  #markDelivered(ids: readonly string[], hurry?: boolean): Give<'markDelivered'> {
    const isBeside = ids.some((id) => this.options.spares.having(id));
    return isBeside ? this.#markEach(ids, hurry) : this.#markInside([...ids], hurry);
  }

  async #markEach(ids: readonly string[], hurry?: boolean): Promise<void> {
    const asked = new Set<string>();
    const marking = this.options.spares.filled.map((spare) =>
      spare.shared(async () => {
        const own = ids.filter((id) => spare.has(id));
        for (const id of own) asked.add(id);
        if (own.length > 0) await spare.call('markDelivered', own);
      }),
    );
    const outcomes = await Promise.allSettled(marking);
    const rest = ids.filter((id) => !asked.has(id));
    if (rest.length > 0) await this.#markDelivered(rest, hurry);
    // One that fails keeps none of the others from being told.
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  #markInside(ids: string[], hurry?: boolean): Give<'markDelivered'> {
    const step = endStep('delivered');
    const ends = ids.map((deliveryId) => ({ deliveryId, state: 'delivered', step }) as const);
    return this.#orKeep(this.main.call('markDelivered', ids, hurry), ends, undefined);
  }

  /** What becomes of an event does not wait for what is said of it. @throws RvmError STORE_FAILED */
  #note(take: Take<'note'>): Give<'note'> {
    return this.#at(
      take.deliveryId,
      async () => {
        const noted = await this.#notes.within(this.main.call('note', take), this.options.timeoutMs);
        if (noted === undefined) throw storeFailed(TOO_SLOW);
        return noted.give;
      },
      (spare) => spare.call('note', take),
    );
  }

  #finish(take: Take<'finish'>): Give<'finish'> {
    return this.#at(
      take.deliveryId,
      () => this.#finishInside(take),
      async (spare) => {
        const finished = await spare.call('finish', take);
        await this.#changed(spare, finished?.endpoint);
        if (finished?.was !== 'received') return finished;
        // One that waits here is not counted among those that wait in the inbox.
        return { ...finished, was: 'leased' };
      },
    );
  }

  #finishInside(take: Take<'finish'>): Give<'finish'> {
    const finishing = this.main.call('finish', take);
    const endpoint = this.options.queues.queueOf(take.deliveryId)?.endpointId;
    if (endpoint === undefined) return finishing;
    const { deliveryId, state, step = endStep(state) } = take;
    return this.#orKeep(finishing, [{ deliveryId, state, step }], { was: 'leased', endpoint });
  }

  /**
   * An inbox that fails cannot be told that events are settled; so that is kept beside it, and told later.
   * @param telling the inbox is being told
   * @throws RvmError STORE_FAILED where neither of them takes it
   */
  async #orKeep<Given>(telling: Promise<Given>, ends: readonly EventEnd[], given: Given): Promise<Given> {
    const { spares, health, timeoutMs } = this.options;
    const told = telling.then((give) => ({ give }));
    const first = await withTimeout(told, timeoutMs).catch(() => undefined);
    if (first !== undefined) return first.give;
    try {
      await Promise.all(ends.map((end) => spares.keepEnd(end)));
      health.lookLater();
      return given;
    } catch {
      return (await told).give;
    }
  }
}

function keyOf({ station, id, named, fingerprint }: LeasedMessage): string {
  return `${station}\n${Number(named)}${id}\n${fingerprint}`;
}

/** Undefined where it is not known yet, or fails. */
function settled<Result>(promise: Promise<Result>): Promise<Result | undefined> {
  return Promise.race([promise, Promise.resolve(undefined)]).catch(() => undefined);
}
