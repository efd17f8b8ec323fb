import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { ResolvedOptions } from '../options';
import { isLoopback } from '../text';
import type { Station } from '../world/stations';
import type { World } from '../world/world';
import { type Message, signedRequest } from './message';

/** A webhook endpoint of a station. */
export interface Endpoint {
  /** Key of the station. */
  station: string;
  /** Called at each attempt; undefined = not reachable yet, which counts as a connection error. */
  url: () => string | undefined;
}

/**
 * `pending`: an attempt is running or follows at `nextAt`. `delivered`: acknowledged. `refused`: answered with another status
 * and not resent. `expired`: not delivered within 24 hours after the event. `cancelled`: the station or endpoint was removed.
 */
type DeliveryState = 'pending' | 'delivered' | 'refused' | 'expired' | 'cancelled';

/** The delivery of a message to an endpoint, as `GET /sandbox/deliveries` shows it. Times: ISO 8601, UTC. */
interface DeliveryReport {
  messageId: string;
  alarmId: string;
  station: string;
  state: DeliveryState;
  attempts: ({ at: string } & PostResult)[];
  nextAt: string | null;
}

interface Delivery extends DeliveryReport {
  endpoint: string;
  message: Message;
  /** Time of the reported start or end, where the resend window begins. Milliseconds since 1970. */
  occurredAt: number;
  unschedule: () => void;
  abort: AbortController;
}

/** Specification, section 6: the statuses that acknowledge. */
const ACKNOWLEDGED = [200, 201, 202];
/** Beyond this number the oldest deliveries are deleted, finished ones first. */
const MOST_DELIVERIES = 2000;

/** Posts messages to the endpoints of the stations and resends them until the resend window ends. */
export class WebhookSender {
  readonly #endpoints = new Map<string, Endpoint>();
  #deliveries: Delivery[] = [];

  constructor(
    private readonly world: World,
    private readonly options: Pick<ResolvedOptions, 'sendTimeout' | 'resendOnStatus'>,
  ) {}

  setEndpoint(id: string, endpoint: Endpoint): void {
    this.#endpoints.set(id, endpoint);
  }

  /** Also cancels the deliveries to this endpoint. */
  removeEndpoint(id: string): void {
    this.#endpoints.delete(id);
    this.#cancel((delivery) => delivery.endpoint === id);
  }

  /** Cancels the deliveries of a removed station. */
  cancelStation(key: string): void {
    this.#cancel((delivery) => delivery.station === key);
  }

  /** The endpoints whose station exists. */
  targets(): { endpoint: string; station: Station }[] {
    return [...this.#endpoints].flatMap(([endpoint, { station: key }]) => {
      const station = this.world.stations.get(key);
      return station === undefined ? [] : [{ endpoint, station }];
    });
  }

  send(
    target: { endpoint: string; station: Station },
    event: { alarmId: string; occurredAt: number; message: Message },
  ): void {
    const delivery: Delivery = {
      messageId: event.message.messageId,
      alarmId: event.alarmId,
      station: target.station.key,
      state: 'pending',
      attempts: [],
      nextAt: null,
      endpoint: target.endpoint,
      message: event.message,
      occurredAt: event.occurredAt,
      unschedule: () => undefined,
      abort: new AbortController(),
    };
    this.#forgetOldest();
    this.#deliveries.push(delivery);
    this.#schedule(delivery, 0);
  }

  /** The deliveries in order of creation. */
  list(): DeliveryReport[] {
    return this.#deliveries.map(({ messageId, alarmId, station, state, attempts, nextAt }) => {
      return { messageId, alarmId, station, state, attempts: [...attempts], nextAt };
    });
  }

  close(): void {
    this.#endpoints.clear();
    this.#cancel(() => true);
  }

  #schedule(delivery: Delivery, waitMs: number): void {
    delivery.nextAt = new Date(this.world.clock.now() + waitMs).toISOString();
    delivery.unschedule = this.world.clock.schedule(waitMs, () => this.#attempt(delivery));
  }

  async #attempt(delivery: Delivery): Promise<void> {
    const at = this.world.clock.now();
    if (at - delivery.occurredAt >= RESEND_WINDOW_MS) return finish(delivery, 'expired');
    const station = this.world.stations.get(delivery.station);
    const endpoint = this.#endpoints.get(delivery.endpoint);
    if (station === undefined || endpoint === undefined) return finish(delivery, 'cancelled');
    delivery.nextAt = null;
    const result = await post(addressOf(endpoint), signedRequest(delivery.message, station, at), {
      timeoutMs: this.options.sendTimeout * 1000,
      signal: delivery.abort.signal,
    });
    if (delivery.state !== 'pending') return;
    delivery.attempts.push({ at: new Date(at).toISOString(), ...result });
    this.#afterAttempt(delivery, result);
  }

  #afterAttempt(delivery: Delivery, result: PostResult): void {
    if ('status' in result) {
      if (ACKNOWLEDGED.includes(result.status)) return finish(delivery, 'delivered');
      if (!this.options.resendOnStatus) return finish(delivery, 'refused');
    }
    const untilEnd = delivery.occurredAt + RESEND_WINDOW_MS - this.world.clock.now();
    this.#schedule(delivery, Math.min(waitAfter(delivery.attempts.length), untilEnd));
  }

  #cancel(which: (delivery: Delivery) => boolean): void {
    for (const delivery of this.#deliveries.filter(which)) cancel(delivery);
  }

  #forgetOldest(): void {
    if (this.#deliveries.length < MOST_DELIVERIES) return;
    const finished = this.#deliveries.findIndex(({ state }) => state !== 'pending');
    const [oldest] = this.#deliveries.splice(Math.max(0, finished), 1);
    if (oldest !== undefined) cancel(oldest);
  }
}

