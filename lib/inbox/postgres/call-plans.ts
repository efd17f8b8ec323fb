import type { SharedCall, StoreCalls } from '../store/port';
import { BATCH_SETTINGS, lockSql, type Row, type Statement, type Tables, uuids } from './tables';

type Take<Name extends SharedCall> = StoreCalls[Name]['take'];
type Give<Name extends SharedCall> = StoreCalls[Name]['give'];
type Values = readonly unknown[];
type Rows = readonly Row[];
/** The rows of each statement, of as many as there are. */
export type Answers = readonly [Rows, Rows, Rows, Rows, ...Rows[]];

/** One call of a batch. */
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
  readonly statements: readonly (readonly [Statement, Values])[];
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
        readonly sql: Readonly<Record<string, string>>;
        /** @param isBare without bodies */
        readonly kind: (take: Take<Name>, isBare: boolean) => string;
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

/** All that is asked of the tables of an inbox. The calls of one phase run in this order. */
export type CallPlans = { readonly [Name in SharedCall]: CallPlan<Name> };

/** What is locked for calls of a batch before any of them runs. */
export interface CallLocks {
  /** Keys of the messages and alarms that are accepted. */
  readonly keysOf: (accepts: readonly Request<'accept'>[]) => readonly string[];
  /** Owners of slots that change. */
  readonly lockOwners: (owners: readonly string[]) => Step;
}

/** Read of what gives nothing. */
export const nothing = (): undefined => undefined;

/** Sets the settings of a batch, where no lock does. */
export const SETTINGS: Statement = { name: 'rvm_settings', text: `SELECT ${BATCH_SETTINGS}` };

/** Makes the statements of batches. */
export class BatchPlanner {
  readonly #lock: Statement;
  readonly #places: ReadonlyMap<string, number>;
  readonly #statements = new Map<string, Statement>();

  constructor(
    tables: Tables,
    private readonly plans: CallPlans,
    private readonly locks: CallLocks,
  ) {
    this.#lock = { name: 'rvm_lock', text: lockSql(tables, `${BATCH_SETTINGS},`) };
    this.#places = new Map(Object.keys(plans).map((name, place) => [name, place]));
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
        .toSorted(([one], [other]) => this.#placeOf(one) - this.#placeOf(other))
        .flatMap(([name, ofName]) => this.#stepsOf(name, ofName, epoch, isBare));
    const inOrder = (requests: readonly Request[]): Step[] => requests.flatMap((one) => together([one]));
    const [events, accepts, leases, slots] = [of('events'), of('accept'), of('lease'), of('slots')];
    const isOfQueue = events.length + accepts.length + leases.length > 0;
    return [
      isOfQueue ? this.#lockStep(accepts, epoch) : { statements: [[SETTINGS, []]] },
      ...inOrder(of('endpoints')),
      ...turnsOf(events, eventsOf).flatMap(together),
      ...together(accepts),
      ...together(leases),
      ...(slots.length === 0 ? [] : [this.locks.lockOwners(slots.map(ownerOf))]),
      ...inOrder(slots),
      ...together(of()),
    ];
  }

  #placeOf(name: string): number {
    return this.#places.get(name) ?? 0;
  }

  /**
   * What a batch locks until the end of its transaction. Its epoch, too: batches of one instance go one after the other, also
   * where the connection of the former is lost and the server still at work on it. Else what that leases in the end would be
   * leased, and nobody would know. What is asked elsewhere, a list say, waits for nothing of a queue.
   */
  #lockStep(accepts: readonly Request[], epoch: string): Step {
    const keys = this.locks.keysOf(accepts as readonly Request<'accept'>[]);
    return { statements: [[this.#lock, [uuids([...new Set(keys), epoch])]]] };
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
    return ofName.map(({ id, take }) => ({
      statements: this.#statementsOf(name, plan, take, { epoch, isBare }),
      read: (answers) => [{ id, give: plan.read(answers, take, epoch) }],
    }));
  }

  #statementsOf<Name extends SharedCall>(
    name: Name,
    plan: OwnPlan<Name>,
    take: Take<Name>,
    { epoch, isBare }: { epoch: string; isBare: boolean },
  ): Step['statements'] {
    if ('kind' in plan) {
      const kind = plan.kind(take, isBare);
      return [[this.#statement(`${name}_${kind}`, plan.sql[kind] ?? ''), plan.args(take, epoch)]];
    }
    const { sql } = plan;
    const values = plan.args?.(take, epoch) ?? [];
    if (typeof sql === 'string') return [[this.#statement(name, sql), values]];
    const each = values as readonly Values[];
    return sql.map((text, index) => [this.#statement(`${name}_${index + 1}`, text), each[index] ?? []]);
  }

  #statement(name: string, text: string): Statement {
    const known = this.#statements.get(name) ?? { name: `rvm_${name}`, text };
    this.#statements.set(name, known);
    return known;
  }
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
