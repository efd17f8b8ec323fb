import { createHmac, randomUUID } from 'node:crypto';
import dns from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import { withTimeout } from '../concurrency/timers';
import { RvmError } from '../error';
import { SELF_TEST, SELF_TEST_ID } from '../message/envelope';
import type { SelfTestFault, SelfTestReport, SelfTestStep } from './self-test-steps';

/** Self-tests whose messages have not been received yet. */
export class PendingSelfTests {
  readonly #expected = new Map<string, () => void>();

  /** Resolves once a message with this id is received. */
  expect(messageId: string): Promise<true> {
    return new Promise((resolve) => this.#expected.set(messageId, () => resolve(true)));
  }

  forget(messageId: string): void {
    this.#expected.delete(messageId);
  }

  came(messageId: string): void {
    this.#expected.get(messageId)?.();
  }
}

interface SelfTest {
  url: string;
  /** Scheme of the endpoint as registered with the service. */
  scheme: 'https' | 'http';
  /** Phrase of the station; it signs the message and is never sent. */
  phrase: string;
  pending: PendingSelfTests;
  /** Whether another instance that shares the inbox received the message with this id. */
  isElsewhere: (messageId: string) => Promise<boolean>;
  /** Timeout for connection and answer, in milliseconds. */
  timeoutMs: number;
  /** True for a test that no user started; its message is not sent to an output. */
  isScheduled?: boolean;
}

/** Milliseconds. Short, because a message answered with 200 is stored already. */
const ARRIVAL_TIMEOUT = 2000;
/** Milliseconds between two queries whether another instance has the message. */
const ASK_EVERY = 250;

const SCHEDULED_ID = `${SELF_TEST_ID}scheduled-`;

const LOOPBACK = /^(?:localhost|127\.[\d.]+|\[::1\])$/;

/** A failure of a step. */
class Failed extends Error {
  constructor(
    readonly step: SelfTestStep,
    readonly fault: SelfTestFault,
    readonly seen: string,
  ) {
    super(fault);
  }
}

/**
 * Posts a signed message to the address of a webhook, as the service would, and checks that it arrives. The message is stored
 * and becomes the problem `self-test`, never an alarm.
 * @throws RvmError CONFIG_MISSING where the URL is none, or would expose a signature that the service never exposes
 */
export async function selfTest(test: SelfTest): Promise<SelfTestReport> {
  const { url, pending } = test;
  const target = targetOf(test);
  const { messageId, body } = selfTestMessage(test.isScheduled === true);
  const arrival = pending.expect(messageId);
  try {
    await lookUp(target);
    const status = await post(target, body, test);
    if (status !== 200) throw refused(status);
    const where = await whereReceived(arrival, () => test.isElsewhere(messageId));
    if (where === undefined) throw new Failed('arrival', 'not-arrived', '');
    return { url, ...(where === 'elsewhere' && { elsewhere: true }) };
  } catch (error) {
    if (!(error instanceof Failed)) throw error;
    const { step, fault, seen } = error;
    return { url, failed: { step, fault, seen } };
  } finally {
    pending.forget(messageId);
  }
}

/** Where the message was received; undefined after the timeout. */
async function whereReceived(
  arrival: Promise<true>,
  isElsewhere: () => Promise<boolean>,
): Promise<'here' | 'elsewhere' | undefined> {
  const until = performance.now() + ARRIVAL_TIMEOUT;
  do {
    if ((await withTimeout(arrival, ASK_EVERY)) === true) return 'here';
    // A store that fails to answer now may answer soon.
    const check = isElsewhere().catch(() => false);
    if ((await withTimeout(check, ARRIVAL_TIMEOUT)) === true) return 'elsewhere';
  } while (performance.now() < until);
  return undefined;
}

function targetOf({ url, scheme }: SelfTest): URL {
  const target = URL.parse(url);
  if (target === null || !/^https?:$/.test(target.protocol)) {
    throw new RvmError(
      'CONFIG_MISSING',
      `The public URL ${url} is no address: enter one that begins with https:// or http://.`,
    );
  }
  // A weak phrase can be guessed from a signature of a known text.
  if (scheme === 'https' && target.protocol === 'http:' && !LOOPBACK.test(target.hostname)) {
    throw new RvmError(
      'CONFIG_MISSING',
      'The public URL begins with http://, and the Central Station is set to https://: correct one of them.',
    );
  }
  return target;
}

/** True for the message of a self-test that no user started, of any instance. */
export function isScheduledSelfTest(messageId: string): boolean {
  return messageId.startsWith(SCHEDULED_ID);
}

function selfTestMessage(isScheduled: boolean): { messageId: string; body: Buffer } {
  const messageId = `${isScheduled ? SCHEDULED_ID : SELF_TEST_ID}${randomUUID()}`;
  const message = {
    messageId,
    payloadType: SELF_TEST,
    Version: '1',
    transmitTime: new Date().toISOString(),
    logCorrelationId: null,
    payload: { text: 'A self-test of this webhook.' },
  };
  return { messageId, body: Buffer.from(JSON.stringify(message)) };
}

async function lookUp({ hostname }: URL): Promise<void> {
  const host = hostname.replace(/^\[|\]$/g, '');
  if (net.isIP(host) !== 0) return;
  await dns.lookup(host).catch((error: NodeJS.ErrnoException) => {
    throw new Failed('name', 'unknown-name', `${host} (${error.code ?? 'unknown fault'})`);
  });
}

function post(target: URL, body: Buffer, { phrase, timeoutMs }: SelfTest): Promise<number> {
  const signature = createHmac('sha256', phrase).update(body).digest('base64');
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': body.length,
    Authorization: `HMAC-SHA256 ${signature}`,
  };
  const client = target.protocol === 'https:' ? https : http;
  const where = `${target.hostname}, port ${target.port || (target.protocol === 'https:' ? 443 : 80)}`;
  return new Promise((resolve, reject) => {
    // A new connection, so that each step is tested.
    const request = client.request(target, { method: 'POST', headers, agent: false, timeout: timeoutMs });
    let isConnected = false;
    let isSecure = client === http;
    request.on('socket', (socket) => {
      socket.once('connect', () => (isConnected = true));
      socket.once('secureConnect', () => (isSecure = true));
    });
    request.on('response', (response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    request.on('timeout', () => request.destroy(new Error('ETIMEDOUT')));
    request.on('error', (error: NodeJS.ErrnoException) => {
      const seen = `${where} (${error.code ?? error.message})`;
      if (!isConnected) reject(new Failed('connection', 'no-connection', seen));
      else if (!isSecure) reject(new Failed('tls', 'certificate', seen));
      else reject(new Failed('answer', 'no-answer', seen));
    });
    request.end(body);
  });
}

/** The receiver itself answers only 200 or 401 to a readable message (contract, HTTP answers). */
function refused(status: number): Failed {
  const seen = String(status);
  if (status === 401) return new Failed('answer', 'unauthentic', seen);
  if (status >= 300 && status < 400) return new Failed('answer', 'redirected', seen);
  if (status >= 500) return new Failed('answer', 'in-front', seen);
  return new Failed('answer', 'other-server', seen);
}
