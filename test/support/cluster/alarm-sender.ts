import http from 'node:http';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { PHRASE } from '../node-red/flows';
import { steadyNow } from '../time/steady';
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
  /** Which one of its alarm. */
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

  /** @param url of the endpoint, as the service knows it */
  constructor(private readonly url: string) {}

  get acknowledged(): Sent[] {
    return this.sent.filter(({ acknowledgedAt }) => acknowledgedAt !== undefined);
  }

  /** Sent so often at least, and not answered yet. */
  unanswered(tries: number): Sent[] {
    return this.sent.filter((each) => each.acknowledgedAt === undefined && each.tries >= tries);
  }

  /** Sends so many events, and resolves when each of them is answered. */
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

  /** Sends nothing any more, also not what has no answer yet. */
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