function cancel(delivery: Delivery): void {
  if (delivery.state !== 'pending') return;
  finish(delivery, 'cancelled');
  delivery.abort.abort();
}

function finish(delivery: Delivery, state: DeliveryState): void {
  delivery.unschedule();
  delivery.state = state;
  delivery.nextAt = null;
}

function addressOf(endpoint: Endpoint): string | undefined {
  try {
    return endpoint.url();
  } catch {
    return undefined;
  }
}

/** The status of the answer, or the reason why there was none. */
type PostResult = { status: number } | { error: string };

/**
 * One POST on a new connection. Never rejects. Does not follow redirects. The certificate of a loopback endpoint is not
 * checked, because Node-RED on the same machine often has a self-signed one.
 */
function post(
  target: string | undefined,
  message: { body: Buffer; headers: Record<string, string> },
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<PostResult> {
  const url = target === undefined ? null : URL.parse(target);
  if (url === null) return Promise.resolve({ error: 'the endpoint is not reachable yet' });
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    return Promise.resolve({ error: 'the endpoint has no http or https address' });
  }
  return new Promise((resolve) => {
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    const request = send(url, {
      method: 'POST',
      headers: { ...message.headers, 'User-Agent': 'rvm-sandbox' },
      agent: false,
      rejectUnauthorized: !isLoopback(url.hostname),
      signal: options.signal,
    });
    const deadline = setTimeout(() => request.destroy(new Error('time-out')), options.timeoutMs);
    request.once('close', () => clearTimeout(deadline));
    request.once('response', (response) => {
      response.on('error', () => undefined);
      response.resume();
      resolve({ status: response.statusCode ?? 0 });
    });
    request.on('error', (error) => resolve({ error: reasonOf(error) }));
    request.end(message.body);
  });
}

/** A short reason without the address: the path of an endpoint is confidential. */
function reasonOf(error: Error & { code?: string }): string {
  return error.message === 'time-out' ? 'time-out' : (error.code ?? 'connection error');
}

/** Specification, section 8: an event is resent until this time after it happened. */
const RESEND_WINDOW_MS = 24 * 3_600_000;

/** The first waits between attempts, in seconds. */
const FIRST_WAITS_S = [5, 15, 60, 300, 900, 3600];
/** Each later wait is longer than the previous one by this. */
const GROWTH_S = 600;

/**
 * Milliseconds from a failed attempt to the next: longer each time (specification, section 6).
 * @param attempts number of attempts so far, at least 1
 */
function waitAfter(attempts: number): number {
  const last = Math.min(attempts, FIRST_WAITS_S.length);
  return ((FIRST_WAITS_S[last - 1] ?? 0) + (attempts - last) * GROWTH_S) * 1000;
}
