import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import * as fc from 'fast-check';
import type { Registration, Sent } from '../oracle/message';
import { chance, changesIn, list, mixed, jsonText, nestedText } from './any';

/** Phrases as people choose them, and as they come from a generator (C-27, C-31, C-32). */
const PHRASE = fc.constantFrom(
  'correct horse battery staple',
  ' leading and trailing blanks ',
  'it’s "quoted" \\ and back\\slashed',
  'Zürich 東京 🚨',
  'c2VjcmV0IHBocmFzZSB0aGF0IGlzIGJhc2U2NA==',
  'a phrase that is longer than the sixty-four bytes of a block of the hash function, which counts',
  'tab\there',
);
/** That prove nothing. */
const NO_PHRASE = fc.constantFrom('', '', '   ', 'null', 'undefined', 'ends in NUL\0', '${UNSET}');

/** Of one endpoint: one to three stations, each with its own phrases. */
const REGISTRATIONS = list(
  fc.record({
    scheme: fc.constantFrom('http', 'https'),
    secret: PHRASE,
    previousSecret: fc.oneof(
      PHRASE.map((phrase) => `${phrase}-`),
      NO_PHRASE,
    ),
    acceptBareSignature: chance(20),
  }),
  1,
  3,
).map((stations) =>
  stations.map((station, index): Registration => {
    const { secret, previousSecret: previous } = station;
    const previousSecret = previous.endsWith('-') ? `${previous}${index}` : previous;
    return { ...station, secret: `${secret}${index}`, previousSecret };
  }),
);

/** A phrase that somebody could try: mostly one of a station, or nearly so. */
const TRIED = mixed<(station: Registration) => string>(
  [12, fc.constant(({ secret }) => secret)],
  [4, fc.constant(({ previousSecret }) => previousSecret)],
  [1, NO_PHRASE.map((phrase) => () => phrase)],
  [1, fc.constant(({ secret }) => `${secret} `)],
  [1, fc.constant(({ secret }) => `${secret.slice(0, -1)}7`)],
  [1, fc.constant(({ secret }) => secret.toUpperCase())],
);

const SCHEME = fc.constantFrom('HMAC-SHA256', 'hmac-sha256', 'Hmac-Sha256');
const GAP = fc.constantFrom(' ', '  ', '\t', ' \t ');

/** The `Authorization` lines of a message. */
type Lines = (phrase: string, body: Uint8Array) => string[];
type TextChange = (text: string) => string;

