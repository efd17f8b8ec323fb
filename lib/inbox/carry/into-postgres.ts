import type { Answers, BatchPlanner, Request } from '../postgres/call-plans';
import { listedCourse } from '../postgres/list-plans';
import { BEGIN, isWarning, type Statement, type Row, type Session } from '../postgres/session';
import { plannerOf } from '../postgres/inbox-plans';
import {
  alarmKey,
  booleans,
  byteStrings,
  DURABLE,
  integers,
  messageKey,
  storable,
  storableOrNull,
  storedText,
  tablesOf,
  texts,
  uuids,
  WARNED,
} from '../postgres/tables';
import type { MovedEndpoint, MovedQuarantined, MovedSlots } from '../sqlite/file-reader';
import { type SlotRow, type SlotRowOutcome, type SlotRows, stepFacts } from '../store/port';
import { isUnfinished, type MovedMessage } from '../store/record';
import {
  type ComparedMessage,
  digestOf,
  type MessageThere,
  targetStatements,
  type TargetStatements,
} from './target-statements';

/** How far the move of one file has come, as the database keeps it. */
export interface MoveProgress {
  /** Messages up to this sequence of the file are there. */
  copied: number;
  /** How often the file had been opened by an inbox: where it is another number now, it may have changed. */
  openings: number;
  /** The newest sequence that was there before. */
  before: number;
  /** The clock of the inbox there when the move was begun, in milliseconds. */
  clock: number;
  /** True once the database has taken over: from then on it delivers. */
  isDone: boolean;
}

/** Under which name it is kept. @param id of the file */
function progressName(id: string): string {
  return `move ${id}`;
}

/** Undefined for what no version of the package has written. */
function progressIn(text: unknown): MoveProgress | undefined {
  if (typeof text !== 'string') return undefined;
  const { copied, openings, before, clock, isDone } = JSON.parse(text) as Partial<MoveProgress>;
  const numbers = [copied, openings, before, clock];
  if (!numbers.every(Number.isSafeInteger) || typeof isDone !== 'boolean') return undefined;
  return { copied, openings, before, clock, isDone } as MoveProgress;
}

/** Transactions of several round trips. Statements have no names, so that it works behind any pooler. */
class TargetSession {
  #warning: string | undefined;

  constructor(private readonly session: Session) {
    session.client.on('notice', ({ code, message }) => {
      if (isWarning({ code })) this.#warning ??= message;
    });
  }

  /** @throws Error of `pg` */
  async run({ text }: Statement, values: readonly unknown[] = []): Promise<Row[]> {
    const { rows } = await this.session.client.query<Row>({ text, values: [...values] });
    return rows;
  }

  /**
   * @param isDurable false where what is lost with the server's machine is simply done again
   * @throws Error of `pg`; also where the database has not waited for its standby, and says so with a warning
   */
  async transaction<Result>(isDurable: boolean, work: () => Promise<Result>): Promise<Result> {
    const { client } = this.session;
    this.#warning = undefined;
    await client.query(BEGIN);
    try {
      await client.query(isDurable ? KEPT : NOT_KEPT);
      const result = await work();
      await client.query('COMMIT');
      if (this.#warning !== undefined) throw new Error(this.#warning);
      return result;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => undefined);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.session.client.end().catch(() => undefined);
  }
}

/** The tables grow too quickly for the server to know them: it would take each statement for one that is worth compiling. */
const SHORT = `set_config('jit', 'off', true)`;
const KEPT = `SELECT ${SHORT}, ${WARNED}, ${DURABLE}`;
const NOT_KEPT = `SELECT ${SHORT}, set_config('synchronous_commit', 'off', true)`;

/** Values that flows keep, as they were moved: so many, and so many that were there already. */
export interface MovedSlotCounts {
  slots: number;
  ownSlots: number;
}

/** The slots of an inbox in PostgreSQL, as far as others are moved to them. Each call is to be made within a transaction of its session. */
class TargetSlots {
  readonly #planner: BatchPlanner;

