import { createHmac } from 'node:crypto';
import type { ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { alarmMessage } from '../support/webhook/alarm-message';

export const PHRASE = 'seven calm otters cross the quay';

/** A station with a usable phrase; signature by header unless said. */
export function station(changes: Partial<ReceivingStation> = {}): ReceivingStation {
  return {
    key: 'north',
    name: 'North Station',
    scheme: 'http',
    secret: PHRASE,
    // As the nodes tell it: the phrase comes with the variable.
    previousSecret: '',
    agentUserId: '',
    acceptBareSignature: false,
    sandbox: false,
    ...changes,
  };
}

export const AGENT_USER = '5a0c6b0e-1f9b-4f0a-9d6e-0a3f6f2f7b11';

/** Minutes ago as the service writes times of events: UTC without a zone. */
export function minutesAgo(minutes: number): string {
  return new Date(Date.now() - minutes * 60_000).toISOString().replace('Z', '');
}

/** An envelope with an id of its own, of always the same alarm; `authenticationToken` null unless given. */
export function envelope(
  changes: Record<string, unknown> = {},
  payloadChanges: Record<string, unknown> = {},
): Record<string, unknown> {
  const ids = { agentUserId: AGENT_USER, alarmId: '7d1f8b34-6f0e-4d7e-8d3b-6a5f1c9e2b02' };
  return alarmMessage({ ...ids, ...payloadChanges }, changes);
}

export function payload(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return Object(envelope({}, changes)['payload']);
}

export function signatureOf(body: string | Uint8Array, phrase = PHRASE): string {
  return createHmac('sha256', phrase).update(body).digest('base64');
}

/** The `Authorization` value of the service for a body. */
export function authorizationFor(body: string | Uint8Array, phrase = PHRASE): string {
  return `HMAC-SHA256 ${signatureOf(body, phrase)}`;
}

export interface Signed {
  body: string;
  headers: Record<string, string>;
}

/** A message as the service sends it to an endpoint with http. */
export function signed(
  changes: Record<string, unknown> = {},
  payloadChanges: Record<string, unknown> = {},
): Signed {
  const body = JSON.stringify(envelope(changes, payloadChanges));
  return { body, headers: { Authorization: authorizationFor(body) } };
}

/** A message as the service sends it to an endpoint with https. */
export function withToken(changes: Record<string, unknown> = {}): Signed {
  return { body: JSON.stringify(envelope({ authenticationToken: PHRASE, ...changes })), headers: {} };
}
