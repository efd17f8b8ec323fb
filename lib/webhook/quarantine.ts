import { createHmac, randomUUID } from 'node:crypto';
import { sleep } from '../concurrency/timers';
import type { QuarantinedMessage } from '../inbox/model';
import {
  redactedBody,
  jsonOf,
  type JsonReading,
  seemingObject,
  type TokenReading,
  withToken,
} from '../message/body';
import { plural } from '../text';
import type { Endpoint, RequestOrigin } from './endpoint';
import { type ClockGuard, judge, recordOf } from './judge';
import {
  authenticate,
  isSignatureText,
  type ProofFailure,
  type RawMessage,
  readAuthorization,
} from './proof/authenticate';
import { readyStations, type ReceivingStation } from './proof/receiving-station';
import { LARGE_BODY } from './prover';
import { RateLimiter } from './rate-limits';
import type { Reporter } from './reporter';

interface QuarantineOptions {
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number;
  clockGuard: ClockGuard;
  reporter: Reporter;
}

/** Unproven messages of one endpoint that are handled in a second: scanning and storing them takes time. */
const PER_SECOND = 20;
/**
 * Messages of all endpoints that may wait for the store at a time: while the store hangs, memory must not fill with messages of
 * strangers.
 */
const MOST_WAITING = 50;

/** Stores unproven messages until a phrase is corrected, and judges them again then. */
export class Quarantine {
  readonly #allowance: RateLimiter;
  #waiting = 0;
  #closed = false;

  constructor(private readonly options: QuarantineOptions) {
    this.#allowance = new RateLimiter(PER_SECOND, options.monotonic);
  }

  /** Stores a copy of a message that another phrase could prove. Not awaited: the sender has its answer already. */
  keep(
    endpoint: Endpoint,
    raw: RawMessage,
    { received, remoteAddress }: RequestOrigin,
    reason: ProofFailure,
  ): void {
    if (this.#waiting >= MOST_WAITING || !this.#allowance.pass(endpoint.id)) return;
    const message = confirmable(raw);
    if (message === undefined) return;
    const request = {
      endpointId: endpoint.id,
      receivedTime: received.toISOString(),
      reason,
      ...(remoteAddress !== undefined && { remoteAddress }),
    };
    this.#waiting += 1;
    endpoint.inbox.quarantineKey().then(
      (key) => {
        this.#waiting -= 1;
        endpoint.inbox.quarantine(quarantinedMessage(message, request, key));
      },
      () => {
        // Without the store the message is dropped; while the store fails, its capacity is for real alarms.
        this.#waiting -= 1;
      },
    );
  }

  /**
   * Judges the quarantined messages of an endpoint again with the current phrases: a phrase may have been wrong on our side. A
   * message that is proven now is accepted with its original time of receipt.
   * @returns the number of messages accepted
   * @throws RvmError STORE_FAILED
   */
  async judgeAgain(endpoint: Endpoint): Promise<number> {
    const { ready } = readyStations(endpoint.stations());
    const messages = ready.length === 0 ? [] : await endpoint.inbox.quarantined(endpoint.id);
    if (messages.length === 0) return 0;
    const key = await endpoint.inbox.quarantineKey();
    let count = 0;
    for (const message of messages) {
      // One by one, because a new alarm must not wait for all of them.
      await sleep(0);
      if (this.#closed) return count;
      if (await this.#acceptIfProven(endpoint, message, { ready, key })) count++;
    }
    if (count > 0)
      this.options.reporter.log(
        `proven ${endpoint.id}`,
        `A phrase that was corrected has proved ${plural(count, 'webhook message')} that nothing had proved before: accepted.`,
      );
    return count;
  }

  close(): void {
    this.#closed = true;
  }

  async #acceptIfProven(
    endpoint: Endpoint,
    message: QuarantinedMessage & { id: number },
    { ready, key }: { ready: readonly ReceivingStation[]; key: Uint8Array },
  ): Promise<boolean> {
    const { clockGuard, reporter } = this.options;
    const origin = { received: new Date(message.receivedTime), remoteAddress: message.remoteAddress };
    // In the main thread: stored bodies are short, and each has a pause before it.
    const raw = receivedAgain(message, ready, key);
    const judgement = judge(raw, authenticate(raw, ready), { endpoint, origin, clockGuard });
    if (judgement.kind === 'unauthentic') return false;
    const record = { ...recordOf(judgement), provenTime: new Date().toISOString() };
    const acceptance = await endpoint.inbox.accept(record);
    await endpoint.inbox.release([message.id]);
    reporter.accepted(endpoint, record, acceptance, message.body.byteLength);
    return acceptance.outcome !== 'repeat';
  }
}

/** An unproven message that another phrase could prove, if it is well formed. */
interface Confirmable extends Pick<QuarantinedMessage, 'authorization' | 'body'> {
  token?: string;
}

/**
 * The parts of an unproven message that another phrase could prove; undefined where it has no proof, is no object, or has a
 * large body. It is scanned, and parsed only once it is proven: a stranger's may be made to cost time.
 */
function confirmable({ body, authorization }: RawMessage): Confirmable | undefined {
  if (body.byteLength > LARGE_BODY) return undefined;
  const header = readAuthorization(authorization);
  const isSigned = 'text' in header && isSignatureText(header.text);
  const object = seemingObject(body);
  if (object === undefined) return undefined;
  const { kind, text: token } = object.token;
  if (kind !== 'text' && !(kind === 'absent' && isSigned)) return undefined;
  return {
    // Any other value may be a password, or the phrase itself.
    authorization: isSigned ? authorization : [],
    body: redactedBody(body, object),
    ...(token !== undefined && { token }),
  };
}

/** An unproven message in its stored form, with an HMAC of the token in place of the token. */
function quarantinedMessage(
  { token, ...message }: Confirmable,
  request: Pick<QuarantinedMessage, 'endpointId' | 'receivedTime' | 'remoteAddress' | 'reason'>,
  key: Uint8Array,
): QuarantinedMessage {
  return { ...request, ...message, ...(token !== undefined && { tokenDigest: digestOf(token, key) }) };
}

/** Restores a quarantined message, with its token if that is one of the phrases of these stations. */
function receivedAgain(
  { body, authorization, tokenDigest }: QuarantinedMessage,
  stations: readonly ReceivingStation[],
  key: Uint8Array,
): RawMessage {
  const phrases = stations.flatMap(({ secret, previousSecret }) => [secret, previousSecret]);
  const phrase = phrases.find((candidate) => digestOf(candidate, key) === tokenDigest);
  const read = jsonOf(body);
  // A token in the stored body must prove nothing.
  const token: Omit<TokenReading, 'spans'> =
    tokenDigest === undefined ? { kind: 'absent' } : { kind: 'text', text: phrase ?? randomUUID() };
  const json = (): JsonReading => withToken(read(), { ...token, spans: read().token.spans });
  return { body, authorization, json, token: { ...token, spans: [] } };
}

function digestOf(token: string, key: Uint8Array): string {
  return createHmac('sha256', key).update(token).digest('hex');
}
