import { readEnvelope, type EnvelopeReading, warningsOf } from '../../../lib/message/envelope';
import { messageOf, type EventMessage } from '../../../lib/message/event-message';
import { readJson } from '../../../lib/message/body';
import type { ProvenMessage } from '../../../lib/message/record';
import { BODY } from '../inputs/webhook';
import { usabilityOf, type Usability } from '../oracle/message';
import { targetOf, type Complaint, type Target } from '../runner';

interface Answer {
  envelope: EnvelopeReading;
  msg: EventMessage | undefined;
}

const RECEIVED = new Date('2026-03-04T05:06:08Z');
const LONGEST_LINE = 160;
const UNCLEAN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** An id with half of a surrogate pair; two byte-order marks. */
const EXAMPLES = [
  '{"payloadType":"x","messageId":"\\ud800"}',
  '\uFEFF\uFEFF{"payloadType":"x","messageId":"a"}',
].map((text) => Buffer.from(text));

/** Authentic bodies, as far as the message that leaves for a flow. */
export function envelopeTarget(): Target {
  return targetOf<Buffer, Answer>({
    name: 'envelope',
    share: 100_000,
    inputs: BODY,
    examples: EXAMPLES,
    act: answerTo,
    judge: (body, answer) => complaintAbout(usabilityOf(body), answer) ?? complaintAboutLine(answer.msg),
    shown: (body) => body,
  });
}

function answerTo(body: Buffer): Answer {
  const json = readJson(body);
  const envelope = readEnvelope(json);
  return { envelope, msg: envelope.usable ? messageFrom(envelope, json, body) : undefined };
}

function messageFrom(
  { envelope, event }: Extract<EnvelopeReading, { usable: true }>,
  json: ReturnType<typeof readJson>,
  body: Buffer,
): EventMessage {
  const seen = {
    json,
    envelope,
    event,
    agentUserId: 'an-agent-user',
    oddScheme: false,
    clockUnconfirmed: false,
    received: RECEIVED,
  };
  const message: ProvenMessage = {
    kind: 'event',
    proof: 'hmac',
    secret: 'current',
    endpointId: 'endpoint',
    stationKey: 'station',
    stationName: 'Station',
    sandbox: true,
    fingerprint: '',
    receivedTime: RECEIVED.toISOString(),
    warnings: warningsOf(seen),
    body,
    envelope,
    event,
  };
  const outgoing = { message, deliveryId: null, sequence: null, attempt: 1, first: true, ended: false };
  return messageOf(outgoing, RECEIVED).msg;
}

function complaintAbout(expected: Usability, { envelope, msg }: Answer): Complaint | undefined {
  if (expected.usable === undefined) return undefined;
  if (!expected.usable)
    return envelope.usable ? { fault: 'accepted', reason: 'the oracle finds it unusable' } : undefined;
  if (!envelope.usable) return { fault: 'rejected', reason: envelope.reason };
  const isSame = msg?.webhook.messageId === expected.messageId && envelope.isAlarm === expected.isAlarm;
  return isSame ? undefined : { fault: 'wrong', reason: 'another id or kind than the oracle reads' };
}

/** `msg.webhook.text` is one clean line. */
function complaintAboutLine(msg: EventMessage | undefined): Complaint | undefined {
  if (msg === undefined) return undefined;
  const { text } = msg.webhook;
  const isClean = text.length <= LONGEST_LINE && !UNCLEAN.test(text);
  return isClean ? undefined : { fault: 'wrong', reason: `no clean line: ${JSON.stringify(text)}` };
}
