import assert from 'node:assert/strict';
import { readErrorBody } from '../../lib/cloud/http/answer';
import { cpuSeconds } from '../support/time/event-loop';

describe('error bodies', () => {
  const bodies: [string, string, object][] = [
    [
      'code and message',
      '{"_type":"Error","code":"AuthExpired","message":"gone"}',
      { serverCode: 'AuthExpired', serverMessage: 'gone' },
    ],
    ['fields with capitals', '{"Code":12,"Message":"gone"}', { serverCode: '12', serverMessage: 'gone' }],
    [
      'meta.name',
      '{"status":"error","statusCode":404,"message":"no","meta":{"code":-25,"name":"NOT_FOUND"}}',
      { serverCode: 'NOT_FOUND', serverMessage: 'no' },
    ],
    [
      'problem details',
      '{"type":"","title":"Bad","status":400,"detail":"t is wrong"}',
      { serverMessage: 't is wrong' },
    ],
    ['field errors', '{"errors":{"t":["must be a time"]}}', { serverMessage: 'must be a time' }],
    [
      'an inner error',
      '{"error":{"code":"X","message":"inner"}}',
      { serverCode: 'X', serverMessage: 'inner' },
    ],
    ['a JSON text', '"just words"', { serverMessage: 'just words' }],
    [
      'HTML with a title',
      '<!doctype html><title> Bad\n gateway </title><body>x',
      { serverMessage: 'Bad gateway' },
    ],
    ['HTML without a title', '<html><style>p{}</style><p>Not <b>here</b></p>', { serverMessage: 'Not here' }],
    ['plain text', 'upstream\u0007 failed\r\n', { serverMessage: 'upstream failed' }],
    ['nothing', '', {}],
  ];
  for (const [name, body, expected] of bodies) {
    it(`T-20 reads ${name}`, () => assert.deepEqual(readErrorBody(body, []), expected));
  }

  it('T-20 reads a record of at most 16 KiB: a longer one is made to cost time rather than to be read', () => {
    const record = (fields: number) => `{"code":"X","more":{${'"k":[],'.repeat(fields)}"k":1}}`;
    assert.equal(readErrorBody(record(2300), []).serverCode, 'X');
    assert.equal(readErrorBody(record(2400), []).serverCode, undefined);
  });

  it('T-20 keeps a message to 200 characters', () => {
    assert.equal(readErrorBody('y'.repeat(5000), []).serverMessage?.length, 200);
  });

  it('T-20 keeps a code to 60 characters', () => {
    assert.equal(readErrorBody(JSON.stringify({ code: 'C'.repeat(5000) }), []).serverCode?.length, 60);
  });

  const pages: [string, string, string | undefined][] = [
    ['a script that compares', '<script>if (a < b && c > d) f("<p>")</script><p>Gone', 'Gone'],
    ['a tag that never ends', '<p>Gone <b', 'Gone'],
    ['a page that ends in its style', '<p>Gone<style>p{', 'Gone'],
    ['an empty title', '<title> </title><h1>Gone</h1>', 'Gone'],
    ['attributes and capitals', '<HTML lang="en"><TITLE id=t>Gone</TITLE>', 'Gone'],
    ['XML', '<?xml version="1.0"?>\n<Error><Code>Gone</Code></Error>', 'Gone'],
    ['tags alone', '<html><body></body></html>', undefined],
  ];
  for (const [name, body, serverMessage] of pages) {
    it(`T-20 reads a page with ${name}`, () => {
      assert.equal(readErrorBody(body, []).serverMessage, serverMessage);
    });
  }

  it('takes the message from the first 4096 characters of a page', () => {
    const page = (blanks: number) => `<p>${' '.repeat(blanks)}Gone`;
    assert.equal(readErrorBody(page(4000), []).serverMessage, 'Gone');
    assert.equal(readErrorBody(page(5000), []).serverMessage, undefined);
  });

  const hostile = [
    '<',
    '<title',
    '<script',
    '<script><',
    '<script></',
    '<!--',
    '<p ',
    '<p>',
    ' ',
    '&#',
    'rtsp:',
  ];
  for (const piece of hostile) {
    it(`reads 4 MB of ${JSON.stringify(piece)} in no time`, async () => {
      const body = `<${piece.repeat(4_000_000 / piece.length)}`;
      assert.ok((await cpuSeconds(() => readErrorBody(body, ['a secret', 'p&ss "w+rd"']))) < 10);
    });
  }

  it('masks before it cuts: no half of a secret stands at the end of a message', () => {
    const secret = 'p&ss "w+rd"';
    for (const before of [190, 195, 199]) {
      for (const body of [`${'y'.repeat(before)}${secret}`, `<p>${'y'.repeat(before)}${secret}</p>`]) {
        for (const echo of [body, JSON.stringify({ message: body, code: body })]) {
          assert.doesNotMatch(JSON.stringify(readErrorBody(echo, [secret])), /p&s|p&"/);
        }
      }
    }
  });

  it('masks before it strips tags, which a secret may look like', () => {
    assert.equal(readErrorBody('<p>it is pa<ss>word', ['pa<ss>word']).serverMessage, '***');
  });
});
