import { createHash, createHmac } from 'node:crypto';
import type { Random } from '../random';

const SCHEMES = ['HMAC-SHA256', 'hmac-sha256', 'Hmac-Sha256'];
const GAPS = [' ', '  ', '\t', ' \t '];
const HASHES = ['sha1', 'sha512', 'md5'];

/** The header line of a signed message. */
export function authorizationOf(phrase: string, body: Uint8Array): string {
  return `HMAC-SHA256 ${signature(phrase, body)}`;
}

type Lines = (random: Random, phrase: string, body: Uint8Array) => string[];

/** Ways in which lines can differ from the genuine one (C-02 to C-21, C-32): a few of them are genuine all the same. */
const TRICKS: readonly Lines[] = [
  () => [],
  () => [''],
  () => ['HMAC-SHA256'],
  (random, phrase, body) => [
    `${random.pick(['Basic', 'Bearer', 'HMAC-SHA1', 'HMAC'])} ${signature(phrase, body)}`,
  ],
  (_, phrase, body) => [signature(phrase, body)],
  (random, phrase, body) => [
    `${random.pick(GAPS)}${random.pick(SCHEMES)}${random.pick(GAPS)}${signature(phrase, body)}${random.pick(GAPS)}`,
  ],
  (random, phrase, body) => [`${random.pick(SCHEMES)} ${changed(random, signature(phrase, body))}`],
  (random, phrase, body) => [`${random.pick(SCHEMES)} ${changed(random, signature(phrase, body))}`],
  (_, phrase, body) => [authorizationOf(phrase, body), authorizationOf(phrase, body)],
  (random, phrase, body) => [authorizationOf(phrase, body), `Basic ${random.text('abc', 8)}`],
  (_, phrase, body) => [`${authorizationOf(phrase, body)}, ${authorizationOf(phrase, body)}`],
  (random, phrase, body) => [
    `HMAC-SHA256 ${createHmac(random.pick(HASHES), phrase).update(body).digest('base64')}`,
  ],
  (_, phrase, body) => [`HMAC-SHA256 ${createHash('sha256').update(phrase).update(body).digest('base64')}`],
  (_, phrase, body) => [
    `HMAC-SHA256 ${createHmac('sha256', Buffer.from(phrase, 'base64')).update(body).digest('base64')}`,
  ],
  (_, phrase, body) => [`HMAC-SHA256 ${signature(phrase, Buffer.concat([body, Buffer.from('\n')]))}`],
  (random, phrase, body) => [
    `HMAC-SHA256 ${signature(phrase, body.subarray(0, random.below(body.length + 1)))}`,
  ],
  (_, phrase, body) => [`HMAC-SHA256\u00a0${signature(phrase, body)}`],
];

/** Of a signature: other alphabets, lengths, letters, and the same bytes in another spelling. */
const CHANGES: readonly ((random: Random, text: string) => string)[] = [
  (_, text) => text.replaceAll('+', '-').replaceAll('/', '_'),
  (_, text) => text.replace('=', ''),
  (random, text) => text + random.pick(['=', 'A', ',', ' A', '\0']),
  (_, text) => Buffer.from(text, 'base64').toString('hex'),
  (_, text) => Buffer.from(Buffer.from(text, 'base64').toString('hex')).toString('base64'),
  (random, text) => text.slice(0, random.below(text.length)),
  (random, text) => {
    const at = random.below(text.length + 1);
    return `${text.slice(0, at)}${random.pick([' ', '\t', '+', '='])}${text.slice(at)}`;
  },
  (random, text) => {
    const at = random.below(text.length);
    return text.slice(0, at) + random.text('ABab01+/=', 1) + text.slice(at + 1);
  },
  (_, text) => text.replace(/.=$/, (end) => `${String.fromCharCode(end.charCodeAt(0) + 1)}=`),
  (_, text) => text.toLowerCase(),
];

export function oddAuthorization(random: Random, phrase: string, body: Uint8Array): string[] {
  return random.pick(TRICKS)(random, phrase, body);
}

function changed(random: Random, text: string): string {
  return random.pick(CHANGES)(random, text);
}

function signature(phrase: string, body: Uint8Array): string {
  return createHmac('sha256', phrase).update(body).digest('base64');
}
