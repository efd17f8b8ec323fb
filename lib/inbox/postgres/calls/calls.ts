import type { SharedCall } from '../../store/protocol';
import { MAX_LISTED } from '../../store/stored-message';
import { AcceptPlan } from './acceptance';
import { SETTINGS_STEP } from './batch-settings';
import { EndpointCalls } from './endpoint-calls';
import { FinishPlans } from './endings';
import { FigureCalls } from './figure-calls';
import { InboxCalls } from './inbox-calls';
import { InboxClock } from './inbox-clock';
import { LeasePlans } from './leases';
import { ListPlans, NO_BODIES } from './listing';
import { Locks } from './locks';
import { HistoryPlans } from './noting';
import { Paging } from './paging';
import { QuarantineCalls } from './quarantine-calls';
import { LapsePlans } from './rescheduling';
import { RetentionPlans } from './retention';
import { SlotCalls, type ChangesSlots } from './slot-calls';
import type { Request, Step } from './step';
import { tablesOf } from './tables';
import { turnsOf } from './turns';

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
export class Calls {
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

  /** @param steady milliseconds of a clock that never jumps */
  constructor(schema: string, steady: () => number) {
    const tables = tablesOf(schema);
    const clock = new InboxClock(steady);
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
