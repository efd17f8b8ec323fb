import type { SharedCall, StoreCalls } from '../store/port';
import type { Row } from '../store/stored-row';
import type { Question } from './session';
import { BATCH_SETTINGS, type Tables, texts, uuids } from './tables';

type Take<Name extends SharedCall> = StoreCalls[Name]['take'];
type Give<Name extends SharedCall> = StoreCalls[Name]['give'];
type Values = readonly unknown[];
type Rows = readonly Row[];
/** The rows of each statement, of as many as there are. */
export type Answers = readonly [Rows, Rows, Rows, Rows, ...Rows[]];

export interface Request<Name extends SharedCall = SharedCall> {
  readonly id: number;
  readonly name: Name;
  readonly take: Take<Name>;
}

/** What became of it. */
export interface Reply {
  readonly id: number;
  readonly give?: unknown;
  readonly error?: unknown;
}

/** Statements of a batch that belong together, for one call or several. */
export interface Step {
  readonly statements: readonly Question[];
  /** Called once the transaction has been committed, in the order of the steps. Absent where it answers nothing. */
  read?(answers: Answers): readonly Reply[];
}

/** What is to be known of a call besides its statements. */
interface Traits<Name extends SharedCall> {
  /**
   * The connection that it has, so that it keeps no event waiting: `side` for what takes its time, one at a time; `slots` for
   * what has to be durable in a moment, without messages waiting for its locks. Default: that of events.
   */
  readonly line?: 'side' | 'slots';
  /** Its place in a batch. Default: behind all others, for nothing else of a batch depends on it. */
  readonly phase?: 'endpoints' | 'events' | 'accept' | 'lease' | 'slots';
  /** Of the messages and alarms that it is about: locked before anything of the batch runs. */
  readonly keys?: (request: Request<Name>) => readonly string[];
  /** Bytes that it sends, where they may be many. */
  readonly bytes?: (take: Take<Name>) => number;
  /** It gives bodies: without them where a damaged disk does not give them. */
  readonly givesBodies?: (take: Take<Name>) => boolean;
  /** It comes to the same when it is done once more, and is sent again where its answer was lost. */
  readonly isRepeatable?: true;
  /** It concerns a lease that the one who asks has. */
  readonly isOfLease?: true;
  /** What is given where the epoch that asked has ended meanwhile: others have what this instance had leased, or will. */
  readonly withoutLease?: (give: Give<Name>) => Give<Name>;
}

/** A call with statements of its own: one; several, one after the other; or one of several kinds. */
type OwnPlan<Name extends SharedCall> = Traits<Name> & {
  /** What it gives, once that has been committed. */
  readonly read: (answers: Answers, take: Take<Name>, epoch: string) => Give<Name>;
} & (
    | { readonly sql: string; readonly args?: (take: Take<Name>, epoch: string) => Values }
    | {
        readonly sql: readonly string[];
        readonly args: (take: Take<Name>, epoch: string) => readonly Values[];
      }
    | {
        /** @param isBare without bodies */
        readonly sql: (take: Take<Name>, isBare: boolean) => string;
        readonly args: (take: Take<Name>, epoch: string) => Values;
      }
  );

/** A call of which those of one batch share statements. */
type SharedPlan<Name extends SharedCall> = Traits<Name> & {
  /**
   * @param epoch of this instance
   * @param isBare without bodies
   */
  readonly steps: (requests: readonly Request<Name>[], epoch: string, isBare: boolean) => readonly Step[];
};

type CallPlan<Name extends SharedCall> = OwnPlan<Name> | SharedPlan<Name>;

/** The calls of one phase run in this order. */
export type CallPlans = { readonly [Name in SharedCall]: CallPlan<Name> };

/** Read of what gives nothing. */
export const nothing = (): undefined => undefined;

/** Sets the settings of a batch, where no lock does. */
export const SETTINGS = `SELECT ${BATCH_SETTINGS}`;

export class BatchPlanner {
  readonly #locks: ReturnType<typeof locksOf>;
  /** In the order in which those of one phase run. */
  readonly #names: readonly string[];

  constructor(
    tables: Tables,
    private readonly plans: CallPlans,
  ) {
    this.#locks = locksOf(tables);
    this.#names = Object.keys(plans);
  }

  traits<Name extends SharedCall>(name: Name): Traits<Name> {
    const plan: CallPlans[Name] = this.plans[name];
    return plan;
  }

