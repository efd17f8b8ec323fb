import type { SharedCall, StoredMessage } from '../store/port';
import { MAX_LISTED } from '../store/stored-message';
import { AcceptPlan } from './accept';
import { FinishPlans, LapsePlans, LeasePlans } from './leasing';
import { FigureCalls, ListPlans, NO_BODIES, Paging } from './lists';
import { codeOf, endsConnection, isWarning, type Row, type Session } from './session';
import { type ChangesSlots, SlotCalls } from './slots';
import {
  HistoryPlans,
  InboxClock,
  Locks,
  type Reply,
  type Request,
  SETTINGS_STEP,
  type Step,
  tablesOf,
  turnsOf,
} from './sql';
import { EndpointCalls, InboxCalls, QuarantineCalls, RetentionPlans } from './upkeep';

/** Calls that change something of events that are there. */
type OfEvents =
  | 'finish'
  | 'markDelivered'
  | 'giveBack'
  | 'lapse'
  | 'again'
  | 'revive'
  | 'dismiss'
  | 'note'
  | 'tellHolder';
/** Calls that say which node has which endpoint. */
type OfEndpoints = 'claimEndpoint' | 'leaveEndpoint' | 'assign';
/** Calls of which nothing else of a batch depends; in this order, behind all others. */
type Alone = Exclude<SharedCall, OfEvents | OfEndpoints | ChangesSlots | 'accept' | 'lease'>;

type StepsOf<Name extends SharedCall> = {
  [One in Name]: (request: Request<One>, epoch: string) => Step[];
};

/** What is asked of the tables of an inbox, as statements. */
class Calls {
  readonly #locks: Locks;
  readonly #acceptances: AcceptPlan;
  readonly #leases: LeasePlans;
  readonly #endings: FinishPlans;
  readonly #rescheduling: LapsePlans;
  readonly #noting: HistoryPlans;
  readonly #endpoints: EndpointCalls;
  readonly #listing: ListPlans;
  readonly #bareListing: ListPlans;
  readonly #slots: SlotCalls;
  readonly #alone: StepsOf<Alone>;

