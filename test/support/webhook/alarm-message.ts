import { createHmac, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

type Message = Record<string, unknown>;

/** A webhook message as the specification's samples have it: `Version`, a start time without a zone, all fields. */
export function alarmMessage(payload: Message = {}, envelope: Message = {}): Message {
  return {
    payloadType: 'BlueEvent',
    version: '1.0.0',
    messageId: randomUUID(),
    transmitTime: new Date().toISOString(),
    logCorrelationId: randomUUID(),
    authenticationToken: null,
    payload: {
      Version: '1.0.0',
      agentUserId: '0b9f1c52-6a53-4e0f-9b0a-1f6a0c7d1e11',
      agentUserTenantId: '6f6f3b1e-2c35-4a53-8c55-0a8a5f0b2a10',
      alarmId: randomUUID(),
      alarmTenantId: '2f0ee0c6-55d6-4a53-9d5b-cf0a8f1f3c01',
      eventClass: 'security',
      eventName: 'Person in yard',
      eventType: 'ObjectPresent',
      eventRuleName: 'Person in yard',
      eventStartTime: new Date().toISOString().replace('Z', ''),
      eventEndTime: null,
      entityTenantId: '2f0ee0c6-55d6-4a53-9d5b-cf0a8f1f3c01',
      locationId: '9d4c7c8e-7b4e-4d1f-8f43-0b7a7e6a9f02',
      locationName: 'Harbour Depot',
      serverId: '4b1f5d3e-9a0c-4c39-8a75-6e5c7d8f9a03',
      serverName: 'Recorder 1',
      cameraId: '7c2a9e4f-1b3d-4e5f-8a6b-9c0d1e2f3a04',
      cameraName: 'Gate 1',
      cameraRemoteId: '4xIx1DMwMLSwMDW2tDBKNNBLTsw1MBASCDilIfJR0W3apqrIovO_tncAAA',
      clipId: null,
      clipUri: null,
      gatewayId: null,
      ...payload,
    },
    ...envelope,
  };
}

/** The `Authorization` header of an endpoint registered as http:// (specification, section 5). */
export function signature(body: string | Buffer, phrase: string): string {
  return `HMAC-SHA256 ${createHmac('sha256', Buffer.from(phrase, 'utf8')).update(body).digest('base64')}`;
}

/** Posts a message, or whatever else is JSON; with a phrase it is signed. */
export async function post(
  url: string,
  message: object | string,
  phrase?: string,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = typeof message === 'string' ? message : JSON.stringify(message);
  const proof: Record<string, string> =
    phrase === undefined ? {} : { Authorization: signature(body, phrase) };
  return fetch(url, {
    method: 'POST',
    body,
    // A connection that was kept may be closed by the other side in the moment in which it is used again.
    headers: { 'Content-Type': 'application/json', Connection: 'close', ...proof, ...headers },
  });
}

/** The status that a signed message is answered with; `cut` = the connection ended without an answer. */
export const answerTo = (
  ...posted: [url: string, message: Message, phrase: string]
): Promise<number | 'cut'> =>
  post(...posted).then(
    ({ status }) => status,
    () => 'cut',
  );

/** Between two posts of a message that had no answer, in milliseconds. */
const AGAIN = 250;

/**
 * Sends a signed message as the service does: again for as long as the connection is cut.
 * @returns what came of each time, the status at last
 */
export async function sendUntilAnswered(...posted: Parameters<typeof answerTo>): Promise<(number | 'cut')[]> {
  const answers = [await answerTo(...posted)];
  while (answers.at(-1) === 'cut') {
    await delay(AGAIN);
    answers.push(await answerTo(...posted));
  }
  return answers;
}
