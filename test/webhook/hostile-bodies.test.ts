import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { isObjectText, jsonOf, readJson, unverifiedToken } from '../../lib/message/body';
import { authenticate, readAuthorization } from '../../lib/webhook/proof/authenticate';
import { LARGE_BODY, unverifiedTexts } from '../../lib/webhook/prover';
import { assertCost } from '../support/time/event-loop';
import { station } from './sample';

/** Times of the hash of a body that a refusal may take, the hash not counted: a millisecond where that takes a twentieth. */
const MOST = 60;
/** So many in one measurement, for one is too short for the clock. */
const RUNS = 20;

const inEscapes = (text: string): string =>
  text.replace(/./g, (letter) => `\\u00${letter.charCodeAt(0).toString(16)}`);

/** How each shape begins, and what comes again and again; or the piece of each number. */
const SHAPES: Record<string, [start: string, piece: string | ((n: number) => string)]> = {
  'keys that some releases of Node.js hash alike': ['{', (n) => `"${n * 16_384}":0,`],
  'keys that are numbers': ['{', (n) => `"${n}":0,`],
  'short keys': ['{', '"a":1,'],
  'short keys, all different': ['{', (n) => `"${n.toString(36)}":1,`],
  'keys in escapes': ['{', '"\\u0061":1,'],
  'keys with broken escapes': ['{', '"\\q":1,'],
  'keys of a raw tab': ['{', '"\t":1,'],
  'keys of escapes and raw tabs': ['{', '"\\n\t":'],
  'keys without values': ['{', '"a":'],
  'empty keys': ['{', '"":0,'],
  'forbidden keys': ['{', '"__proto__":{},'],
  'token fields': ['{', '"authenticationToken":1,'],
  'token fields of texts': ['{', '"authenticationToken":"x",'],
  'token fields in escapes': ['{', '"\\u0061uthenticationToken":1,'],
  'names that are nearly that of the token': ['{', '"authenticationTokem":1,'],
  'names that are nearly that of the token, in escapes': ['{', `"${inEscapes('authenticationTokem')}":1,`],
  'one long token': ['{"authenticationToken":"', 'x'],
  'one long token of escapes': ['{"authenticationToken":"', '\\u0041'],
  'a nested token': ['{"authenticationToken":[', '[],'],
  'texts in a list': ['[', '"a",'],
  'lists in lists': ['', '['],
  'objects in objects': ['', '{"a":'],
  'closing brackets': ['', ']'],
  quotes: ['', '"'],
  backslashes: ['"', '\\'],
  blanks: ['', ' '],
  'line feeds': ['', '\n'],
  'blanks before a colon': ['{', '"a"          '],
  'numbers out of range': ['[', '1e400,'],
  'digits of one number': ['[', '9'],
  'letters of two bytes': ['"', 'é'],
  'bytes that are no UTF-8': ['"', '\xff'],
};

function bodyOf(shape: string): Buffer {
  const [start, piece] = SHAPES[shape] ?? assert.fail(shape);
  let text = start;
  for (let n = 0; text.length < LARGE_BODY; n += 1) text += typeof piece === 'string' ? piece : piece(n);
  return Buffer.from(text, shape.includes('no UTF-8') ? 'latin1' : 'utf8').subarray(0, LARGE_BODY);
}

const hash = (body: Buffer) => (): unknown => createHmac('sha256', 'key').update(body).digest();

/** Bytes of the headers of a request that Node.js takes, and of the longest body. */
const [LONGEST_HEADERS, LONGEST_BODY] = [16 * 1024, 1024 * 1024];

/** An event of 1 MiB whose last field is made long by one piece. */
function longest(start: string, piece: string, end: string): Buffer {
  const head = `{"payloadType":"BlueEvent","messageId":"one","payload":{"alarmId":"some","more":${start}`;
  const tail = `${end}}}`;
  return Buffer.from(`${head}${piece.repeat(LONGEST_BODY - head.length - tail.length)}${tail}`);
}

const https = [station({ scheme: 'https' })];

describe('what nothing proves costs no more than others of its length:', () => {
  for (const shape of Object.keys(SHAPES))
    it(`a body of 64 KiB of ${shape}`, async () => {
      const body = bodyOf(shape);
      const refuse = (): unknown => authenticate({ body, authorization: [], json: jsonOf(body) }, https);
      await assertCost(refuse, MOST, hash(body), RUNS);
      await assertCost(() => readJson(body), MOST, hash(body), RUNS);
    });

  for (const [what, piece] of [
    ['blanks in its middle', ' '],
    ['tabs in its middle', '\t'],
    ['many words', 'x '],
    ['signs of Base-64', 'A'],
  ] as const)
    it(`a header of ${what}`, async () => {
      const header = `x${piece.repeat(LONGEST_HEADERS / piece.length - 2)}x`;
      await assertCost(() => readAuthorization([header]), MOST, hash(Buffer.alloc(LARGE_BODY)), RUNS);
    });

  for (const piece of ['0,', '"\\"', '"a":', '{"":', '1234567890', '\\u0041', ' '])
    it(`a text of 64 KiB of ${piece} that is looked at without being parsed`, async () => {
      const text = `{"a":"${piece.repeat(LARGE_BODY / piece.length)}`;
      for (const whole of [text, text.replace('"a":"', '"a":'), text.replace('{"a":"', '{')])
        await assertCost(() => isObjectText(whole), MOST, hash(Buffer.from(text)), RUNS);
    });
});

// The hash of such a body takes less than a millisecond where a processor has instructions for it.
describe('a body of 1 MiB', () => {
  for (const [what, body] of [
    ['a long text', longest('"', 'x', '"')],
    ['a long name', longest('{"', 'x', '":1}')],
    ['white space', longest('1', ' ', '')],
  ] as const) {
    it(`is searched for a token in little more than the time of its hash: ${what}`, () =>
      assertCost(() => unverifiedToken(body), 4, hash(body), RUNS));

    it(`that is proven is read in some times the time of its hash: ${what}`, () =>
      assertCost(() => readJson(body).value, 8, hash(body), RUNS));
  }

  for (const [what, piece] of [
    ['values that are too long', `"alarmId":"${'x'.repeat(257)}`],
    ['values of escapes that are too long', `"alarmId":"${String.raw`\n`.repeat(257)}`],
    ['blanks around colons', '"alarmId"        :        "'],
    ['blanks where a colon should be', '"alarmId"        '],
  ] as const)
    it(`is searched for a field in little more than the time of its hash: ${what}`, async () => {
      const body = Buffer.alloc(LONGEST_BODY, piece);
      await assertCost(() => unverifiedTexts(body, 'alarmId', 16), 3, hash(body), 30);
    });
});