  constructor(
    private readonly session: TargetSession,
    schema: string,
  ) {
    this.#planner = plannerOf(schema, () => 0);
  }

  /**
   * One that is there stays as it is there; the instances are told of the others.
   * @param id of the file
   * @returns undefined where one of them is not there afterwards as it is in the file
   */
  async add(id: string, { owner, slots }: MovedSlots): Promise<MovedSlotCounts | undefined> {
    const outcomes = await this.#put(id, owner, slots);
    const brought = slots.filter((_, index) => outcomes[index]?.written === true);
    const there = new Map((await this.#read(owner)).map((slot) => [slot.name, slot.value]));
    if (!brought.every(({ name, value }) => there.get(name) === value)) return undefined;
    return { slots: brought.length, ownSlots: slots.length - brought.length };
  }

  async #put(id: string, owner: string, slots: readonly SlotRow[]): Promise<SlotRowOutcome[]> {
    const writes = slots.map(({ name, value, left }) => ({
      name,
      expected: 0,
      ...(value !== undefined && { value }),
      ...(left !== undefined && { lasts: Math.max(0, left) }),
    }));
    return (await this.#run({ id: 0, name: 'putSlots', take: { owner, writes } }, id)) as SlotRowOutcome[];
  }

  async #read(owner: string): Promise<SlotRow[]> {
    return ((await this.#run({ id: 0, name: 'slots', take: { owner, since: 0 } }, '')) as SlotRows).slots;
  }

  async #run(request: Request, id: string): Promise<unknown> {
    // The settings are those of the move.
    const [, ...steps] = this.#planner.steps([request], id);
    let give: unknown;
    for (const step of steps) {
      const answers: Row[][] = [];
      for (const [statement, values] of step.statements)
        answers.push(await this.session.run(statement, values));
      give = step.read?.(answers as unknown as Answers).at(-1)?.give;
    }
    return give;
  }
}

/** A message there, to be compared. */
export interface FoundMessage extends ComparedMessage {
  sequence: number;
}

/** The tables of an inbox in PostgreSQL, as far as messages are moved to them. Each call is to be made within a transaction of `session`. */
export class Target {
  readonly session: TargetSession;
  readonly slots: TargetSlots;
  readonly #statements: TargetStatements;

  constructor(session: Session, schema: string) {
    this.session = new TargetSession(session);
    const tables = tablesOf(schema);
    this.slots = new TargetSlots(this.session, schema);
    this.#statements = targetStatements(tables);
  }

  /** Undefined where the move of this file has not begun. */
  async progress(id: string): Promise<MoveProgress | undefined> {
    const [row] = await this.session.run(this.#statements.progress, [progressName(id)]);
    return progressIn(row?.['value']);
  }

  async setProgress(id: string, progress: MoveProgress): Promise<void> {
    await this.session.run(this.#statements.setProgress, [progressName(id), JSON.stringify(progress)]);
  }

  /** The clock of the inbox, in milliseconds, and the newest sequence that was given away. */
  async state(): Promise<{ clock: number; newest: number; isInUse: boolean }> {
    const [row = {}] = await this.session.run(this.#statements.state);
    return { clock: Number(row['clock']), newest: Number(row['newest']), isInUse: row['is_in_use'] === true };
  }

  /** Keeps out, until the end of the transaction, who accepts messages with these ids. */
  async lock(batch: readonly MovedMessage[]): Promise<void> {
    await this.session.run(this.#statements.lock, [uuids(batch.map(keyOfMoved))]);
  }

  /** All that have an id in common with one of the batch. */
  async there(batch: readonly MovedMessage[]): Promise<MessageThere[]> {
    const rows = await this.session.run(this.#statements.there, [
      uuids(batch.map(keyOfMoved)),
      deliveryIds(batch),
    ]);
    return rows.map((row) => ({ ...identityOf(row), copy: Number(row['copy']) }));
  }

  /** Removes what an earlier run has brought of a batch. @param before the newest sequence that was there before the move */
  async drop(batch: readonly MovedMessage[], before: number): Promise<void> {
    await this.session.run(this.#statements.drop, [deliveryIds(batch), before]);
  }

  /** And what of it is open. @param id of the file */
  async dropUnfinished(id: string): Promise<void> {
    await this.session.run(this.#statements.dropUnfinished, [id]);
  }

  /**
   * @param id of the file
   * @param clock of the inbox, in milliseconds
   */
  async add(id: string, messages: readonly MovedMessage[], clock: number): Promise<void> {
    if (messages.length === 0) return;
    const contents = messages.flatMap(({ facts, bytes }, index) =>
      facts === null || bytes === null ? [] : [{ n: index + 1, facts: storable(facts), bytes }],
    );
    await this.session.run(this.#statements.add, [
      deliveryIds(messages),
      uuids(messages.map(keyOfMoved)),
      texts(messages.map(({ station }) => storable(station))),
      texts(messages.map(({ id }) => storable(id))),
      booleans(messages.map(({ named }) => named)),
      integers(messages.map(({ copy }) => copy)),
      texts(messages.map(({ fingerprint }) => storable(fingerprint))),
      texts(messages.map(({ endpoint }) => storable(endpoint))),
      texts(messages.map(({ state }) => state)),
      integers(messages.map(({ attempt }) => attempt)),
      integers(messages.map(({ cutOff }) => cutOff)),
      texts(messages.map(({ again }) => again ?? null)),
      booleans(messages.map(isUnfinished)),
      booleans(messages.map(({ first }) => first)),
      booleans(messages.map(({ ended }) => ended)),
      texts(messages.map(({ alarm }) => (alarm === null ? null : storable(alarm)))),
      uuids(messages.map(({ station, alarm }) => (alarm === null ? null : alarmKey(station, alarm)))),
      booleans(messages.map(({ isEnd }) => isEnd)),
      integers(messages.map(({ rank }) => rank)),
      integers(messages.map(({ received }) => received)),
      integers(messages.map(({ age }) => clock - age)),
      id,
      integers(contents.map(({ n }) => n)),
      texts(contents.map(({ facts }) => facts)),
      byteStrings(contents.map(({ bytes }) => bytes)),
      integers(messages.map(({ delivered }) => delivered)),
      integers(messages.map(({ settled }) => settled)),
      texts(messages.map(({ settledBy }) => (settledBy === null ? null : storable(settledBy)))),
      integers(messages.map(({ judged }) => judged)),
      texts(messages.map(({ verdict }) => verdict)),
      ...stepArrays(messages),
    ]);
  }

  /** Those of a batch that are there under their delivery ids, by these. */
  async found(batch: readonly MovedMessage[]): Promise<Map<string, FoundMessage>> {
    const rows = await this.session.run(this.#statements.compare, [deliveryIds(batch)]);
    return new Map(rows.map((row) => [String(row['delivery_id']), foundMessage(row)]));
  }

  /** Those of a batch that are there in content and id, under whichever delivery id. */
  async sentAgain(batch: readonly MovedMessage[]): Promise<MovedMessage[]> {
    const rows = await this.session.run(this.#statements.sentAgain, [uuids(batch.map(keyOfMoved))]);
    const contents = new Set(rows.map((row) => `${String(row['key'])}${storedText(row['fingerprint'])}`));
    return batch.filter((message) => contents.has(`${keyOfMoved(message)}${message.fingerprint}`));
  }

  /**
   * From the end of the transaction on what was brought of a file is delivered, or can be had again; the instances are told.
   * @param id of the file
   */
  async handOver(id: string): Promise<{ waiting: number; dead: number }> {
    const rows = await this.session.run(this.#statements.handOver, [id]);
    const sum = (name: string): number => rows.reduce((count, row) => count + Number(row[name]), 0);
    return { waiting: sum('waiting'), dead: sum('dead') };
  }

  async addEndpoints(endpoints: readonly MovedEndpoint[]): Promise<void> {
    await this.session.run(this.#statements.addEndpoints, [
      texts(endpoints.map(({ endpoint }) => storable(endpoint))),
      texts(endpoints.map(({ node }) => storable(node))),
      booleans(endpoints.map(({ isCurrent }) => isCurrent)),
    ]);
  }

  /** @param clock of the inbox, in milliseconds */
  async addQuarantine(messages: readonly MovedQuarantined[], clock: number): Promise<void> {
    await this.session.run(this.#statements.lockQuarantine);
    await this.session.run(this.#statements.addQuarantine, [
      texts(messages.map(({ endpoint }) => storable(endpoint))),
      texts(messages.map(({ address }) => storable(address))),
      texts(messages.map(({ facts }) => storable(facts))),
      byteStrings(messages.map(({ bytes }) => bytes)),
      integers(messages.map(({ age }) => clock - age)),
    ]);
  }

  /** A key of an inbox. False where there is another one. */
  async addKey(name: string, value: string): Promise<boolean> {
    const [row] = await this.session.run(this.#statements.addKey, [name, value]);
    return row?.['value'] === value;
  }
}

/** Of all messages, each with the number of its own. */
function stepArrays(messages: readonly MovedMessage[]): Buffer[] {
  const steps = messages.flatMap((message, index) => message.steps.map((step) => ({ n: index + 1, step })));
  return [
    integers(steps.map(({ n }) => n)),
    integers(steps.map(({ step }) => step.place)),
    integers(steps.map(({ step }) => step.time)),
    texts(steps.map(({ step }) => step.step)),
    integers(steps.map(({ step }) => step.attempt ?? null)),
    texts(steps.map(({ step }) => storableOrNull(step.by))),
    texts(steps.map(({ step }) => stepFacts(step))),
  ];
}

function deliveryIds(batch: readonly MovedMessage[]): Buffer {
  return uuids(batch.map(({ deliveryId }) => deliveryId));
}

function keyOfMoved({ station, named, id }: MovedMessage): string {
  return messageKey(station, named, id);
}

function identityOf(row: Row): Pick<MovedMessage, 'deliveryId' | 'station' | 'id' | 'named' | 'fingerprint'> {
  return {
    deliveryId: String(row['delivery_id']),
    station: storedText(row['station']),
    id: storedText(row['id']),
    named: row['named'] === true,
    fingerprint: storedText(row['fingerprint']),
  };
}

function foundCourse(
  row: Row,
): Pick<FoundMessage, 'delivered' | 'settled' | 'settledBy' | 'judged' | 'verdict' | 'steps'> {
  const { course = {}, verdict, steps = [] } = listedCourse(row);
  const { delivered = null, settled = null, settledBy = null } = course;
  return {
    delivered,
    settled,
    settledBy,
    judged: verdict?.time ?? null,
    verdict: verdict?.verdict ?? null,
    steps,
  };
}

function foundMessage(row: Row): FoundMessage {
  const { alarm = null, facts = null, bytes_digest: bytesDigest = null } = row;
  return {
    ...identityOf(row),
    sequence: Number(row['sequence']),
    endpoint: storedText(row['endpoint']),
    state: String(row['state']),
    rank: row['rank'] === 1 ? 1 : 0,
    attempt: Number(row['attempt']),
    cutOff: Number(row['cut_off']),
    again: (row['again'] ?? null) as FoundMessage['again'],
    first: row['first'] === true,
    ended: row['ended'] === true,
    alarm: alarm === null ? null : storedText(alarm),
    isEnd: row['is_end'] === true,
    received: Number(row['received']),
    factsDigest: facts === null ? null : digestOf(storedText(facts)),
    bytesDigest: typeof bytesDigest === 'string' ? bytesDigest : null,
    ...foundCourse(row),
  };
}
