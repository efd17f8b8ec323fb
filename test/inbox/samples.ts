import { randomUUID } from 'node:crypto';
import type { Acceptance, Consumer, Delivery, Inbox, Consumption, Incident } from '../../lib/inbox/model';
import type { CarriedRecord } from '../../lib/inbox/store/carried-record';
import type { NewMessage } from '../../lib/inbox/store/port';
import type { ProvenMessage } from '../../lib/message/record';
import { readEnvelope } from '../../lib/message/envelope';
import { fingerprintOfValue, jsonOf } from '../../lib/message/body';
import { alarmMessage } from '../support/webhook/alarm-message';
import { eventually } from '../support/time/patience';

export const ENDPOINT = 'webhook-in';
export const SETTLED = { handledWhen: 'settled' } as const;
export const DAY = 24 * 60 * 60 * 1000;

/** A proven message, as the receiver hands it to the inbox. */
export function proven(
  payload: Record<string, unknown> = {},
  changes: Partial<ProvenMessage> & { messageId?: string } = {},
): ProvenMessage {
  const { messageId = randomUUID(), ...rest } = changes;
  const body = Buffer.from(JSON.stringify(alarmMessage(payload, { messageId })));
  const reading = readEnvelope(jsonOf(body)());
  if (!reading.usable) throw new Error(reading.reason);
  const { envelope, event } = reading;
  return {
    kind: 'event',
    endpointId: ENDPOINT,
    stationKey: 'north',
    stationName: 'North',
    sandbox: false,
    receivedTime: new Date().toISOString(),
    fingerprint: fingerprintOfValue(event),
    body,
    proof: 'hmac',
    secret: 'current',
    envelope,
    event,
    warnings: [],
    ...rest,
  };
}

export const idOf = ({ envelope }: ProvenMessage): string => envelope.messageId;

type Dead = { deliveryId: string; reason: string; note: string | undefined };

/** A consumer that keeps what it is told. */
export class Taker {
  readonly deliveries: Delivery[] = [];
  readonly dead: Dead[] = [];
  readonly blocked: number[] = [];
  readonly spells: { count: number; isOver: boolean }[] = [];
  readonly incidents: Incident[] = [];
  readonly consumption: Consumption;

  constructor(
    private readonly inbox: Inbox,
    terms: Partial<Consumer> = {},
    begin: 'running' | 'paused' = 'running',
  ) {
    this.consumption = inbox.consume({
      endpointId: ENDPOINT,
      nodeId: `node of ${terms.endpointId ?? ENDPOINT}`,
      handledWhen: 'sent',
      redeliverAfter: 120_000,
      maxAttempts: 12,
      maxInFlight: 100,
      deliver: (delivery) => this.deliveries.push(delivery) > 0,
      onDead: ({ deliveryId }, reason, note) => this.dead.push({ deliveryId, reason, note }),
      onBlocked: (waiting) => this.blocked.push(waiting),
      onSpilled: (spell) => this.spells.push(spell),
      onIncident: (incident) => this.incidents.push(incident),
      ...terms,
    });
    if (begin === 'running') this.consumption.resume();
  }

  /** Message ids in order of delivery. */
  get ids(): string[] {
    return this.deliveries.map(({ message }) => message.envelope.messageId);
  }

  get deliveryIds(): string[] {
    return this.deliveries.map(({ deliveryId }) => deliveryId);
  }

  /** Of each delivery: of which event, the how manieth attempt, and why again. */
  get told(): [deliveryId: string, attempt: number, again: Delivery['again']][] {
    return this.deliveries.map(({ deliveryId, attempt, again }) => [deliveryId, attempt, again]);
  }

  came(count: number): Promise<void> {
    return eventually(() => this.deliveries.length === count, `${count} deliveries`);
  }

  /** Accepts a message, and waits until its event has come. */
  async takes(message = proven()): Promise<Acceptance> {
    const accepted = await this.inbox.accept(message);
    await eventually(() => this.ids.includes(message.envelope.messageId), 'the event');
    return accepted;
  }
}

/** Waits until the inbox has nothing open any more, but for `left` events. */
export function allSettled(inbox: Inbox, left = 0): Promise<void> {
  const isSettled = async (): Promise<boolean> => {
    const { messages, fault } = await inbox.list({ state: 'open', limit: left + 1 });
    return fault === undefined && messages.length <= left;
  };
  return eventually(isSettled, 'the end of all events');
}

/** A message that waits, as it is carried from one store into another. */
export function waitingRecord(message: NewMessage, deliveryId: string): CarriedRecord {
  const { station, id, named, fingerprint, endpoint, rank, alarm = null, isEnd, received } = message;
  const { facts, bytes } = message;
  return {
    sequence: 1,
    delivery_id: deliveryId,
    station,
    id,
    named: Number(named),
    copy: 0,
    fingerprint,
    endpoint,
    state: 'received',
    rank,
    attempt: 0,
    cut_off: 0,
    at_flow: 0,
    again: null,
    first: 1,
    ended: 0,
    alarm,
    is_end: Number(isEnd),
    received,
    stored: 0,
    delivered: null,
    settled: null,
    settled_by: null,
    judged: null,
    verdict: null,
    facts,
    bytes: Uint8Array.from(bytes),
    steps: [],
  };
}
