import type { Random } from '../random';
import { jsonText, nestedText } from './json-text';

const NAMES = [
  'Intrusion',
  'Gate 1',
  'Züri/東京 🚨',
  'a"b\\c',
  '=1+1',
  '<b>x</b>',
  '\u202ertl',
  '\x1b[31mred',
  '',
  ' ',
];
const TIMES = [
  '2026-03-04T05:06:07Z',
  '2026-03-04T05:06:07.1234567',
  '0001-01-01T00:00:00',
  '24:00',
  '',
  '2026-13-99',
];
/** Bounds of the receiver, from both sides: nesting, and commas with openings. */
const DEPTHS = [5, 29, 30, 31, 32, 33, 100, 1000];
const LENGTHS = [900, 960, 980, 1000, 1010, 3000];

/** The text of a genuine message (specification, section 2), with a token where there is one. */
export function eventText(random: Random, token: string | null): string {
  const payload = {
    [random.chance(0.5) ? 'version' : 'Version']: '1.0.0',
    agentUserId: uuid(random),
    alarmId: uuid(random),
    eventClass: random.pick(['security', 'health', 'Health', 'x']),
    eventName: random.pick(NAMES),
    eventType: random.pick(NAMES),
    eventStartTime: random.pick(TIMES),
    eventEndTime: random.chance(0.5) ? null : random.pick(TIMES),
    locationName: random.pick(NAMES).repeat(random.chance(0.005) ? 300 : 1),
    cameraName: random.chance(0.2) ? null : random.pick(NAMES),
    clipUri: random.pick(['', 'https://host.example/clip', 'http://127.0.0.1/x', 'file:///x']),
  };
  const envelope = {
    payloadType: random.chance(0.9) ? 'BlueEvent' : random.pick(['blueevent', 'Other', '']),
    version: '1.0.0',
    messageId: uuid(random),
    transmitTime: random.pick(TIMES),
    logCorrelationId: uuid(random),
    ...(token === null && random.chance(0.2) ? {} : { authenticationToken: token }),
    payload,
  };
  return random.chance(0.9) ? JSON.stringify(envelope) : JSON.stringify(envelope, undefined, 2);
}

/** The text of an object with one member more, as its first. */
export function withMember(text: string, name: string, value: string): string {
  return text.replace('{', () => `{"${name}":${value},`);
}

/** A message with a field more: any value, one nested deep, or a long list. */
export function withOddField(random: Random, text: string): string {
  const name = random.pick([
    'extra',
    'payload',
    'Payload',
    'version',
    'messageId',
    'MessageId',
    'payloadType',
    '__proto__',
  ]);
  return withMember(text, name, oddValue(random));
}

function oddValue(random: Random): string {
  const kind = random.below(50);
  if (kind === 0) return nestedText(random, '1', random.pick(DEPTHS));
  if (kind === 1) return `[${'1,'.repeat(random.pick(LENGTHS))}1]`;
  return jsonText(random, 3);
}

function uuid(random: Random): string {
  return `${10_000_000 + random.below(90_000_000)}-1a2b-4c3d-8e4f-0123456789ab`;
}
