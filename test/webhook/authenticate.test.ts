import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import * as fc from 'fast-check';
import { jsonOf } from '../../lib/message/body';
import { authenticate, type ProofResult } from '../../lib/webhook/proof/authenticate';
import { isUsablePhrase, type ReceivingStation } from '../../lib/webhook/proof/receiving-station';
import { authorizationFor, envelope, PHRASE, signatureOf, station } from './sample';
import { runsOf } from '../support/suite/lanes';

function authenticateBody(
  body: string | Uint8Array,
  authorization: string | string[] | undefined,
  stations: ReceivingStation | ReceivingStation[] = station(),
): ProofResult {
  const bytes = Buffer.from(body);
  const lines = authorization === undefined ? [] : [authorization].flat();
  return authenticate({ body: bytes, authorization: lines, json: jsonOf(bytes) }, [stations].flat());
}

const BODY = JSON.stringify(envelope());
const RIGHT = signatureOf(BODY);
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

describe('signature of a message', () => {
  const accepted: [string, string][] = [
    ['C-01 the right header over compact JSON', `HMAC-SHA256 ${RIGHT}`],
    ['C-06 the scheme in lower case', `hmac-sha256 ${RIGHT}`],
    ['C-08 several spaces after the scheme', `HMAC-SHA256    ${RIGHT}`],
    ['C-08 a tab after the scheme', `HMAC-SHA256\t${RIGHT}`],
    ['C-08 spaces around the value', `  HMAC-SHA256 ${RIGHT} \t`],
  ];
  for (const [title, header] of accepted) {
    it(`${title} is accepted`, () => assert.equal(authenticateBody(BODY, header).proven, true));
  }

  const urlSafe = findBody((signature) => /[+/]/.test(signature));
  const refused: [string, string | string[] | undefined, string][] = [
    ['C-02 no header', undefined, 'no-signature'],
    ['C-03 an empty header', '', 'no-signature'],
    ['C-03 the scheme word alone', 'HMAC-SHA256', 'no-signature'],
    ['C-03 the scheme word and a space', 'HMAC-SHA256 ', 'no-signature'],
    ['C-04 Basic', `Basic ${RIGHT}`, 'no-signature'],
    ['C-04 Bearer', `Bearer ${RIGHT}`, 'no-signature'],
    ['C-05 the bare Base-64 text', RIGHT, 'bad-signature'],
    [
      'C-09 a space inside the Base-64 text',
      `HMAC-SHA256 ${RIGHT.slice(0, 20)} ${RIGHT.slice(20)}`,
      'bad-signature',
    ],
    ['C-11 a missing equals sign', `HMAC-SHA256 ${RIGHT.slice(0, -1)}`, 'bad-signature'],
    ['C-12 junk after the equals sign', `HMAC-SHA256 ${RIGHT}AAAA`, 'bad-signature'],
    [
      'C-13 the unused bits of the last character changed',
      `HMAC-SHA256 ${otherSpelling(RIGHT)}`,
      'bad-signature',
    ],
    ['C-14 hexadecimal', `HMAC-SHA256 ${Buffer.from(RIGHT, 'base64').toString('hex')}`, 'bad-signature'],
    [
      'C-14 Base-64 of the hexadecimal',
      `HMAC-SHA256 ${Buffer.from(Buffer.from(RIGHT, 'base64').toString('hex')).toString('base64')}`,
      'bad-signature',
    ],
    ['C-15 cut to 43 characters', `HMAC-SHA256 ${RIGHT.slice(0, 43)}`, 'bad-signature'],
    ['C-15 cut to 20 characters', `HMAC-SHA256 ${RIGHT.slice(0, 20)}`, 'bad-signature'],
    ['C-15 cut to 1 character', `HMAC-SHA256 ${RIGHT.slice(0, 1)}`, 'bad-signature'],
    ['C-16 the right value twice', `HMAC-SHA256 ${RIGHT}, HMAC-SHA256 ${RIGHT}`, 'bad-signature'],
    ['C-16 the right value twice without a space', `HMAC-SHA256 ${RIGHT},${RIGHT}`, 'bad-signature'],
    ['C-17 two headers, the first right', [`HMAC-SHA256 ${RIGHT}`, 'HMAC-SHA256 x'], 'bad-signature'],
    ['C-17 two headers, the second right', ['HMAC-SHA256 x', `HMAC-SHA256 ${RIGHT}`], 'bad-signature'],
    ['C-17 two right headers', [`HMAC-SHA256 ${RIGHT}`, `HMAC-SHA256 ${RIGHT}`], 'bad-signature'],
    [
      'C-19 SHA-1',
      `HMAC-SHA256 ${createHmac('sha1', PHRASE).update(BODY).digest('base64')}`,
      'bad-signature',
    ],
    [
      'C-19 SHA-512',
      `HMAC-SHA256 ${createHmac('sha512', PHRASE).update(BODY).digest('base64')}`,
      'bad-signature',
    ],
    ['C-19 MD5', `HMAC-SHA256 ${createHmac('md5', PHRASE).update(BODY).digest('base64')}`, 'bad-signature'],
    [
      'C-19 a plain hash of phrase and body',
      `HMAC-SHA256 ${createHash('sha256')
        .update(PHRASE + BODY)
        .digest('base64')}`,
      'bad-signature',
    ],
    ['C-36 the signature of another station', authorizationFor(BODY, 'another phrase'), 'bad-signature'],
  ];
  for (const [title, header, reason] of refused) {
    it(`${title} is refused`, () => {
      const authentication = authenticateBody(BODY, header);
      assert.equal(authentication.proven, false);
      assert.equal(!authentication.proven && authentication.reason, reason);
    });
  }

  it('C-05 the bare Base-64 text is accepted where the station allows it', () => {
    assert.equal(authenticateBody(BODY, RIGHT, station({ acceptBareSignature: true })).proven, true);
  });

  it('C-10 the url-safe alphabet is refused', () => {
    const signature = signatureOf(urlSafe).replace(/\+/g, '-').replace(/\//g, '_');
    assert.equal(authenticateBody(urlSafe, `HMAC-SHA256 ${signature}`).proven, false);
    assert.equal(authenticateBody(urlSafe, authorizationFor(urlSafe)).proven, true);
  });

  it('C-20 a signature over the JSON written anew is refused', () => {
    const spaced = '{"a": 1,  "b":2}';
    assert.equal(
      authenticateBody(spaced, authorizationFor(JSON.stringify(JSON.parse(spaced)))).proven,
      false,
    );
    assert.equal(authenticateBody(spaced, authorizationFor(spaced)).proven, true);
  });

  it('C-21 a final line feed counts', () => {
    assert.equal(authenticateBody(BODY, authorizationFor(`${BODY}\n`)).proven, false);
    assert.equal(authenticateBody(`${BODY}\n`, authorizationFor(BODY)).proven, false);
    assert.equal(authenticateBody(`${BODY}\n`, authorizationFor(`${BODY}\n`)).proven, true);
  });

  it('C-22 C-23 a byte-order mark may be signed or not', () => {
    const marked = Buffer.concat([BOM, Buffer.from(BODY)]);
    assert.equal(authenticateBody(marked, authorizationFor(marked)).proven, true);
    assert.equal(authenticateBody(marked, authorizationFor(BODY)).proven, true);
    assert.equal(authenticateBody(BODY, authorizationFor(marked)).proven, false);
  });

  it('C-22 C-23 the second of two byte-order marks, or both, may be signed or not', () => {
    const marked = Buffer.concat([BOM, Buffer.from(BODY)]);
    const twice = Buffer.concat([BOM, marked]);
    for (const signed of [twice, marked, BODY])
      assert.equal(authenticateBody(twice, authorizationFor(signed)).proven, true);
    const thrice = Buffer.concat([BOM, twice]);
    assert.equal(authenticateBody(thrice, authorizationFor(BODY)).proven, false);
  });

  for (const phrase of [
    'three  spaced words',
    'the guard’s phrase',
    'key 🔑 ring',
    'x'.repeat(256),
    'a\'b"c\\d',
  ]) {
    it(`C-27 the phrase ${JSON.stringify(phrase.slice(0, 20))} is used as typed`, () => {
      assert.equal(
        authenticateBody(BODY, authorizationFor(BODY, phrase), station({ secret: phrase })).proven,
        true,
      );
      assert.equal(
        authenticateBody(BODY, authorizationFor(BODY, phrase), station({ secret: `${phrase} ` })).proven,
        false,
      );
    });
  }

  it('C-28 C-29 a phrase of other composition, or with a line feed, is another phrase', () => {
    const phrase = 'café terrace';
    const header = authorizationFor(BODY, phrase.normalize('NFC'));
    assert.equal(authenticateBody(BODY, header, station({ secret: phrase.normalize('NFD') })).proven, false);
    assert.equal(
      authenticateBody(BODY, header, station({ secret: `${phrase.normalize('NFC')}\n` })).proven,
      false,
    );
  });

  it('C-30 a phrase with NUL proves nothing, although HMAC takes it for the phrase without', () => {
    assert.equal(signatureOf(BODY, `${PHRASE}\0`), RIGHT);
    for (const secret of [`${PHRASE}\0`, `\0${PHRASE}`, '\0']) {
      assert.equal(authenticateBody(BODY, `HMAC-SHA256 ${RIGHT}`, station({ secret })).proven, false);
      assert.equal(isUsablePhrase(secret), false);
    }
  });

  it('half of a surrogate pair proves nothing, although as bytes it is the sign for what is unreadable', () => {
    const [half, sign] = ['p\ud800x', 'p\ufffdx'];
    const https = (secret: string): ReceivingStation => station({ scheme: 'https', secret });
    const proven = (token: string, secret: string): boolean =>
      authenticateBody(`{"authenticationToken":${JSON.stringify(token)}}`, undefined, https(secret)).proven;
    assert.deepEqual([proven(sign, sign), proven(half, sign)], [true, false]);
    assert.deepEqual([proven(sign, half), proven(half, half)], [false, false]);
    assert.equal(
      authenticateBody(BODY, authorizationFor(BODY, sign), station({ secret: half })).proven,
      false,
    );
    assert.equal(isUsablePhrase(half), false);
  });

  it('C-31 a phrase above 64 bytes equals its own SHA-256, by the design of HMAC', () => {
    const phrase = 'y'.repeat(100);
    const hashed = createHash('sha256').update(phrase).digest();
    const header = `HMAC-SHA256 ${createHmac('sha256', hashed).update(BODY).digest('base64')}`;
    assert.equal(authenticateBody(BODY, header, station({ secret: phrase })).proven, true);
  });

  it('C-32 a phrase that looks like Base-64 is a text all the same', () => {
    const phrase = Buffer.from('sixteen byte key').toString('base64');
    const decoded = createHmac('sha256', Buffer.from(phrase, 'base64')).update(BODY).digest('base64');
    assert.equal(
      authenticateBody(BODY, authorizationFor(BODY, phrase), station({ secret: phrase })).proven,
      true,
    );
    assert.equal(authenticateBody(BODY, `HMAC-SHA256 ${decoded}`, station({ secret: phrase })).proven, false);
  });

  it('C-35 one byte flipped anywhere is refused', () => {
    const bytes = Buffer.from(BODY);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const changed = Buffer.from(bytes);
        changed[at] = (changed[at] ?? 0) ^ flip;
        assert.equal(authenticateBody(changed, authorizationFor(BODY)).proven, false);
      }),
      { numRuns: runsOf(500) },
    );
  });

  it('any header text is refused without an exception', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 3 }), (lines) => {
        assert.equal(authenticateBody(BODY, lines).proven, false);
      }),
    );
  });

  it('C-92 the previous phrase is accepted, and said so', () => {
    const both = station({ secret: 'the new phrase', previousSecret: PHRASE });
    const authentication = authenticateBody(BODY, authorizationFor(BODY), both);
    assert.equal(authentication.proven && authentication.secret, 'previous');
    const current = authenticateBody(BODY, authorizationFor(BODY, 'the new phrase'), both);
    assert.equal(current.proven && current.secret, 'current');
  });

  it('C-93 the previous phrase is refused once it was emptied', () => {
    assert.equal(
      authenticateBody(BODY, authorizationFor(BODY), station({ secret: 'the new phrase' })).proven,
      false,
    );
  });

  it('C-95 of several stations the one that matches is found', () => {
    const stations = ['one', 'two', 'three'].map((key) => station({ key, secret: `phrase of ${key}` }));
    const authentication = authenticateBody(BODY, authorizationFor(BODY, 'phrase of two'), stations);
    assert.equal(authentication.proven && authentication.station.key, 'two');
  });

  it('C-26 an empty phrase proves nothing', () => {
    for (const secret of ['', '   ', '${RVM_SECRET}']) {
      const header = authorizationFor(BODY, secret);
      assert.equal(authenticateBody(BODY, header, station({ secret })).proven, false);
    }
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