  /** @param monotonic milliseconds of a clock that never jumps */
  constructor(schema: string, monotonic: () => number) {
    const tables = tablesOf(schema);
    const clock = new InboxClock(monotonic);
    this.#locks = new Locks(tables);
    this.#acceptances = new AcceptPlan(tables, clock);
    this.#leases = new LeasePlans(tables);
    this.#endings = new FinishPlans(tables);
    this.#rescheduling = new LapsePlans(tables);
    this.#noting = new HistoryPlans(tables);
    this.#endpoints = new EndpointCalls(tables);
    this.#listing = new ListPlans(tables, MAX_LISTED);
    this.#bareListing = new ListPlans(tables, NO_BODIES);
    this.#slots = new SlotCalls(tables);
    const quarantine = new QuarantineCalls(tables, clock);
    const paging = new Paging(tables);
    const retention = new RetentionPlans(tables, clock);
    const inbox = new InboxCalls(tables);
    const figures = new FigureCalls(tables, clock);
    this.#alone = {
      leased: (request, epoch) => [this.#leases.leased(request, epoch)],
      stateOf: (request) => [this.#endings.stateOf(request)],
      isKnown: (request) => [inbox.isKnown(request)],
      list: (request) => [this.#listing.list(request)],
      page: (request) => [paging.page(request)],
      openByEndpoint: (request) => [this.#endpoints.open(request)],
      figures: (request) => figures.all(request),
      counts: (request) => figures.counts(request),
      instances: (request, epoch) => [inbox.instances(request, epoch)],
      quarantine: (request) => quarantine.add(request),
      quarantined: (request) => [quarantine.ofEndpoint(request)],
      quarantinedSums: (request) => [quarantine.sums(request)],
      release: (request) => [quarantine.release(request)],
      releaseUpTo: (request) => [quarantine.releaseUpTo(request)],
      quarantineKey: (request) => inbox.key(request),
      viewKey: (request) => inbox.key(request),
      slots: (request) => [this.#slots.slots(request)],
      slotOwners: (request) => [this.#slots.owners(request)],
      slotVersions: (request) => [this.#slots.versions(request)],
      tidy: (request) => retention.tidy(request),
      ping: (request) => [inbox.ping(request)],
    };
  }

  /**
   * The statements of a batch, of which many serve several calls. In a fixed order, so that those of two instances do not wait
   * for each other: locks first, and what comes behind what ends. Calls of one event keep the order in which they were made.
   * @param epoch of this instance
   */
  steps(batch: readonly Request[], epoch: string): Step[] {
    const { keys, accepts } = this.#acceptances.steps(allOf(batch, 'accept'), epoch);
    const ofEvents = batch.filter(isOfEvents);
    return [
      batch.some(isOfQueue) ? this.#locks.step(keys, epoch) : SETTINGS_STEP,
      ...this.#stepsOfEndpoints(batch),
      ...turnsOf(ofEvents, eventsOf).flatMap((turn) => this.#stepsOfEvents(turn, epoch)),
      ...accepts,
      ...allOf(batch, 'lease').map((request) => this.#leases.lease(request, epoch)),
      ...this.#slots.changes(batch.filter(changesSlots), epoch),
      ...NAMES_ALONE.flatMap((name) => this.#stepsAlone(batch, name, epoch)),
    ];
  }

  /** A call without what it gives of bodies, where a damaged disk does not give that; undefined where it gives nothing of them. */
  bare(request: Request, epoch: string): Step[] | undefined {
    if (isOf(request, 'lease')) return [this.#locks.step([], epoch), this.#leases.leaseBare(request, epoch)];
    if (isOf(request, 'list')) return [SETTINGS_STEP, this.#bareListing.list(request)];
    if (isOf(request, 'finish') && request.take.give)
      return this.steps([{ ...request, take: { ...request.take, give: false } }], epoch);
    return undefined;
  }

  /** One message with its body, as a list of it. */
  one(id: number, deliveryId: string): Step[] {
    const take = { state: 'all', deliveryId, limit: 1 } as const;
    return [SETTINGS_STEP, this.#listing.list({ id, name: 'list', take })];
  }

  /** In the order in which they were made: a node may leave what it has just claimed. */
  #stepsOfEndpoints(batch: readonly Request[]): Step[] {
    return batch.flatMap((request) => {
      if (isOf(request, 'claimEndpoint')) return this.#endpoints.claim(request);
      if (isOf(request, 'leaveEndpoint')) return [this.#endpoints.leave(request)];
      return isOf(request, 'assign') ? [this.#endpoints.assign(request)] : [];
    });
  }

  #stepsOfEvents(turn: readonly Request<OfEvents>[], epoch: string): Step[] {
    return [
      ...this.#endings.finish(allOf(turn, 'finish'), epoch),
      ...this.#endings.markDelivered(allOf(turn, 'markDelivered'), epoch),
      ...allOf(turn, 'giveBack').flatMap((request) => this.#giveBack(request, epoch)),
      ...allOf(turn, 'lapse').map((request) => this.#rescheduling.lapse(request, epoch)),
      ...allOf(turn, 'again').map((request) => this.#rescheduling.again(request, epoch)),
      ...allOf(turn, 'revive').map((request) => this.#rescheduling.revive(request)),
      ...allOf(turn, 'dismiss').map((request) => this.#endings.dismiss(request)),
      ...allOf(turn, 'note').map((request) => this.#noting.note(request)),
      ...allOf(turn, 'tellHolder').map((request) => this.#rescheduling.tellHolder(request, epoch)),
    ];
  }

  #giveBack({ take, ...request }: Request<'giveBack'>, epoch: string): Step[] {
    const never = this.#acceptances.neverTold(take.cutOff, epoch);
    const cutOff = take.cutOff.filter((id) => !never.has(id));
    return this.#rescheduling.giveBack(
      { ...request, take: { unsent: [...take.unsent, ...never], cutOff } },
      epoch,
    );
  }

  #stepsAlone<Name extends Alone>(batch: readonly Request[], name: Name, epoch: string): Step[] {
    const stepsOf: StepsOf<Alone>[Name] = this.#alone[name];
    return allOf(batch, name).flatMap((request) => stepsOf(request, epoch));
  }
}

/** What was leased is told after it was leased. */
const NAMES_ALONE: readonly Alone[] = [
  'leased',
  'stateOf',
  'isKnown',
  'list',
  'page',
  'openByEndpoint',
  'figures',
  'counts',
  'instances',
  'quarantine',
  'quarantined',
  'quarantinedSums',
  'release',
  'releaseUpTo',
  'quarantineKey',
  'viewKey',
  'slots',
  'slotOwners',
  'slotVersions',
  'tidy',
  'ping',
];

const OF_EVENTS: ReadonlySet<SharedCall> = new Set<OfEvents>([
  'finish',
  'markDelivered',
  'giveBack',
  'lapse',
  'again',
  'revive',
  'dismiss',
  'note',
  'tellHolder',
]);

function isOfEvents(request: Request): request is Request<OfEvents> {
  return OF_EVENTS.has(request.name);
}

function changesSlots(request: Request): request is Request<ChangesSlots> {
  return isOf(request, 'putSlots') || isOf(request, 'dropSlots');
}

/** What is asked elsewhere, a list say, waits for nothing that is asked for a queue. */
function isOfQueue(request: Request): boolean {
  return isOfEvents(request) || isOf(request, 'accept') || isOf(request, 'lease') || isOf(request, 'leased');
}

function isOf<Name extends SharedCall>(request: Request, name: Name): request is Request<Name> {
  return request.name === name;
}

function allOf<Name extends SharedCall>(batch: readonly Request[], name: Name): Request<Name>[] {
  return batch.filter((request): request is Request<Name> => isOf(request, name));
}

function eventsOf({ take }: Request<OfEvents>): readonly string[] {
  if (typeof take === 'string') return [take];
  if ('deliveryId' in take) return [take.deliveryId];
  return 'unsent' in take ? [...take.unsent, ...take.cutOff] : take;
}

export type { Reply, Request } from './sql';

/** A deadlock, a failure to serialise, and plans that are not on this connection: the same again may succeed. */
const TRY_AGAIN = new Set(['40P01', '40001', '26000', '42P05']);
/** How often a batch is tried. */
const MOST_TRIES = 5;
/**
 * Errors that are of one call, its data, a constraint, a limit, a damaged row; or of all together: no place is left for so many
 * locks.
 */
const NOT_TOGETHER = /^(22...|23...|54...|53200|XX00[12])$/;
/** A damaged row, or its entry in an index. */
const DAMAGED = /^XX00[12]$/;

/** What became of all of a batch; or the error of what it asks, and nothing of it has taken effect. */
type Outcome = { replies: Reply[] } | { error: unknown };

/** Runs batches of calls; holds the statements of one schema. */
export class PlanRunner {
  readonly #calls: Calls;

  /**
   * @param epoch of this instance, as it is now
   * @param monotonic milliseconds of a clock that never jumps
   */
  constructor(
    schema: string,
    private readonly epoch: () => string,
    monotonic: () => number = () => performance.now(),
  ) {
    this.#calls = new Calls(schema, monotonic);
  }

  /**
   * Runs the calls of a batch in one transaction and one round trip. Where one of them is at fault, each runs in a transaction
   * of its own, so that it keeps no other out. What was leased by an epoch that has ended meanwhile is not given.
   * @returns what became of each, in the order in which they took effect
   * @throws Error of `pg` where the connection or the database has failed; Error without code where the server warns, which is
   * to say that what it has committed may be on one disk alone: the connection is of no use any more
   */
  async run(session: Session, batch: readonly Request[]): Promise<Reply[]> {
    const epoch = this.epoch();
    const replies = await this.#run(session, batch, epoch);
    return this.epoch() === epoch ? replies : withoutLeases(batch, replies);
  }

  async #run(session: Session, batch: readonly Request[], epoch: string): Promise<Reply[]> {
    const outcome = await this.#runTogether(session, batch, epoch);
    if (!('error' in outcome)) return outcome.replies;
    const [first, ...others] = batch;
    if (first !== undefined && others.length === 0)
      return this.#runBare(session, first, { epoch, error: outcome.error });
    const replies: Reply[] = [];
    for (const request of batch) replies.push(...(await this.#runAlone(session, request, epoch)));
    return replies;
  }

  /** What fails here says nothing of those before it, which have taken effect; unless it is known of none any more what has. */
  async #runAlone(session: Session, request: Request, epoch: string): Promise<Reply[]> {
    try {
      return await this.#run(session, [request], epoch);
    } catch (error) {
      if (endsConnection(error)) throw error;
      return [{ id: request.id, error }];
    }
  }

  /** A body that a damaged disk does not give keeps no other from being given. @param error of the call as a whole */
  async #runBare(
    session: Session,
    request: Request,
    { epoch, error }: { epoch: string; error: unknown },
  ): Promise<Reply[]> {
    const steps = isDamage(error) ? this.#calls.bare(request, epoch) : undefined;
    if (steps === undefined) return [{ id: request.id, error }];
    const outcome = await this.#runSteps(session, steps);
    if ('error' in outcome) return [{ id: request.id, error: outcome.error }];
    if (request.name !== 'lease') return outcome.replies;
    const leased = outcome.replies.flatMap(({ give }) => give as StoredMessage[]);
    const give: StoredMessage[] = [];
    for (const message of leased) give.push(await this.#withBody(session, message));
    return [{ id: request.id, give }];
  }

  /** A message that was leased, as far as it can be read now: it stays leased. */
  async #withBody(session: Session, message: StoredMessage): Promise<StoredMessage> {
    const outcome = await this.#runSteps(session, this.#calls.one(0, message.deliveryId)).catch(
      (error: unknown) => {
        if (endsConnection(error)) throw error;
        return { error };
      },
    );
    if ('error' in outcome) return { ...message, isUnread: true };
    const [read] = outcome.replies.flatMap(({ give }) => give as StoredMessage[]);
    const { facts, bytes } = read ?? {};
    return facts === undefined || bytes === undefined
      ? { ...message, isIncomplete: true }
      : { ...message, facts, bytes };
  }

  async #runTogether(session: Session, batch: readonly Request[], epoch: string): Promise<Outcome> {
    const steps = this.#stepsOf(batch, epoch);
    return 'error' in steps ? steps : this.#runSteps(session, steps);
  }

  /** @throws Error of `pg` where it is not of what was asked */
  async #runSteps(session: Session, steps: readonly Step[]): Promise<Outcome> {
    for (let tries = 1; ; tries += 1) {
      try {
        const rows = await certainRows(session, steps);
        return { replies: steps.flatMap((step, index) => step.read?.(rows[index] ?? []) ?? []) };
      } catch (error) {
        if (NOT_TOGETHER.test(codeOf(error) ?? '')) return { error };
        if (tries === MOST_TRIES || !TRY_AGAIN.has(codeOf(error) ?? '')) throw error;
      }
    }
  }

  /** What cannot be sent, a time that is no number say, is the fault of its call. */
  #stepsOf(batch: readonly Request[], epoch: string): Step[] | { error: unknown } {
    try {
      return this.#calls.steps(batch, epoch);
    } catch (error) {
      return { error };
    }
  }
}

function isDamage(error: unknown): boolean {
  return DAMAGED.test(codeOf(error) ?? '');
}

/**
 * A commit whose wait for the standby was cancelled is answered as if all was well, with a warning: it is on one disk alone.
 * Nothing else of a batch gives reason for a warning.
 */
async function certainRows(session: Session, steps: readonly Step[]): Promise<Row[][]> {
  let warning: string | undefined;
  const hear = ({ code, message }: { code?: string | undefined; message?: string | undefined }): void => {
    if (isWarning({ code })) warning ??= message ?? code;
  };
  session.client.on('notice', hear);
  try {
    const rows = await session.transaction(() =>
      steps.map(({ statement, values }) => session.run(statement, values)),
    );
    if (warning !== undefined) throw new Error(`the database warns: ${warning}`);
    return rows;
  } finally {
    session.client.off('notice', hear);
  }
}

/** By call: what is given where the epoch that asked has ended. */
const NOTHING_LEASED: { readonly [Name in SharedCall]?: (give: unknown) => unknown } = {
  accept: (give) => (typeof give === 'object' && give !== null ? { ...give, leased: false } : give),
  lease: () => [],
  leased: () => [],
  lapse: () => undefined,
  again: () => undefined,
};

/** Others have taken this instance for dead, and have what it has leased, or will. */
function withoutLeases(batch: readonly Request[], replies: readonly Reply[]): Reply[] {
  const names = new Map(batch.map(({ id, name }) => [id, name]));
  return replies.map((reply) => {
    const name = names.get(reply.id);
    const without = name && NOTHING_LEASED[name];
    return without === undefined || 'error' in reply ? reply : { ...reply, give: without(reply.give) };
  });
}
