import { randomUUID } from 'node:crypto';
import { EventEmitter, once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { LocalServer } from '../network/servers';
import { PHRASE } from '../node-red/flows';
import type { FlowNode } from '../node-red/node-red';
import { steadyNow } from '../time/event-loop';
import { alarmMessage, signature } from '../webhook/alarm-message';

/** Events of one alarm: its start, what follows, its end. */
export const EVENTS_OF_ALARM = 4;
const ALARMS_AT_A_TIME = 20;
/** The sender gives an answer so long, in milliseconds. */
const SEND_TIMEOUT = 10_000;
/** Pauses before a message is sent again, in milliseconds: the service's grow as well, and go on for hours. */
const FIRST_PAUSE = 250;
const LONGEST_PAUSE = 2000;

/** A message, and how its sending went. */
export interface Sent {
  readonly messageId: string;
  readonly alarmId: string;
  readonly place: number;
  /** Sent so often; again after an error of the connection and a time-out only. */
  tries: number;
  /** Milliseconds of `steadyNow`; absent until it is answered by 200. */
  acknowledgedAt?: number;
  /** An answer other than 200, after which the service sends it no more. */
  refused?: number;
}

/**
 * The service as a sender: several alarms at a time, the events of each one after the other, each sent again until it is
 * answered.
 */
export class AlarmSender {
  readonly sent: Sent[] = [];
  /** How many more events may begin. */
  #left = 0;
  #pause = 0;
  #lanes: Promise<void>[] = [];
  #hasGivenUp = false;

  constructor(private readonly url: string) {}

  get acknowledged(): Sent[] {
    return this.sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
  }

  unanswered(tries: number): Sent[] {
    return this.sent.filter((each) => each.acknowledgedAt === undefined && each.tries >= tries);
  }

  async send(count: number): Promise<void> {
    this.#begin(count, 0);
    await Promise.all(this.#lanes);
  }

  /**
   * Goes on until `end`.
   * @param pause of each alarm between two of its events, in milliseconds
   */
  begin(pause: number): void {
    this.#begin(Infinity, pause);
  }

  /** Begins no further alarm, and resolves when all that was sent is answered. */
  async end(): Promise<void> {
    this.#left = 0;
    await Promise.all(this.#lanes);
  }

  async giveUp(): Promise<void> {
    this.#hasGivenUp = true;
    await this.end();
  }

  #begin(count: number, pause: number): void {
    this.#left = count;
    this.#pause = pause;
    this.#lanes = Array.from({ length: ALARMS_AT_A_TIME }, () => this.#lane());
  }

  async #lane(): Promise<void> {
    while (this.#left > 0) await this.#alarm(randomUUID());
  }

  async #alarm(alarmId: string): Promise<void> {
    const size = Math.min(EVENTS_OF_ALARM, this.#left);
    this.#left -= size;
    for (let place = 0; place < size && !this.#hasGivenUp; place += 1) {
      const isLast = place === size - 1;
      const eventEndTime = isLast ? new Date().toISOString().replace('Z', '') : null;
      await this.#deliver({ messageId: randomUUID(), alarmId, place, tries: 0 }, eventEndTime);
      if (this.#pause > 0) await delay(this.#pause);
    }
  }

  async #deliver(message: Sent, eventEndTime: string | null): Promise<void> {
    const { messageId, alarmId } = message;
    this.sent.push(message);
    const body = JSON.stringify(alarmMessage({ alarmId, eventEndTime }, { messageId }));
    for (let pause = FIRST_PAUSE; !this.#hasGivenUp; pause = Math.min(2 * pause, LONGEST_PAUSE)) {
      message.tries += 1;
      const status = await this.#post(body);
      if (status === 200) message.acknowledgedAt = steadyNow();
      else if (status !== undefined) message.refused = status;
      if (status !== undefined) return;
      await delay(pause);
    }
  }

  /** The status of the answer; undefined where the connection failed, or nothing came in time. */
  #post(body: string): Promise<number | undefined> {
    const headers = { 'Content-Type': 'application/json', Authorization: signature(body, PHRASE) };
    return new Promise((resolve) => {
      const request = http.request(
        this.url,
        { method: 'POST', headers, agent: false, timeout: SEND_TIMEOUT },
        (response) => response.on('end', () => resolve(response.statusCode)).resume(),
      );
      request.on('timeout', () => request.destroy());
      request.on('close', () => resolve(undefined));
      request.on('error', () => undefined);
      request.end(body);
    });
  }
}

/** It confirms after so many milliseconds, and up to so many more. */
const LEAST = 5;
const MORE = 25;

const PAUSE_BEFORE_AGAIN = {
  type: 'delay',
  pauseType: 'delay',
  timeout: '250',
  timeoutUnits: 'milliseconds',
};
const TELL_SETTLED = `global.get('probe')('settled', { messageId: msg.webhook.messageId });`;

/** An event that the sink has taken for good. */
interface Confirmation {
  instance: string;
  messageId: string;
  at: number;
}

/** What the flows of all instances bring their events to, as to a monitoring station: once it has answered, the flow settles. */
export class ConfirmingSink extends LocalServer {
  readonly confirmations: Confirmation[] = [];
  readonly #confirmed = new Set<string>();
  /** By instance, how many of its processes have gone. */
  readonly #lives = new Map<string, number>();
  /** Instances whose events it does not confirm. */
  readonly #held = new Set<string>();
  readonly #changes = new EventEmitter().setMaxListeners(0);

  constructor() {
    // Whoever is killed in the midst of it brings it again.
    super(http.createServer((req, res) => void this.#take(req, res).catch(() => undefined)));
  }

  start(): Promise<this> {
    return this.listening();
  }

  has(messageId: string): boolean {
    return this.#confirmed.has(messageId);
  }

  /** Events of this instance are not confirmed from now on: they stay with its flow. */
  hold(instance: string): void {
    this.#held.add(instance);
  }

  letGo(instance: string): void {
    this.#held.delete(instance);
    this.#changes.emit('change');
  }

  /** The process of an instance has ended: what it has brought and is not confirmed yet never is. */
  gone(instance: string): void {
    this.#lives.set(instance, this.#lifeOf(instance) + 1);
    this.letGo(instance);
  }

  /** Brings events here, and settles each once that is confirmed; where the store fails to, again after a moment. */
  nodes(instance: string): FlowNode[] {
    const place = { z: 'tab', name: '', x: 0, y: 0 };
    const step = { ...place, type: 'function', outputs: 1, libs: [] };
    const url = `${this.url}/${instance}`;
    return [
      { ...step, id: 'sink', func: 'msg.payload = msg.webhook; return msg;', wires: [['post']] },
      { ...place, id: 'post', type: 'http request', method: 'POST', url, wires: [['confirmed']] },
      { ...step, id: 'confirmed', func: 'return msg.statusCode === 200 ? msg : null;', wires: [['settle']] },
      { ...place, id: 'settle', type: 'rvm-settle', wires: [['settled'], ['again']] },
      { ...step, id: 'settled', func: TELL_SETTLED, wires: [[]] },
      { ...place, ...PAUSE_BEFORE_AGAIN, id: 'again', wires: [['settle']] },
    ];
  }

  override async close(): Promise<void> {
    for (const instance of this.#held) this.letGo(instance);
    await super.close();
  }

  #lifeOf(instance: string): number {
    return this.#lives.get(instance) ?? 0;
  }

  async #take(req: http.IncomingMessage, res: http.ServerResponse): Promise<void> {
    const instance = (req.url ?? '').slice(1);
    const life = this.#lifeOf(instance);
    const { messageId } = (await json(req)) as { messageId: string };
    await delay(LEAST + Math.random() * MORE);
    while (this.#held.has(instance)) await once(this.#changes, 'change');
    if (life !== this.#lifeOf(instance)) return;
    this.#confirmed.add(messageId);
    this.confirmations.push({ instance, messageId, at: steadyNow() });
    res.end('taken');
  }
}

/** An event in the moment in which an instance hands it to its flow. */
export interface HandOver {
  instance: string;
  messageId: string;
  deliveryId: string;
  attempt: number;
  again?: 'lease' | 'restart' | 'retry';
  at: number;
}

/** What hand-over-log.js has written for one instance, over all lives of its process. */
export class HandOverLog {
  readonly #entries: HandOver[] = [];
  #read = 0;
  #rest = '';

  constructor(
    readonly file: string,
    private readonly instance: string,
  ) {
    fs.writeFileSync(file, '');
  }

  /** Oldest first; what was added since the last look is read. */
  all(): readonly HandOver[] {
    const size = fs.statSync(this.file).size;
    if (size > this.#read) this.#take(this.#piece(size));
    return this.#entries;
  }

  since(moment: number): readonly HandOver[] {
    const all = this.all();
    return all.slice(all.findLastIndex(({ at }) => at <= moment) + 1);
  }

  #piece(size: number): string {
    const bytes = Buffer.alloc(size - this.#read);
    const file = fs.openSync(this.file, 'r');
    fs.readSync(file, bytes, 0, bytes.length, this.#read);
    fs.closeSync(file);
    this.#read = size;
    return bytes.toString();
  }

  #take(piece: string): void {
    const lines = (this.#rest + piece).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines)
      this.#entries.push({ ...(JSON.parse(line) as Omit<HandOver, 'instance'>), instance: this.instance });
  }
}

/** What became of all that was sent. */
export interface Tally {
  sent: number;
  acknowledged: number;
  /** Answered otherwise: the service sends those no more. */
  refused: number;
  /** Acknowledged, and never confirmed by the sink. */
  lost: number;
  /** Confirmed by the sink once more. */
  doubled: number;
  /** Hand-overs of events that had been handed over before: after a kill the sink may not have had them. */
  again: number;
  /** Of these, those that do not say so. */
  unmarked: number;
  /** Hand-overs behind a later event of the alarm, or before the one before it was confirmed. */
  outOfOrder: number;
}

export interface Records {
  sent: readonly Sent[];
  confirmations: readonly Confirmation[];
  handOvers: readonly HandOver[];
}

export function tallyOf(records: Records): Tally {
  const { sent } = records;
  const confirmedAt = firstConfirmations(records.confirmations);
  const acknowledged = sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
  const again = repeatsIn(records.handOvers);
  return {
    sent: sent.length,
    acknowledged: acknowledged.length,
    refused: sent.filter(({ refused }) => refused !== undefined).length,
    lost: acknowledged.filter(({ messageId }) => !confirmedAt.has(messageId)).length,
    doubled: records.confirmations.length - confirmedAt.size,
    again: again.length,
    unmarked: again.filter((handOver) => !isMarked(handOver)).length,
    outOfOrder: outOfOrderIn(records, confirmedAt).length,
  };
}

function repeatsIn(handOvers: readonly HandOver[]): HandOver[] {
  const known = new Set<string>();
  return handOvers.filter(({ messageId }) => {
    const isKnown = known.has(messageId);
    known.add(messageId);
    return isKnown;
  });
}

function isMarked({ attempt, again }: HandOver): boolean {
  return attempt > 1 && again !== undefined;
}

function firstConfirmations(confirmations: readonly Confirmation[]): Map<string, number> {
  const first = new Map<string, number>();
  for (const { messageId, at } of confirmations) if (!first.has(messageId)) first.set(messageId, at);
  return first;
}

function outOfOrderIn({ sent, handOvers }: Records, confirmedAt: Map<string, number>): HandOver[] {
  const byId = new Map(sent.map((message) => [message.messageId, message]));
  const byPlace = new Map(sent.map(({ alarmId, place, messageId }) => [`${alarmId} ${place}`, messageId]));
  const furthest = new Map<string, number>();
  return handOvers.filter(({ messageId, at }) => {
    const message = byId.get(messageId);
    if (message === undefined) return false;
    const { alarmId, place } = message;
    const last = furthest.get(alarmId) ?? 0;
    furthest.set(alarmId, Math.max(last, place));
    const before = byPlace.get(`${alarmId} ${place - 1}`);
    const isEarly = before !== undefined && !((confirmedAt.get(before) ?? Infinity) <= at);
    return place < last || isEarly;
  });
}

/** Prints what became of all that was sent in a scenario, and what else was measured. */
export function report(scenario: string, tally: Tally, further: Record<string, number | string> = {}): void {
  const { again, unmarked, outOfOrder, ...counts } = tally;
  const repeats = { 'handed over again': again, 'of these unmarked': unmarked };
  const all = { ...counts, ...repeats, 'out of order': outOfOrder, ...further };
  const parts = Object.entries(all).map(([name, value]) => `${name} ${value}`);
  process.stdout.write(`${scenario}: ${parts.join(', ')}\n`);
}
