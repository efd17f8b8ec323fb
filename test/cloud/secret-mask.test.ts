import assert from 'node:assert/strict';
import { redact } from '../../lib/cloud/secret-mask';
import { cpuSeconds } from '../support/time/event-loop';

const SECRET = `p&ss "w+rd" 'ü'/é\\!`;

/** As long as a cookie may be. */
const LONG_SECRET = 'Abc-_9.xÜ/'.repeat(400);
const LONG_ECHOES: [string, string][] = [
  ['as it is', LONG_SECRET],
  ['in small letters', LONG_SECRET.toLowerCase()],
  ['percent-encoded twice', encodeURIComponent(encodeURIComponent(LONG_SECRET))],
  ['in base64', Buffer.from(LONG_SECRET).toString('base64')],
  ['in hexadecimal digits', Buffer.from(LONG_SECRET).toString('hex')],
  [
    'in HTML',
    LONG_SECRET.replace(
      /./gu,
      (character) => `&#x${(character.codePointAt(0) ?? 0).toString(16).padStart(8, '0')};`,
    ),
  ],
];

describe('masking of secrets', () => {
  const echoes: [string, string][] = [
    ['as it is', SECRET],
    ['in JSON', JSON.stringify(SECRET).slice(1, -1)],
    ['in JSON with escaped slashes', JSON.stringify(SECRET).slice(1, -1).replaceAll('/', '\\/')],
    ['in JSON of ASCII only', String.raw`p\u0026ss \"w\u002Brd\" \u0027\u00fc\u0027\/\u00E9\\!`],
    ['percent-encoded', encodeURIComponent(SECRET)],
    ['percent-encoded in small letters', inSmallHex(encodeURIComponent(SECRET))],
    ['percent-encoded throughout', Buffer.from(SECRET).toString('hex').replace(/../g, '%$&')],
    ['as a form', new URLSearchParams({ s: SECRET }).toString().slice(2)],
    ['as a form in small letters', inSmallHex(new URLSearchParams({ s: SECRET }).toString().slice(2))],
    ['in HTML by names', String.raw`p&amp;ss &quot;w+rd&quot; &apos;ü&apos;/é\!`],
    ['in HTML by decimal numbers', entities((point) => `&#${point};`)],
    ['in HTML by padded numbers', entities((point) => `&#${String(point).padStart(4, '0')};`)],
    ['in HTML by hexadecimal numbers', entities((point) => `&#x${point.toString(16)};`)],
    ['in HTML by hexadecimal capitals', entities((point) => `&#X${point.toString(16).toUpperCase()};`)],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64 of URLs', Buffer.from(SECRET).toString('base64url')],
    ['in base64, percent-encoded', encodeURIComponent(Buffer.from(SECRET).toString('base64'))],
    ['in capitals', SECRET.toUpperCase()],
    ['in small letters', SECRET.toLowerCase()],
    ['in hexadecimal digits', Buffer.from(SECRET).toString('hex')],
    ['in hexadecimal capitals', Buffer.from(SECRET).toString('hex').toUpperCase()],
    ['percent-encoded twice', encodeURIComponent(encodeURIComponent(SECRET))],
    ['percent-encoded three times', [1, 2, 3].reduce((text) => encodeURIComponent(text), SECRET)],
    ['percent-encoded, in JSON of ASCII only', encodeURIComponent(SECRET).replaceAll('%', '\\u0025')],
    ['in octal digits', bytewise((byte) => `\\${byte.toString(8).padStart(3, '0')}`)],
    ['in octal digits, in JSON', bytewise((byte) => `\\\\${byte.toString(8).padStart(3, '0')}`)],
    ['in hexadecimal escapes', bytewise((byte) => `\\x${byte.toString(16).padStart(2, '0')}`)],
    [
      'in %u escapes',
      SECRET.replace(/[^]/g, (unit) => `%u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
    ],
    ['letter by letter', SECRET.replace(/./gu, '$& ')],
    ['in lines', SECRET.replace(/.{5}/g, '$&\r\n  ')],
    ['in lines, in JSON', JSON.stringify(SECRET.replace(/.{5}/g, '$&\n')).slice(1, -1)],
    ['percent-encoded, in lines that part the escapes', encodeURIComponent(SECRET).replace(/.{4}/g, '$&\n')],
    ['in pairs of hexadecimal digits', Buffer.from(SECRET).toString('hex').replace(/../g, '$& ')],
    ['with soft hyphens', SECRET.replace(/./gu, '$&\u00ad')],
    ['in capitals, in HTML', SECRET.toUpperCase().replaceAll('&', '&amp;').replaceAll('"', '&quot;')],
  ];
  for (const [name, echo] of echoes) {
    it(`finds a secret ${name}`, () => {
      assert.equal(redact(`<${echo}> and more`, [SECRET], 1000), '***');
    });

    it(`finds a secret ${name} wherever the cut goes through it`, () => {
      const text = `${'-'.repeat(50)}${echo}${echo}${'-'.repeat(50)}`;
      for (let length = 45; length < 55 + echo.length; length += 1) {
        const start = redact(text, [SECRET], length);
        assert.ok(/^(?:-{0,50}|\*{3})$/.test(start), start);
      }
    });
  }

  for (const [name, escaped] of LONG_ECHOES) {
    it(`finds the beginning of a long secret ${name}, wherever the cut goes through it`, () => {
      const text = `${'-'.repeat(50)}${escaped}${'-'.repeat(50)}`;
      for (const length of [45, 50, 51, 100, 177, 178, 179, 250, 700, 1000, text.length, text.length + 1]) {
        const start = redact(text, [LONG_SECRET], length);
        assert.ok(/^(?:-{0,50}|\*{3})$/.test(start), start);
      }
      assert.equal(redact(text, [LONG_SECRET], 4096), '***');
    });
  }

  it('reads no more of a text where a secret is long: its beginning tells it', () => {
    const text = `${'-'.repeat(20_000)}a short secret`;
    assert.equal(redact(text, ['a short secret', 'x'.repeat(8000)], 4096), '-'.repeat(4096));
  });

  const UNESCAPED = String(JSON.parse(String.raw`"C:\new secret-key"`));
  const found: [what: string, texts: string[], secrets: string[]][] = [
    ['each of several secrets', ['is abc', 'is abcdef', 'is a%20c'], ['abc', 'abcdef', 'a c']],
    ['secrets in different escapes', ['is a&amp;c', 'is a%26c', 'is a\\u0026c', 'is a&c'], ['a&c']],
    [
      'a secret behind a sign that makes an escape of its beginning',
      [
        String.raw`LIKE '%abcd%20efgh-ijkl%'`,
        String.raw`LIKE '%abcd%2520efgh-ijkl%'`,
        String.raw`LIKE '%61626364%32%30656667682d696a6b6c%'`,
        String.raw`C:\uabcd%20efgh-ijkl`,
      ],
      ['abcd efgh-ijkl'],
    ],
    ['a secret behind a sign that makes a line of it', [String.raw`C:\new%20secret-key`], ['new secret-key']],
    ['a secret that JSON took for an escape', [UNESCAPED], ['new secret-key']],
    ['a secret that becomes an octal escape', [String.raw`C:\163b%2520efgh-ijkl`], ['163b efgh-ijkl']],
  ];
  for (const [what, texts, secrets] of found) {
    it(`finds ${what}`, () => {
      for (const text of texts) assert.equal(redact(text, secrets, 1000), '***', text);
    });
  }

  const left: [what: string, text: string, secrets: string[]][] = [
    ['the escapes of a text without secrets', String.raw`100%25 of a+b &amp; c\n`, [SECRET]],
    ['a word that a secret ends with', 'no service &amp; more', ['aeservice']],
    ['short secrets, and other letters', 'it is a Pass, on+off', ['a', 'is', '', ' ', 'pass']],
    ['words that make a short secret without their blank', 'not found: no key', ['notfoun', 'nokey']],
    ['entities that are no characters', '&#999999999; %ff &none; a&amp;c', ['a&d']],
  ];
  for (const [what, text, secrets] of left)
    it(`leaves ${what}`, () => assert.equal(redact(text, secrets, 1000), text));

  for (const [name, unseen] of [
    ['the break of a folded line', '\r\n '],
    ['a soft hyphen', '\u00ad'],
    ['a soft hyphen of HTML', '&shy;'],
    ['a space without width', '\u200b'],
    ['a space without width, in HTML', '&#8203;'],
    ['a control character', '\u0001'],
    ['tags', '<b class="x"></b>'],
    ['escaped tags', '&lt;wbr&gt;'],
  ]) {
    it(`finds a secret with ${name} within`, () => {
      assert.equal(redact(`is the-se${unseen}cret`, ['the-secret'], 1000), '***');
      assert.equal(redact(`is pa${unseen}ss`, ['pass'], 1000), `is pa${unseen}ss`, 'ordinary words');
    });
  }

  it('finds a secret in the base64 of a text, wherever it stands there', () => {
    for (const before of ['', 'u', 'us', 'user:', 'agent:', 'an user:']) {
      for (const after of ['', ':', ' and more']) {
        const bytes = Buffer.from(`${before}ü-sécret?>${after}`);
        for (const coding of ['base64', 'base64url'] as const)
          assert.equal(redact(`Basic ${bytes.toString(coding)}`, ['ü-sécret?>'], 1000), '***');
      }
    }
  });

  it('finds a secret at the end of all that is read, however many others stand before it', () => {
    for (let more = 0; more < 20; more += 1) {
      const text = `${'the-secret '.repeat(500)}${'-'.repeat(more)}the-secret ${'-'.repeat(5000)}`;
      assert.doesNotMatch(redact(text, ['the-secret'], 4096), /the/);
    }
  });

  for (const url of [
    'rtsp://u:p@relay/x',
    'RTSPS:\\/\\/relay\\/x',
    'rtsp%3A%2F%2Frelay%2Fx',
    'rtsp:&#x2F;&#47;relay',
  ]) {
    it(`takes out the RTSP URL ${url}`, () => {
      assert.equal(redact(`"${url}" failed`, [], 1000), '"***" failed');
    });
  }

  it('takes out an RTSP URL that stands in the query of another', () => {
    assert.equal(redact('/x?u%3Drtsp%3A%2F%2Frelay%2Fx failed', [], 1000), '/x?u=*** failed');
  });

  it('is quick with secrets as long as cookies may be, in a long text', async () => {
    const cookies = Array.from({ length: 20 }, (_, i) => `${i}${'Abc-_9.x%2F'.repeat(360)}`);
    const text = 'Abc-_9.x%2F'.repeat(1_000_000);
    assert.ok((await cpuSeconds(() => redact(text, cookies, 4096))) < 10);
  });
});

/** Each byte of the secret, as UTF-8 has it. */
function bytewise(escape: (byte: number) => string): string {
  return [...Buffer.from(SECRET)].map(escape).join('');
}

function inSmallHex(encoded: string): string {
  return encoded.replace(/%../g, (escape) => escape.toLowerCase());
}

/** The secret with all that is neither letter nor digit as an entity. */
function entities(entity: (point: number) => string): string {
  return SECRET.replace(/[^A-Za-z0-9]/gu, (character) => entity(character.codePointAt(0) ?? 0));
}
