import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { blockFor } from '../support/time/event-loop';
import { PATIENCE } from '../support/time/patience';
import { authorizationFor, envelope, signed } from './sample';
import { PATH, ReceiverUnderTest, requestText, SERVERS, SERVERS_AND_OLDER } from './receiver-under-test';
import { signedText, statusesIn } from './receiver-under-test';

const CLOSE = 'Connection: close';
const CHUNKED = 'Transfer-Encoding: chunked';
const { body: BODY } = signed();
const PROOF = `Authorization: ${authorizationFor(BODY)}`;
const WRONG = 'Authorization: HMAC-SHA256 AAAA';
const SIZE = Buffer.byteLength(BODY).toString(16);
const SIGNED = signedText(BODY, [CLOSE]);

/** A request of the head that is given, and with a body in one chunk. */
const inChunks = (lines: readonly string[], before = '', after = '\r\n'): string =>
  `${requestText('', [...lines, CLOSE])}${SIZE}${before}\r\n${BODY}\r\n0\r\n${after}`;

/** A request whose framing no parser may take. */
const misframed = (...lines: string[]): string => requestText('hello', [...lines, CLOSE]);
const inQuery = `${PATH}?authorization=${encodeURIComponent(authorizationFor(BODY))}`;
const EXTENDED = inChunks([PROOF, CHUNKED], ';name=value', 'X-Extra: 1\r\n\r\n');
const IN_TRAILER = inChunks([CHUNKED, 'Trailer: Authorization'], '', `${PROOF}\r\n\r\n`);
const filled = (bytes: number): string => signedText(BODY, [`X-Filler: ${'x'.repeat(bytes)}`, CLOSE]);

const FILLER = Array.from({ length: 1100 }, () => 'a:');
const HIDDEN = requestText(BODY, [PROOF, CLOSE, ...FILLER, WRONG]);

/** What comes on a connection, and the statuses that are answered. */
const EXCHANGES: [title: string, sent: string, ...statuses: number[]][] = [
  ['C-07 a header name in any case', requestText(BODY, [PROOF.replace('Auth', 'aUTH'), CLOSE]), 200],
  ['C-17 two Authorization headers, the first right', requestText(BODY, [PROOF, WRONG, CLOSE]), 401],
  ['C-17 two Authorization headers, the second right', requestText(BODY, [WRONG, PROOF, CLOSE]), 401],
  ['C-17 two right Authorization headers', requestText(BODY, [PROOF, PROOF, CLOSE]), 401],
  ['C-17 C-50 a second one behind more lines than Node keeps', HIDDEN, 431],
  ['C-18 a signature in a trailer', IN_TRAILER, 401],
  ['C-18 a signature in the query', requestText(BODY, [CLOSE], inQuery), 401],
  ['C-18 a signature in a cookie', requestText(BODY, [`Cookie: ${PROOF.replace(': ', '=')}`, CLOSE]), 401],
  ['C-38 a chunk extension and a trailer', EXTENDED, 200],
  ['C-39 Content-Length with Transfer-Encoding', misframed('Content-Length: 5', CHUNKED), 400],
  ['C-40 two different Content-Length', misframed('Content-Length: 5', 'Content-Length: 6'), 400],
  ['C-41 an unknown Transfer-Encoding', misframed('Transfer-Encoding: xchunked'), 400],
  ['C-41 a coding that nobody has undone', inChunks([PROOF, 'Transfer-Encoding: gzip, chunked']), 415],
  ['C-42 bare LF line ends', SIGNED.replaceAll('\r\n', '\n'), 400],
  ['C-42 a space before the colon', SIGNED.replace('Authorization:', 'Authorization :'), 400],
  ['C-42 a folded header', SIGNED.replace('HMAC-SHA256 ', 'HMAC-SHA256\r\n '), 400],
  ['C-42 a NUL in a header', SIGNED.replace('Host: ', 'Host: \0'), 400],
  ['C-43 a negative Content-Length', misframed('Content-Length: -1'), 400],
  ['C-43 a Content-Length of 20 digits', misframed('Content-Length: 99999999999999999999'), 400],
  ['C-50 a head below 16 KiB', filled(15 * 1024), 200],
  ['C-50 a head above 16 KiB', filled(16 * 1024), 431],
  ['C-51 two posts in one segment, in order', signedText(BODY) + requestText('{}', [CLOSE]), 200, 401],
  ['C-52 an Expect of 100-continue', signedText(BODY, ['Expect: 100-continue', CLOSE]), 100, 200],
  ['C-53 HTTP/1.0', signedText(BODY).replace('HTTP/1.1', 'HTTP/1.0'), 200],
  ['C-55 an absolute target with its path', signedText(BODY, [CLOSE], `http://other.example${PATH}`), 200],
  ['C-55 an absolute target with another path', signedText(BODY, [CLOSE], 'http://other.example/x'), 404],
  ['C-58 a PUT with a body', requestText(BODY, [CLOSE], PATH, 'PUT'), 405],
  ['C-59 a method override', requestText('', ['X-HTTP-Method-Override: POST', CLOSE], PATH, 'GET'), 405],
  ['C-108 the content coding identity', signedText(BODY, ['Content-Encoding: Identity', CLOSE]), 200],
];
for (const coding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, br', 'bogus', 'identity, gzip']) {
  const sent = signedText(BODY, [`Content-Encoding: ${coding}`, CLOSE]);
  EXCHANGES.push([`C-106 C-107 the content coding ${coding}`, sent, 415]);
}