/** Changes of a signature: other alphabets, lengths, letters, and the same bytes in another spelling. */
const RESPELLED = fc.oneof<fc.Arbitrary<TextChange>[]>(
  fc.constant((text) => text.replaceAll('+', '-').replaceAll('/', '_')),
  fc.constant((text) => text.replace('=', '')),
  fc.constant((text) => Buffer.from(text, 'base64').toString('hex')),
  fc.constant((text) => Buffer.from(Buffer.from(text, 'base64').toString('hex')).toString('base64')),
  fc.constant((text) => text.replace(/.=$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}=`)),
  fc.constant((text) => text.toLowerCase()),
  fc.constantFrom('=', 'A', ',', ' A', '\0').map((end) => (text) => text + end),
  fc.nat(43).map((end) => (text) => text.slice(0, end)),
  fc.tuple(fc.nat(43), fc.constantFrom(' ', '\t', '+', '=')).map(([at, put]) => cutIn(at, put, 0)),
  fc.tuple(fc.nat(43), fc.constantFrom(...'ABab01+/='.split(''))).map(([at, put]) => cutIn(at, put, 1)),
);
const RESPELLED_LINE = fc.tuple(SCHEME, RESPELLED).map(([scheme, respell]): Lines => (phrase, body) => [
  `${scheme} ${respell(signature(phrase, body))}`,
]);

/** Ways in which lines can differ from the genuine one (C-02 to C-21, C-32): a few of them are genuine all the same. */
const ODD_LINES = fc.oneof<fc.Arbitrary<Lines>[]>(
  fc.constant(() => []),
  fc.constantFrom('', 'HMAC-SHA256').map((line) => () => [line]),
  fc.constant((phrase, body) => [signature(phrase, body)]),
  fc.constant((phrase, body) => [genuineLine(phrase, body), genuineLine(phrase, body)]),
  fc.constant((phrase, body) => [genuineLine(phrase, body), 'Basic abcabcab']),
  fc.constant((phrase, body) => [`${genuineLine(phrase, body)}, ${genuineLine(phrase, body)}`]),
  fc.constant((phrase, body) => [lineOf(createHash('sha256').update(phrase).update(body))]),
  fc.constant((phrase, body) => [lineOf(createHmac('sha256', Buffer.from(phrase, 'base64')).update(body))]),
  fc.constant((phrase, body) => [genuineLine(phrase, Buffer.concat([body, Buffer.from('\n')]))]),
  fc.constant((phrase, body) => [`HMAC-SHA256\u00a0${signature(phrase, body)}`]),
  fc
    .constantFrom('Basic', 'Bearer', 'HMAC-SHA1', 'HMAC')
    .map((scheme) => (phrase, body) => [`${scheme} ${signature(phrase, body)}`]),
  fc.tuple(GAP, SCHEME, GAP, GAP).map(([a, scheme, b, c]) => (phrase, body) => [
    a + scheme + b + signature(phrase, body) + c,
  ]),
  RESPELLED_LINE,
  RESPELLED_LINE,
  fc
    .constantFrom('sha1', 'sha512', 'md5')
    .map((hash) => (phrase, body) => [lineOf(createHmac(hash, phrase).update(body))]),
  fc.nat().map((end) => (phrase, body) => [genuineLine(phrase, body.subarray(0, end % (body.length + 1)))]),
);

/** The header line of a signed message. */
export function genuineLine(phrase: string, body: Uint8Array): string {
  return `HMAC-SHA256 ${signature(phrase, body)}`;
}

function lineOf(hash: Hash | Hmac): string {
  return `HMAC-SHA256 ${hash.digest('base64')}`;
}

function signature(phrase: string, body: Uint8Array): string {
  return createHmac('sha256', phrase).update(body).digest('base64');
}

function cutIn(at: number, put: string, removed: number): TextChange {
  return (text) => text.slice(0, at) + put + text.slice(at + removed);
}

const NAME = fc.constantFrom(
  ...'Intrusion|Gate 1|Züri/東京 🚨|a"b\\c|=1+1|<b>x</b>|\u202ertl|\x1b[31mred|| '.split('|'),
);
const TIME = fc.constantFrom(
  ...'2026-03-04T05:06:07Z|2026-03-04T05:06:07.1234567|0001-01-01T00:00:00|24:00||2026-13-99'.split('|'),
);
const UUID = fc
  .integer({ min: 10_000_000, max: 99_999_999 })
  .map((number) => `${number}-1a2b-4c3d-8e4f-0123456789ab`);

const PAYLOAD = fc
  .record({
    versionName: fc.constantFrom('version', 'Version'),
    agentUserId: UUID,
    alarmId: UUID,
    eventClass: fc.constantFrom('security', 'health', 'Health', 'x'),
    eventName: NAME,
    eventType: NAME,
    eventStartTime: TIME,
    eventEndTime: fc.oneof(fc.constant(null), TIME),
    locationName: mixed([199, NAME], [1, NAME.map((name) => name.repeat(300))]),
    cameraName: mixed([1, fc.constant(null)], [4, NAME]),
    clipUri: fc.constantFrom('', 'https://host.example/clip', 'http://127.0.0.1/x', 'file:///x'),
  })
  .map(({ versionName, ...fields }) => ({ [versionName]: '1.0.0', ...fields }));

/** The text of a genuine message (specification, section 2), with a token where it is given one. */
const EVENT = fc
  .record({
    payloadType: mixed([9, fc.constant('BlueEvent')], [1, fc.constantFrom('blueevent', 'Other', '')]),
    messageId: UUID,
    transmitTime: TIME,
    logCorrelationId: UUID,
    hasToken: chance(80),
    indent: mixed([9, fc.constant(0)], [1, fc.constant(2)]),
    payload: PAYLOAD,
  })
  .map(({ hasToken, indent, payloadType, payload, ...ids }) => (token: string | null): string => {
    const proof = token === null && !hasToken ? {} : { authenticationToken: token };
    return JSON.stringify({ payloadType, version: '1.0.0', ...ids, ...proof, payload }, undefined, indent);
  });

/** The text of an object with one member more, as its first. */
function withMember(text: string, name: string, value: string): string {
  return text.replace('{', () => `{"${name}":${value},`);
}

/** Bounds of the receiver, from both sides: nesting, and commas with openings. */
const ODD_VALUE = mixed(
  [48, jsonText(3)],
  [1, nestedText(fc.constant('1'), fc.constantFrom(5, 29, 30, 31, 32, 33, 100, 1000))],
  [1, fc.constantFrom(900, 960, 980, 1000, 1010, 3000).map((count) => `[${'1,'.repeat(count)}1]`)],
);
/** A message with a field more: any value, one nested deep, or a long list. */
const ODD_FIELD = fc
  .tuple(
    fc.constantFrom(...'extra payload Payload version messageId MessageId payloadType __proto__'.split(' ')),
    ODD_VALUE,
  )
  .map(
    ([name, value]): TextChange =>
      (text) =>
        withMember(text, name, value),
  );

const TOKEN_NAME = 'authenticationToken';
const OTHER_NAME = 'AuthenticationToken';

/** Other ways to say the token (C-80 to C-84), which stands in the text as this literal. */
const ODD_TOKEN = fc.oneof<fc.Arbitrary<(text: string, token: string) => string>[]>(
  fc.constantFrom(TOKEN_NAME, OTHER_NAME).map((name) => (text, token) => withMember(text, name, token)),
  fc.constant((text) => text.replace(TOKEN_NAME, OTHER_NAME)),
  fc.constant((text, token) => text.replace(`"${TOKEN_NAME}"`, `"payload":{"${TOKEN_NAME}":${token}},"x"`)),
  fc.constant((text, token) => text.replace(token, () => `"${unitsOf(token).map(escapeOf).join('')}"`)),
  fc.nat(TOKEN_NAME.length - 1).map((at) => {
    const name = cutIn(at, escapeOf(TOKEN_NAME.charAt(at)), 1)(TOKEN_NAME);
    return (text) => text.replace(TOKEN_NAME, name);
  }),
  fc
    .constantFrom('[T]', '{"a":T}', 'true', '0', '""')
    .map((form) => (text, token) => text.replace(token, () => form.replace('T', () => token))),
  fc
    .constantFrom('[B]', '{"a":B}', 'T', 'BB', '', 'null')
    .map((form) => (text, token) => form.replaceAll('B', () => text).replace(/^T$/, () => token)),
);

function unitsOf(literal: string): string[] {
  return String(JSON.parse(literal)).split('');
}

function escapeOf(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const MESSAGE = fc
  .tuple(
    EVENT,
    mixed<(text: string, token: string) => string>(
      [8, fc.constant((text) => text)],
      [1, ODD_FIELD],
      [7, ODD_TOKEN],
    ),
  )
  .map(
    ([event, change]) =>
      (token: string | null) =>
        change(event(token), JSON.stringify(token ?? 'x')),
  );

/** A message that was genuine once, and what became of it on the way, with the stations that get it. Some still are genuine. */
export const SENT: fc.Arbitrary<Sent & { registrations: Registration[] }> = fc
  .record({
    registrations: REGISTRATIONS,
    index: fc.nat(),
    tried: TRIED,
    lines: mixed<Lines | undefined>(
      [40, fc.constant(undefined)],
      [36, fc.constant((phrase, body) => [genuineLine(phrase, body)])],
      [24, ODD_LINES],
    ),
    tokenIn: fc.nat(9),
    message: MESSAGE,
    // Before the signature is made: whoever has the phrase signs whatever they will.
    first: changesIn(30, 1, 3),
    second: changesIn(25, 1, 3),
    another: EVENT.map((event) => Buffer.from(event('another'))),
  })
  .map(({ registrations, index, tried, lines, tokenIn, message, first, second, another }) => {
    const station = registrations[index % registrations.length];
    const phrase = station === undefined ? '' : tried(station);
    const token = tokenIn < (lines === undefined ? 9 : 2) ? phrase : null;
    const signed = first(Buffer.from(message(token)), another);
    return { registrations, body: second(signed, another), authorization: lines?.(phrase, signed) ?? [] };
  });

const EVENT_BODY = fc
  .tuple(EVENT, chance(30), mixed<TextChange>([3, fc.constant((written) => written)], [2, ODD_FIELD]))
  .map(([event, hasToken, change]) => change(event(hasToken ? 'phrase' : null)));

/** A body of a message, of any other JSON, or of what was one of them before it was changed. */
export const BODY = fc
  .tuple(mixed([2, jsonText(5)], [3, EVENT_BODY]), changesIn(50, 1, 3))
  .map(([written, change]) => change(Buffer.from(written)));
