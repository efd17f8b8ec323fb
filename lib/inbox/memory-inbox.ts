import { createHash, randomUUID } from 'node:crypto';
import { RvmError } from '../error';
import { isEnd } from '../webhook/phase';
import { AgingMap } from './aging-map';
import type { Acceptance, DeadLetter, Delivery, Inbox, ProvenMessage } from './inbox';

export interface MemoryInboxOptions {
  /** Ids, and alarms, remembered at most; the oldest go first. Default 200,000. */
  maxKeys?: number;
  /** How long an id or an alarm is remembered, in days. Default 7: longer than the 24 hours of resends. */
  keyDays?: number;
  /** Events that may wait for a consumer; beyond it nothing is accepted. Default 10,000. */
  maxWaiting?: number;
  /** Milliseconds of a clock that never jumps. */
  clock?: () => number;
  /** Told about a consumer that threw; one line without content of the event. */
  log?: (line: string) => void;
}

interface Remembered {
  deliveryId: string;
  fingerprint: string;
}

interface AlarmState {
  ended: boolean;
}

const DAY = 24 * 60 * 60 * 1000;
/** Deliveries between two turns of the event loop. */
const DELIVERIES_PER_TURN = 50;
/** Turns of the event loop that a consumer needs to hand an event on, if it does so asynchronously. */
const TURNS_TO_LEAVE = 3;
const MAX_DEAD_LETTERS = 1000;
const MAX_DEAD_LETTER_BYTES = 16 * 1024 * 1024;
/** Ids are 36 characters as a rule. */
const LONGEST_ID = 128;
/** Contents remembered for one id; a sender that varies one id more often gets a conflict each time. */
const MAX_CONTENTS = 8;

/**
 * An inbox in the process: durable as long as the process lives. It remembers 200,000 ids and alarms for 7 days and
 * keeps the newest 1,000 dead letters (at most 16 MiB); above the bound the oldest go first.
 */
export class MemoryInbox implements Inbox {
  readonly #keys: AgingMap<Remembered[]>;
  readonly #alarms: AgingMap<AlarmState>;
  readonly #waiting = new Map<string, Delivery[]>();
  /** Handed to a consumer a moment ago; taken back where the consumer goes before they can have left it. */
  readonly #leaving = new Map<string, Delivery[]>();
  readonly #consumers = new Map<string, (delivery: Delivery) => void>();
  readonly #letters: DeadLetter[] = [];
  readonly #maxWaiting: number;
  readonly #log: (line: string) => void;
  #letterBytes = 0;
  #waitingCount = 0;
  #sequence = 0;
  #turn: NodeJS.Immediate | undefined;
  #closed = false;

  constructor(options: MemoryInboxOptions = {}) {
    const clock = options.clock ?? (() => performance.now());
    const maxKeys = options.maxKeys ?? 200_000;
    const maxAge = (options.keyDays ?? 7) * DAY;
    this.#keys = new AgingMap(maxKeys, maxAge, clock);
    this.#alarms = new AgingMap(maxKeys, maxAge, clock);
    this.#maxWaiting = options.maxWaiting ?? 10_000;
    this.#log = options.log ?? (() => undefined);
  }