for (const [on, where] of SERVERS)
  describe(`framing of a request to a webhook on ${where}`, () => {
    let receiver: ReceiverUnderTest;
    beforeEach(async () => {
      receiver = await ReceiverUnderTest.start({ on, holdMs: PATIENCE });
    });
    afterEach(() => receiver.close());

    /** Takes another alarm, before which so many were delivered. */
    async function takesAnother(before: number): Promise<void> {
      await receiver.takes(signed());
      await receiver.delivered(before + 1);
      assert.equal(receiver.deliveries.length, before + 1);
    }

    for (const [title, sent, ...statuses] of EXCHANGES)
      it(`${title} is answered by ${statuses.join(' and ')}`, async () => {
        assert.deepEqual(statusesIn(await receiver.raw([Buffer.from(sent)])), statuses);
        if (!statuses.includes(200)) assert.equal(receiver.deliveries.length, 0);
        // By the parser, before it is anybody's message.
        if (statuses.includes(400)) assert.equal(receiver.problems.length, 0);
      });

    it('C-37 takes a chunked body split at every byte, inside a character too', async () => {
      const body = JSON.stringify(envelope({}, { locationName: 'Møre – 港' }));
      const head = requestText('', [CHUNKED, `Authorization: ${authorizationFor(body)}`, CLOSE]);
      const chunks = [...Buffer.from(body)].map((byte) => Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a]));
      assert.deepEqual(statusesIn(await receiver.raw([head, ...chunks, '0\r\n\r\n'])), [200]);
      await receiver.delivered(1);
      assert.equal(receiver.deliveries[0]?.message.event.locationName, 'Møre – 港');
    });

    it('C-45 C-57 stores nothing when the sender goes away in the middle of the body', async () => {
      const socket = net.connect(receiver.port, '127.0.0.1');
      socket.end(signedText(BODY).slice(0, -100));
      await once(socket.resume(), 'close');
      await takesAnother(0);
    });

    it('C-46 judges a body by the length it declares', async () => {
      const short = requestText(BODY, [PROOF, `Content-Length: ${Buffer.byteLength(BODY) - 10}`]);
      assert.deepEqual(statusesIn(await receiver.raw([short])), [401, 400]);
      await takesAnother(0);
    });

    it('C-48 cuts a body that is too slow, and gives no answer that would be the last word', async () => {
      await receiver.close();
      receiver = await ReceiverUnderTest.start({ on, bodyDeadlineMs: 300 });
      assert.equal(await receiver.raw([requestText('', ['Content-Length: 1000']), 'x']), '');
    });

    it('C-48 reads a body that was there in time, though the process was too busy to look', async () => {
      await receiver.close();
      receiver = await ReceiverUnderTest.start({ on, bodyDeadlineMs: 1000 });
      const socket = net.connect(receiver.port, '127.0.0.1');
      let text = '';
      socket.on('data', (piece: Buffer) => (text += piece.toString()));
      await once(socket, 'connect');
      socket.write(SIGNED.slice(0, -10));
      // Once this one is answered, the first has been read as far as it came.
      await receiver.takes(signed());
      socket.write(SIGNED.slice(-10));
      // The deadline passes here, and nobody can read what has come meanwhile.
      blockFor(1100);
      await once(socket, 'close');
      assert.deepEqual(statusesIn(text), [200]);
    });

    it('lets no header lines beyond those that Node keeps hide where a request ends', async () => {
      const hidden = 'GET /elsewhere HTTP/1.1\r\nHost: receiver\r\n\r\n';
      const lines = ['Connection: Upgrade', 'Upgrade: h2c', ...FILLER];
      const text = await receiver.raw([requestText(hidden, lines)]);
      // Cut, judged, or refused by the parser, as the Node.js is: but one request, not two.
      assert.ok(statusesIn(text).length <= 1, text);
      assert.doesNotMatch(text, /not ours/);
    });

    it('leaves an upgrade on a path of somebody else alone', async () => {
      const upgrade = requestText('', ['Connection: Upgrade', 'Upgrade: websocket'], '/comms');
      const socket = receiver.raw([upgrade], /./);
      await receiver.takes(signed());
      const answered = await Promise.race([socket.then(() => true), Promise.resolve(false)]);
      assert.equal(answered, false);
      receiver.closeConnections();
    });

    it('C-56 stores a message whose sender went away before the answer, and knows its resend', async () => {
      const message = signed();
      const socket = net.connect(receiver.port, '127.0.0.1', () => {
        socket.write(signedText(message.body), () => socket.destroy());
      });
      socket.on('error', () => undefined);
      await receiver.delivered(1);
      await receiver.takes(message);
      await takesAnother(1);
    });

    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'OPTIONS'])
      it(`C-58 answers ${method} with 405 and the method it takes`, async () => {
        const text = await receiver.raw([requestText('', [CLOSE], PATH, method)]);
        assert.deepEqual(statusesIn(text), [405]);
        assert.match(text, /^Allow: POST\r$/m);
        if (method === 'HEAD') assert.match(text, /\r\n\r\n$/);
      });

    it('C-109 takes up to exactly 1 MiB', async () => {
      for (const more of [-1, 0, 1]) {
        const length = 1024 * 1024 + more;
        const room = length - Buffer.byteLength(signed({}, { note: '' }).body);
        const message = signed({}, { note: 'n'.repeat(room) });
        assert.equal(Buffer.byteLength(message.body), length);
        assert.equal(await receiver.statusOf(message), more > 0 ? 413 : 200);
      }
    });

    it('C-109 refuses 60 MB by its declared length, and says so in the log once', async () => {
      for (let time = 0; time < 2; time++) {
        const text = await receiver.raw([requestText('x', ['Content-Length: 60000000'])], /too large/);
        assert.deepEqual(statusesIn(text), [413]);
      }
      assert.equal(receiver.lines.filter((line) => line.includes('60000000')).length, 1);
    });

    it('C-109 refuses a chunked body beyond the limit, closes, and names in the log its path and sender', async () => {
      const chunks = Array.from({ length: 17 }, () => `10000\r\n${'x'.repeat(65_536)}\r\n`);
      const whole = await receiver.raw([requestText('', [CHUNKED]), ...chunks, '0\r\n\r\n']);
      assert.deepEqual(statusesIn(whole), [413]);
      assert.match(whole, /^Connection: close\r$/m);
      const line = `A webhook request from 127.0.0.1 to ${PATH} was refused: over 1048576 bytes.`;
      assert.deepEqual(receiver.lines, [line]);
    });

    it('C-97 matches the path exactly, but for one trailing slash and the query', async () => {
      const statusAt = async (target: string): Promise<number> =>
        statusesIn(await receiver.raw([Buffer.from(signedText(BODY, [CLOSE], target))]))[0] ?? 0;
      for (const target of [PATH, `${PATH}/`, `${PATH}?x=1`, `${PATH}/?x=1`])
        assert.equal(await statusAt(target), 200, target);
      const spelt = ['%2fabc', '/./abc', '/%61bc'].map((name) => PATH.replace('/abc', name));
      const others = [PATH.toUpperCase(), `${PATH}//`, `/${PATH}`, `${PATH};x=1`, PATH.replace('a', 'а')];
      for (const target of [...spelt, ...others])
        assert.ok([404, 400].includes(await statusAt(target)), target);
    });
  });

