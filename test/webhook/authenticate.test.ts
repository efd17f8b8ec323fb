import assert from 'node:assert/strict';
import { createHmac, hash } from 'node:crypto';
import * as fc from 'fast-check';
import { jsonOf } from '../../lib/message/body';
import { authenticate, type ProofResult } from '../../lib/webhook/proof/authenticate';
import { isUsablePhrase, type ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { authorizationFor, envelope, PHRASE, signatureOf, station } from './sample';
import { runsOf } from '../support/suite/lanes';

function authenticateBody(
  body: string | Uint8Array,
  authorization: string | undefined,
  stations: ReceivingStation | ReceivingStation[] = station(),
): ProofResult {
  const bytes = Buffer.from(body);
  const lines = authorization === undefined ? [] : [authorization];
  return authenticate({ body: bytes, authorization: lines, json: jsonOf(bytes) }, [stations].flat());
}

const isProven = (...sent: Parameters<typeof authenticateBody>): boolean => authenticateBody(...sent).proven;

const asHeader = (value: string): string => `HMAC-SHA256 ${value}`;

const BODY = JSON.stringify(envelope());
const RIGHT = signatureOf(BODY);

describe('signature of a message', () => {
  const accepted: [string, string][] = [
    ['C-01 the right header over compact JSON', asHeader(RIGHT)],
    ['C-06 the scheme in lower case', `hmac-sha256 ${RIGHT}`],
    ['C-08 several spaces after the scheme', `HMAC-SHA256    ${RIGHT}`],
    ['C-08 a tab after the scheme', `HMAC-SHA256\t${RIGHT}`],
    ['C-08 spaces around the value', `  HMAC-SHA256 ${RIGHT} \t`],
  ];
  for (const [title, header] of accepted)
    it(`${title} is accepted`, () => assert.equal(isProven(BODY, header), true));

  const noSignature: [string, string | undefined][] = [
    ['C-02 no header', undefined],
    ['C-03 an empty header', ''],
    ['C-03 the scheme word alone', 'HMAC-SHA256'],
    ['C-03 the scheme word and a space', 'HMAC-SHA256 '],
    ['C-04 Basic', `Basic ${RIGHT}`],
    ['C-04 Bearer', `Bearer ${RIGHT}`],
  ];
  const hexadecimal = Buffer.from(RIGHT, 'base64').toString('hex');
  const badSignature: [string, string][] = [
    ['C-05 the bare Base-64 text', RIGHT],
    ['C-09 a space inside the Base-64 text', asHeader(`${RIGHT.slice(0, 20)} ${RIGHT.slice(20)}`)],
    ['C-11 a missing equals sign', asHeader(RIGHT.slice(0, -1))],
    ['C-12 junk after the equals sign', asHeader(`${RIGHT}AAAA`)],
    ['C-13 the unused bits of the last character changed', asHeader(otherSpelling(RIGHT))],
    ['C-14 hexadecimal', asHeader(hexadecimal)],
    ['C-14 Base-64 of the hexadecimal', asHeader(Buffer.from(hexadecimal).toString('base64'))],
    ...[43, 20, 1].map((length): [string, string] => [
      `C-15 cut to ${length} characters`,
      asHeader(RIGHT.slice(0, length)),
    ]),
    ['C-16 the right value twice', `${asHeader(RIGHT)}, ${asHeader(RIGHT)}`],
    ['C-16 the right value twice without a space', asHeader(`${RIGHT},${RIGHT}`)],
    ...['sha1', 'sha512', 'md5'].map((algorithm): [string, string] => [
      `C-19 an HMAC of ${algorithm}`,
      asHeader(createHmac(algorithm, PHRASE).update(BODY).digest('base64')),
    ]),
    ['C-19 a plain hash of phrase and body', asHeader(hash('sha256', PHRASE + BODY, 'base64'))],
  ];
  for (const [reason, cases] of [
    ['no-signature', noSignature],
    ['bad-signature', badSignature],
  ] as const)
    for (const [title, header] of cases)
      it(`${title} is refused as ${reason}`, () => {
        const authentication = authenticateBody(BODY, header);
        assert.equal(authentication.proven || authentication.reason, reason);
      });

  it('C-05 the bare Base-64 text is accepted where the station allows it', () => {
    assert.equal(isProven(BODY, RIGHT, station({ acceptBareSignature: true })), true);
  });

  it('C-10 the url-safe alphabet is refused', () => {
    const urlSafe = findBody((signature) => /[+/]/.test(signature));
    const signature = signatureOf(urlSafe).replace(/\+/g, '-').replace(/\//g, '_');
    assert.equal(isProven(urlSafe, `HMAC-SHA256 ${signature}`), false);
    assert.equal(isProven(urlSafe, authorizationFor(urlSafe)), true);
  });

  const [spaced, anew] = ['{"a": 1,  "b":2}', '{"a":1,"b":2}'];
  const [marked, twice, thrice] = [1, 2, 3].map((marks) => '\uFEFF'.repeat(marks) + BODY);
  for (const [title, body, signed, isAccepted] of [
    ['C-20 a signature over the JSON written anew', spaced, anew, false],
    ['C-20 a signature over the JSON as it was sent', spaced, spaced, true],
    ['C-21 a final line feed that was signed and is not sent', BODY, `${BODY}\n`, false],
    ['C-21 a final line feed that was not signed', `${BODY}\n`, BODY, false],
    ['C-21 a final line feed that was signed', `${BODY}\n`, `${BODY}\n`, true],
    ['C-22 C-23 a byte-order mark that was signed', marked, marked, true],
    ['C-22 C-23 a byte-order mark that was not signed', marked, BODY, true],
    ['C-22 C-23 a byte-order mark that was signed and is not sent', BODY, marked, false],
    ['C-22 C-23 two byte-order marks that were signed', twice, twice, true],
    ['C-22 C-23 two byte-order marks of which one was signed', twice, marked, true],
    ['C-22 C-23 two byte-order marks of which none was signed', twice, BODY, true],
    ['C-22 C-23 three byte-order marks of which none was signed', thrice, BODY, false],
  ] as const)
    it(`${title} is ${isAccepted ? 'accepted' : 'refused'}`, () =>
      assert.equal(isProven(body ?? '', authorizationFor(signed ?? '')), isAccepted));

  const phrases = ['three  spaced words', 'the guard’s phrase', 'key 🔑 ring', 'x'.repeat(256), 'a\'b"c\\d'];
  for (const phrase of phrases)
    it(`C-27 the phrase ${JSON.stringify(phrase.slice(0, 20))} is used as typed`, () => {
      assert.equal(isProven(BODY, authorizationFor(BODY, phrase), station({ secret: phrase })), true);
      assert.equal(isProven(BODY, authorizationFor(BODY, phrase), station({ secret: `${phrase} ` })), false);
    });

  it('C-28 C-29 a phrase of other composition, or with a line feed, is another phrase', () => {
    const phrase = 'café terrace';
    const header = authorizationFor(BODY, phrase.normalize('NFC'));
    assert.equal(isProven(BODY, header, station({ secret: phrase.normalize('NFD') })), false);
    assert.equal(isProven(BODY, header, station({ secret: `${phrase.normalize('NFC')}\n` })), false);
  });

  it('C-30 a phrase with NUL proves nothing, although HMAC takes it for the phrase without', () => {
    assert.equal(signatureOf(BODY, `${PHRASE}\0`), RIGHT);
    for (const secret of [`${PHRASE}\0`, `\0${PHRASE}`, '\0']) {
      assert.equal(isProven(BODY, `HMAC-SHA256 ${RIGHT}`, station({ secret })), false);
      assert.equal(isUsablePhrase(secret), false);
    }
  });

  it('half of a surrogate pair proves nothing, although as bytes it is the sign for what is unreadable', () => {
    const [half, sign] = ['p\ud800x', 'p\ufffdx'];
    const https = (secret: string): ReceivingStation => station({ scheme: 'https', secret });
    const proven = (token: string, secret: string): boolean =>
      isProven(`{"authenticationToken":${JSON.stringify(token)}}`, undefined, https(secret));
    assert.deepEqual([proven(sign, sign), proven(half, sign)], [true, false]);
    assert.deepEqual([proven(sign, half), proven(half, half)], [false, false]);
    assert.equal(isProven(BODY, authorizationFor(BODY, sign), station({ secret: half })), false);
    assert.equal(isUsablePhrase(half), false);
  });

  it('C-31 a phrase above 64 bytes equals its own SHA-256, by the design of HMAC', () => {
    const phrase = 'y'.repeat(100);
    const hashed = hash('sha256', phrase, 'buffer');
    const header = `HMAC-SHA256 ${createHmac('sha256', hashed).update(BODY).digest('base64')}`;
    assert.equal(isProven(BODY, header, station({ secret: phrase })), true);
  });

  it('C-32 a phrase that looks like Base-64 is a text all the same', () => {
    const phrase = Buffer.from('sixteen byte key').toString('base64');
    const decoded = createHmac('sha256', Buffer.from(phrase, 'base64')).update(BODY).digest('base64');
    assert.equal(isProven(BODY, authorizationFor(BODY, phrase), station({ secret: phrase })), true);
    assert.equal(isProven(BODY, `HMAC-SHA256 ${decoded}`, station({ secret: phrase })), false);
  });

  it('C-35 one byte flipped anywhere is refused', () => {
    const bytes = Buffer.from(BODY);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ flip;
        assert.equal(isProven(changed, authorizationFor(BODY)), false);
      }),
      { numRuns: runsOf(500) },
    );
  });
});

/** The same signature bytes in the spelling whose unused last bits are set. */
function otherSpelling(signature: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
  const last = signature.charAt(42);
  const changed = signature.slice(0, 42) + alphabet.charAt(alphabet.indexOf(last) | 1) + '=';
  assert.deepEqual(Buffer.from(changed, 'base64'), Buffer.from(signature, 'base64'));
  return changed;
}

function findBody(wanted: (signature: string) => boolean): string {
  for (let salt = 0; salt < 1000; salt++) {
    const body = JSON.stringify({ salt });
    if (wanted(signatureOf(body))) return body;
  }
  throw new Error('no body with such a signature');
}