  async accept(message: ProvenMessage): Promise<Acceptance> {
    this.#refuseWhenClosed();
    const key = keyOf(message.stationKey, message.envelope.messageId);
    const known = this.#knownAs(key, message.fingerprint);
    if (known !== undefined) return known;
    const isNew = this.#keys.get(key) === undefined;
    const isDelivered = isNew && message.kind === 'event';
    if (isDelivered && this.#waitingCount >= this.#maxWaiting) throw storeFull();
    const deliveryId = this.#remember(key, message.fingerprint);
    if (isDelivered) this.#enqueue(deliveryId, message);
    return { outcome: isNew ? 'new' : 'conflict', deliveryId };
  }

  async acceptDeadLetter(letter: DeadLetter): Promise<Acceptance> {
    this.#refuseWhenClosed();
    const { stationKey, messageId, fingerprint } = letter;
    const key = messageId === undefined ? `${stationKey} ${fingerprint}` : keyOf(stationKey, messageId);
    const known = this.#knownAs(key, fingerprint);
    if (known !== undefined) return known;
    const isNew = this.#keys.get(key) === undefined;
    const deliveryId = this.#remember(key, fingerprint);
    this.#keepLetter(letter);
    return { outcome: isNew ? 'new' : 'conflict', deliveryId };
  }

  consume(endpointId: string, deliver: (delivery: Delivery) => void): () => void {
    this.#takeBack(endpointId);
    this.#consumers.set(endpointId, deliver);
    this.#scheduleTurn();
    return () => {
      if (this.#consumers.get(endpointId) !== deliver) return;
      this.#consumers.delete(endpointId);
      this.#takeBack(endpointId);
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#consumers.clear();
    clearImmediate(this.#turn);
    this.#turn = undefined;
  }

  /** The dead letters that are kept, oldest first. */
  deadLetters(): readonly DeadLetter[] {
    return this.#letters;
  }

  #refuseWhenClosed(): void {
    if (this.#closed)
      throw new RvmError('STORE_FAILED', 'The inbox is closed; start the flows to open it again.');
  }

  #knownAs(key: string, fingerprint: string): Acceptance | undefined {
    const copy = this.#keys.get(key)?.find((entry) => entry.fingerprint === fingerprint);
    return copy && { outcome: 'repeat', deliveryId: copy.deliveryId };
  }

  #remember(key: string, fingerprint: string): string {
    const deliveryId = randomUUID();
    const contents = this.#keys.get(key);
    if (contents === undefined) this.#keys.set(key, [{ deliveryId, fingerprint }]);
    else if (contents.length < MAX_CONTENTS) contents.push({ deliveryId, fingerprint });
    return deliveryId;
  }

  #enqueue(deliveryId: string, message: ProvenMessage): void {
    const { first, ended } = this.#notePhase(message);
    this.#sequence++;
    const delivery = { deliveryId, sequence: this.#sequence, attempt: 1, first, ended, message };
    const queue = this.#waiting.get(message.endpointId) ?? [];
    queue.push(delivery);
    this.#waiting.set(message.endpointId, queue);
    this.#waitingCount++;
    this.#scheduleTurn();
  }

  #notePhase({ stationKey, event }: ProvenMessage): { first: boolean; ended: boolean } {
    if (typeof event.alarmId !== 'string' || event.alarmId === '') return { first: true, ended: false };
    const key = keyOf(stationKey, event.alarmId);
    const before = this.#alarms.get(key);
    this.#alarms.set(key, { ended: before?.ended === true || isEnd(event) });
    return { first: before === undefined, ended: before?.ended === true };
  }

  /** Deliveries come in a later turn of the event loop, so that the sender has its answer first. */
  #scheduleTurn(): void {
    if (this.#closed) return;
    this.#turn ??= setImmediate(() => {
      this.#turn = undefined;
      if (this.#deliverSome()) this.#scheduleTurn();
    });
  }

  /** True where more is waiting for a consumer. */
  #deliverSome(): boolean {
    let left = DELIVERIES_PER_TURN;
    for (const [endpointId, queue] of this.#waiting) {
      for (; left > 0 && this.#consumers.has(endpointId); left--) {
        const delivery = queue.shift();
        if (delivery === undefined) break;
        this.#deliver(endpointId, delivery);
      }
      if (queue.length === 0) this.#waiting.delete(endpointId);
    }
    return [...this.#waiting.keys()].some((endpointId) => this.#consumers.has(endpointId));
  }

  #deliver(endpointId: string, delivery: Delivery): void {
    this.#waitingCount--;
    const leaving = this.#leaving.get(endpointId) ?? [];
    leaving.push(delivery);
    this.#leaving.set(endpointId, leaving);
    try {
      this.#consumers.get(endpointId)?.(delivery);
    } catch {
      this.#log(`The consumer of delivery ${delivery.deliveryId} failed; the event counts as handled.`);
    }
    afterTurns(TURNS_TO_LEAVE, () => this.#letGo(endpointId, delivery));
  }

  #letGo(endpointId: string, delivery: Delivery): void {
    const left = this.#leaving.get(endpointId)?.filter((entry) => entry !== delivery) ?? [];
    if (left.length === 0) this.#leaving.delete(endpointId);
    else this.#leaving.set(endpointId, left);
  }

  /** Better twice than not at all: what may have been lost with its consumer waits for the next one, in its place. */
  #takeBack(endpointId: string): void {
    const leaving = this.#leaving.get(endpointId) ?? [];
    if (leaving.length === 0) return;
    this.#leaving.delete(endpointId);
    const again = leaving.map((delivery) => ({ ...delivery, attempt: delivery.attempt + 1 }));
    const queue = this.#waiting.get(endpointId) ?? [];
    queue.unshift(...again);
    this.#waiting.set(endpointId, queue);
    this.#waitingCount += again.length;
  }

  /** Without the event: it is in the body, and as objects takes many times its bytes. */
  #keepLetter(letter: DeadLetter): void {
    const kept = { ...letter };
    delete kept.event;
    this.#letters.push(kept);
    this.#letterBytes += letter.body.byteLength;
    while (this.#letters.length > MAX_DEAD_LETTERS || this.#letterBytes > MAX_DEAD_LETTER_BYTES) {
      this.#letterBytes -= this.#letters.shift()?.body.byteLength ?? 0;
    }
  }
}

function afterTurns(turns: number, act: () => void): void {
  if (turns === 0) act();
  else setImmediate(() => afterTurns(turns - 1, act));
}

/**
 * A station key holds neither line feed nor space, so no two pairs make the same text. A long id counts by its digest,
 * so that a key has a bound.
 */
function keyOf(stationKey: string, id: string): string {
  const short = id.length <= LONGEST_ID ? id : ` ${createHash('sha256').update(id).digest('hex')}`;
  return `${stationKey}\n${short}`;
}

function storeFull(): RvmError {
  return new RvmError(
    'STORE_FAILED',
    'Too many events wait for a flow that takes them; deploy the webhook node they belong to.',
  );
}