const HTTP2 = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk'];

for (const [on, where] of SERVERS_AND_OLDER)
  describe(`a request to a webhook that asks for another protocol, on ${where}`, () => {
    let receiver: ReceiverUnderTest;
    beforeEach(async () => {
      receiver = await ReceiverUnderTest.start({ on, holdMs: PATIENCE });
    });
    afterEach(() => receiver.close());

    for (const [what, lines] of [
      ['HTTP/2', HTTP2],
      ['a WebSocket', ['Connection: Upgrade', 'Upgrade: websocket']],
    ] as const)
      it(`is taken where that is ${what}, in one piece or in many`, async () => {
        for (const split of [false, true]) {
          const { body } = signed({}, { locationName: 'Møre' });
          const text = signedText(body, lines);
          const pieces = split ? [text.slice(0, 100), text.slice(100, -200), text.slice(-200)] : [text];
          const bytes = pieces.map((piece) => Buffer.from(piece));
          assert.deepEqual(statusesIn(await receiver.raw(bytes, /"ok":true/)), [200]);
        }
        await receiver.delivered(2);
      });

    it('is answered once where it has no body, and so is what follows it', async () => {
      const get = requestText('', HTTP2, PATH, 'GET');
      assert.deepEqual(statusesIn(await receiver.raw([get + get + SIGNED])), [405, 405, 200]);
    });

    it('is taken as often as it comes in a row', async () => {
      const text = Array.from({ length: 10 }, () => signedText(signed().body, HTTP2)).join('') + SIGNED;
      const expected = Array.from({ length: 11 }, () => 200);
      assert.deepEqual(statusesIn(await receiver.raw([text])), expected);
      await receiver.delivered(11);
    });

    it('is cut behind the eighth that is forged', async () => {
      const text = requestText('', [WRONG, ...HTTP2]).repeat(20);
      assert.equal(statusesIn(await receiver.raw([text])).length, 8);
    });
  });