  /**
   * In a fixed order, so that those of two instances do not wait for each other: locks first, and what comes behind what ends.
   * Calls of one event keep the order in which they were made; so do those of endpoints, for a node may leave what it has just
   * claimed, and those that change slots.
   * @param epoch of this instance
   * @param isBare without bodies
   */
  steps(batch: readonly Request[], epoch: string, isBare = false): Step[] {
    const of = (phase?: Traits<SharedCall>['phase']): Request[] =>
      batch.filter(({ name }) => this.plans[name].phase === phase);
    const together = (requests: readonly Request[]): Step[] =>
      [...Map.groupBy(requests, ({ name }) => name)]
        .toSorted(([one], [other]) => this.#names.indexOf(one) - this.#names.indexOf(other))
        .flatMap(([name, ofName]) => this.#stepsOf(name, ofName, epoch, isBare));
    const inOrder = (requests: readonly Request[]): Step[] => requests.flatMap((one) => together([one]));
    const [events, accepts, leases, slots] = [of('events'), of('accept'), of('lease'), of('slots')];
    const isOfQueue = events.length + accepts.length + leases.length > 0;
    return [
      { statements: [isOfQueue ? this.#lockOf(accepts, epoch) : [SETTINGS, []]] },
      ...inOrder(of('endpoints')),
      ...turnsOf(events, eventsOf).flatMap(together),
      ...together(accepts),
      ...together(leases),
      { statements: this.#slotLocksOf(slots) },
      ...inOrder(slots),
      ...together(of()),
    ];
  }

  /**
   * What a batch locks until the end of its transaction. Its epoch, too: batches of one instance go one after the other, also
   * where the connection of the former is lost and the server still at work on it. Else what that leases in the end would be
   * leased, and nobody would know. What is asked elsewhere, a list say, waits for nothing of a queue.
   */
  #lockOf(accepts: readonly Request[], epoch: string): Question {
    const keys = accepts.flatMap((request) => this.traits(request.name).keys?.(request) ?? []);
    return [this.#locks.batch, [uuids([...new Set(keys), epoch])]];
  }

  #slotLocksOf(changes: readonly Request[]): Question[] {
    if (changes.length === 0) return [];
    const owners = [texts([...new Set(changes.map(ownerOf))])];
    return [
      [this.#locks.makeOwners, owners],
      [this.#locks.owners, owners],
    ];
  }

  #stepsOf<Name extends SharedCall>(
    name: Name,
    requests: readonly Request[],
    epoch: string,
    isBare: boolean,
  ): readonly Step[] {
    const ofName = requests as readonly Request<Name>[];
    const plan: CallPlan<Name> = this.plans[name];
    if ('steps' in plan) return plan.steps(ofName, epoch, isBare);
    return ofName.map((request) => ({
      statements: questionsOf(plan, request, epoch, isBare),
      read: (answers) => [{ id: request.id, give: plan.read(answers, request.take, epoch) }],
    }));
  }
}

function questionsOf<Name extends SharedCall>(
  plan: OwnPlan<Name>,
  { take }: Request<Name>,
  epoch: string,
  isBare: boolean,
): Question[] {
  const { sql } = plan;
  const values = plan.args?.(take, epoch) ?? [];
  if (typeof sql === 'function') return [[sql(take, isBare), values]];
  if (typeof sql === 'string') return [[sql, values]];
  const each = values as readonly Values[];
  return sql.map((text, index) => [text, each[index] ?? []]);
}

/** What is locked is sorted, so that no two instances wait for each other. */
function locksOf({ salt, slot_owner: slotOwner }: Tables) {
  return {
    batch: `SELECT ${BATCH_SETTINGS}, count(pg_advisory_xact_lock(lock)) FROM
      (SELECT DISTINCT uuid_hash_extended(key, ${salt}) AS lock FROM unnest($1::uuid[]) AS key ORDER BY 1) AS locks`,
    makeOwners: `INSERT INTO ${slotOwner} (owner) SELECT owner FROM unnest($1::text[]) AS asked (owner) ORDER BY owner
      ON CONFLICT (owner) DO NOTHING`,
    // A statement of its own: what comes behind it sees all that was committed before.
    owners: `SELECT FROM ${slotOwner} WHERE owner = ANY ($1::text[]) ORDER BY owner FOR UPDATE`,
  };
}

function eventsOf({ take }: Request): readonly string[] {
  if (typeof take === 'string') return [take];
  const { deliveryId, unsent = [], cutOff = [] } = take as Partial<Take<'note'> & Take<'giveBack'>>;
  if (deliveryId !== undefined) return [deliveryId];
  return Array.isArray(take) ? (take as string[]) : [...unsent, ...cutOff];
}

function ownerOf({ take }: Request): string {
  return (take as Take<'dropSlots'>).owner;
}

/**
 * Parts of a list, in none of which two items touch the same thing: what touches it later is in a later part. So each part can
 * be done in any order.
 */
export function turnsOf<Item>(
  items: readonly Item[],
  touchedBy: (item: Item) => readonly string[],
): Item[][] {
  const next = new Map<string, number>();
  const turns: Item[][] = [];
  for (const item of items) {
    const touched = touchedBy(item);
    const turn = touched.reduce((latest, one) => Math.max(latest, next.get(one) ?? 0), 0);
    for (const one of touched) next.set(one, turn + 1);
    (turns[turn] ??= []).push(item);
  }
  return turns;
}
