import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { blockFor } from '../support/time/event-loop';
import { PATIENCE } from '../support/time/patience';
import { authorizationFor, envelope, signed } from './sample';
import { PATH, ReceiverUnderTest, SERVERS } from './receiver-under-test';

const STATUS_LINE = /HTTP\/1\.1 (\d{3})/g;

function statuses(text: string): number[] {
  return [...text.matchAll(STATUS_LINE)].map((match) => Number(match[1]));
}

/** A request written by hand. */
function request(body: string, lines: readonly string[] = [], target = PATH, method = 'POST'): string {
  const head = [`${method} ${target} HTTP/1.1`, 'Host: receiver', ...lines];
  const length = lines.some((line) => /^(content-length|transfer-encoding):/i.test(line))
    ? []
    : [`Content-Length: ${Buffer.byteLength(body)}`];
  return [...head, ...length, '', body].join('\r\n');
}

function signedRequest(body: string, lines: readonly string[] = [], target = PATH): string {
  return request(body, [`Authorization: ${authorizationFor(body)}`, ...lines], target);
}

for (const [on, where] of SERVERS) {
  describe(`framing of a request to a webhook on ${where}`, () => {
    let receiver: ReceiverUnderTest;
    beforeEach(async () => {
      receiver = await ReceiverUnderTest.start({ on, holdMs: PATIENCE });
    });
    afterEach(() => receiver.close());

    it('C-07 takes the header name in any case', async () => {
      const { body } = signed();
      const text = await receiver.raw([
        request(body, [`aUTHORIZATION: ${authorizationFor(body)}`, 'Connection: close']),
      ]);
      assert.deepEqual(statuses(text), [200]);
    });

    it('C-17 refuses two Authorization headers, whichever is right', async () => {
      const { body } = signed();
      const right = `Authorization: ${authorizationFor(body)}`;
      const wrong = 'Authorization: HMAC-SHA256 AAAA';
      for (const lines of [
        [right, wrong],
        [wrong, right],
      ]) {
        const text = await receiver.raw([request(body, [...lines, 'Connection: close'])]);
        assert.deepEqual(statuses(text), [401]);
      }
      assert.equal(receiver.deliveries.length, 0);
    });

    it('C-18 takes no signature from a trailer, the query or a cookie', async () => {
      const { body } = signed();
      const value = authorizationFor(body);
      const chunk = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;
      const trailer = `${request('', ['Transfer-Encoding: chunked', 'Trailer: Authorization', 'Connection: close'])}${chunk}0\r\nAuthorization: ${value}\r\n\r\n`;
      assert.deepEqual(statuses(await receiver.raw([trailer])), [401]);
      const query = request(
        body,
        ['Connection: close'],
        `${PATH}?authorization=${encodeURIComponent(value)}`,
      );
      assert.deepEqual(statuses(await receiver.raw([query])), [401]);
      const cookie = request(body, [`Cookie: Authorization=${value}`, 'Connection: close']);
      assert.deepEqual(statuses(await receiver.raw([cookie])), [401]);
    });

    it('C-37 takes a chunked body split at every byte, inside a character too', async () => {
      const body = JSON.stringify(envelope({}, { locationName: 'Møre – 港' }));
      const bytes = Buffer.from(body);
      const head = request('', [
        'Transfer-Encoding: chunked',
        `Authorization: ${authorizationFor(body)}`,
        'Connection: close',
      ]);
      const chunks = [...bytes].map((byte) => Buffer.from([0x31, 0x0d, 0x0a, byte, 0x0d, 0x0a]));
      const text = await receiver.raw([head, ...chunks, '0\r\n\r\n']);
      assert.deepEqual(statuses(text), [200]);
      await receiver.delivered(1);
      assert.equal(receiver.deliveries[0]?.message.event.locationName, 'Møre – 港');
    });

    it('C-38 ignores chunk extensions and trailers', async () => {
      const { body } = signed();
      const head = request('', [
        'Transfer-Encoding: chunked',
        `Authorization: ${authorizationFor(body)}`,
        'Connection: close',
      ]);
      const size = Buffer.byteLength(body).toString(16);
      const text = await receiver.raw([head, `${size};name=value\r\n${body}\r\n0\r\nX-Extra: 1\r\n\r\n`]);
      assert.deepEqual(statuses(text), [200]);
    });

    const broken: [string, string[]][] = [
      ['C-39 Content-Length with Transfer-Encoding', ['Content-Length: 5', 'Transfer-Encoding: chunked']],
      ['C-40 two different Content-Length', ['Content-Length: 5', 'Content-Length: 6']],
      ['C-41 an unknown Transfer-Encoding', ['Transfer-Encoding: xchunked']],
      ['C-43 a negative Content-Length', ['Content-Length: -1']],
      ['C-43 a Content-Length of 20 digits', ['Content-Length: 99999999999999999999']],
    ];
    for (const [title, lines] of broken) {
      it(`${title} is refused by the parser`, async () => {
        const text = await receiver.raw([request('hello', [...lines, 'Connection: close'])]);
        assert.deepEqual(statuses(text), [400]);
        assert.equal(receiver.problems.length, 0);
      });
    }

    const spoilt: [string, (text: string) => string][] = [
      ['C-42 bare LF line ends', (text) => text.replaceAll('\r\n', '\n')],
      ['C-42 a space before the colon', (text) => text.replace('Authorization:', 'Authorization :')],
      ['C-42 a folded header', (text) => text.replace('HMAC-SHA256 ', 'HMAC-SHA256\r\n ')],
      ['C-42 a NUL in a header', (text) => text.replace('Host: ', 'Host: \0')],
    ];
    for (const [title, spoil] of spoilt) {
      it(`${title} is refused by the parser`, async () => {
        const { body } = signed();
        const text = await receiver.raw([spoil(signedRequest(body, ['Connection: close']))]);
        assert.deepEqual(statuses(text), [400]);
        assert.deepEqual([receiver.deliveries.length, receiver.problems.length], [0, 0]);
      });
    }

    it('C-50 refuses a head above 16 KiB, and takes one below', async () => {
      const { body } = signed();
      const filled = (length: number): string =>
        signedRequest(body, [`X-Filler: ${'x'.repeat(length)}`, 'Connection: close']);
      assert.deepEqual(statuses(await receiver.raw([filled(15 * 1024)])), [200]);
      assert.deepEqual(statuses(await receiver.raw([filled(16 * 1024)])), [431]);
    });

    it('C-45 C-57 stores nothing when the sender goes away in the middle of the body', async () => {
      const { body, headers } = signed();
      const head = request('', [
        `Authorization: ${headers['Authorization']}`,
        `Content-Length: ${body.length}`,
      ]);
      await new Promise<void>((resolve) => {
        const socket = net.connect(receiver.port, '127.0.0.1', () => {
          socket.end(head + body.slice(0, 100));
        });
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
        socket.resume();
      });
      assert.equal((await receiver.post(signed())).status, 200);
      await receiver.delivered(1);
      assert.equal(receiver.deliveries.length, 1);
    });

    it('C-46 judges a body by the length it declares', async () => {
      const { body } = signed();
      const short = request(body, [
        `Authorization: ${authorizationFor(body)}`,
        `Content-Length: ${body.length - 10}`,
      ]);
      const found = statuses(await receiver.raw([short]));
      assert.deepEqual(found, [401, 400]);
      assert.equal((await receiver.post(signed())).status, 200);
      await receiver.delivered(1);
      assert.equal(receiver.deliveries.length, 1);
    });

    it('C-48 cuts a body that is too slow, and gives no answer that would be the last word', async () => {
      await receiver.close();
      receiver = await ReceiverUnderTest.start({ on, bodyDeadlineMs: 300 });
      const text = await receiver.raw([request('', ['Content-Length: 1000']), 'x']);
      assert.equal(text, '');
    });

    it('C-48 reads a body that was there in time, though the process was too busy to look', async () => {
      await receiver.close();
      receiver = await ReceiverUnderTest.start({ on, bodyDeadlineMs: 1000 });
      const { body } = signed();
      const late = signedRequest(body, ['Connection: close']);
      const socket = net.connect(receiver.port, '127.0.0.1');
      let text = '';
      socket.on('data', (piece: Buffer) => (text += piece.toString()));
      await once(socket, 'connect');
      socket.write(late.slice(0, -10));
      // Once this one is answered, the first has been read as far as it came.
      assert.equal((await receiver.post(signed())).status, 200);
      socket.write(late.slice(-10));
      // The deadline passes here, and nobody can read what has come meanwhile.
      blockFor(1100);
      await once(socket, 'close');
      assert.deepEqual(statuses(text), [200]);
    });

    it('lets no header lines beyond those that Node keeps hide where a request ends', async () => {
      const filler = Array.from({ length: 1100 }, () => 'a:');
      const hidden = 'GET /elsewhere HTTP/1.1\r\nHost: receiver\r\n\r\n';
      const text = await receiver.raw([
        request(hidden, [
          'Connection: Upgrade',
          'Upgrade: h2c',
          ...filler,
          `Content-Length: ${hidden.length}`,
        ]),
      ]);
      // Cut, judged, or refused by the parser, as the Node.js is: but one request, not two.
      assert.ok(statuses(text).length <= 1, text);
      assert.doesNotMatch(text, /not ours/);
    });

    it('C-51 judges two posts in one segment and answers both in order', async () => {
      const first = signed().body;
      const text = await receiver.raw([signedRequest(first) + request('{}', ['Connection: close'])]);
      assert.deepEqual(statuses(text), [200, 401]);
    });

    it('C-52 answers an Expect of 100-continue', async () => {
      const { body } = signed();
      const text = await receiver.raw([signedRequest(body, ['Expect: 100-continue', 'Connection: close'])]);
      assert.deepEqual(statuses(text), [100, 200]);
    });

    it('C-53 accepts HTTP/1.0', async () => {
      const { body } = signed();
      const text = await receiver.raw([signedRequest(body).replace('HTTP/1.1', 'HTTP/1.0')]);
      assert.deepEqual(statuses(text), [200]);
    });

    for (const [what, lines] of [
      ['HTTP/2', ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABk']],
      ['a WebSocket', ['Connection: Upgrade', 'Upgrade: websocket']],
    ] as const) {
      it(`takes a message of a sender that asks for ${what} with it, in one piece or in many`, async () => {
        for (const split of [false, true]) {
          const { body } = signed({}, { locationName: 'Møre' });
          const text = signedRequest(body, lines);
          const pieces = split ? [text.slice(0, 100), text.slice(100, -200), text.slice(-200)] : [text];
          const answer = await receiver.raw(
            pieces.map((piece) => Buffer.from(piece)),
            /"ok":true/,
          );
          assert.deepEqual(statuses(answer), [200]);
        }
        await receiver.delivered(2);
      });
    }

    it('leaves an upgrade on a path of somebody else alone', async () => {
      const socket = receiver.raw(
        [request('', ['Connection: Upgrade', 'Upgrade: websocket'], '/comms')],
        /./,
      );
      const { body, headers } = signed();
      assert.equal((await receiver.post({ body, headers })).status, 200);
      const answered = await Promise.race([socket.then(() => true), Promise.resolve(false)]);
      assert.equal(answered, false);
      receiver.closeConnections();
    });

    it('C-41 refuses a transfer coding that nobody has undone', async () => {
      const { body } = signed();
      const chunk = `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      const head = request('', [
        'Transfer-Encoding: gzip, chunked',
        `Authorization: ${authorizationFor(body)}`,
        'Connection: close',
      ]);
      const text = await receiver.raw([head + chunk]);
      assert.deepEqual(statuses(text), [415]);
    });

    it('C-55 judges an absolute target by its path alone', async () => {
      const { body } = signed();
      const text = await receiver.raw([
        signedRequest(body, ['Connection: close'], `http://other.example${PATH}`),
      ]);
      assert.deepEqual(statuses(text), [200]);
      const elsewhere = await receiver.raw([
        signedRequest(body, ['Connection: close'], 'http://other.example/x'),
      ]);
      assert.deepEqual(statuses(elsewhere), [404]);
    });

    it('C-56 stores a message whose sender went away before the answer, and knows its resend', async () => {
      const message = signed();
      const socket = net.connect(receiver.port, '127.0.0.1', () => {
        socket.write(signedRequest(message.body), () => socket.destroy());
      });
      socket.on('error', () => undefined);
      await receiver.delivered(1);
      assert.equal((await receiver.post(message)).status, 200);
      assert.equal((await receiver.post(signed())).status, 200);
      await receiver.delivered(2);
      assert.equal(receiver.deliveries.length, 2);
    });

    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'TRACE', 'OPTIONS']) {
      it(`C-58 answers ${method} with 405 and the method it takes`, async () => {
        const text = await receiver.raw([request('', ['Connection: close'], PATH, method)]);
        assert.deepEqual(statuses(text), [405]);
        assert.match(text, /^Allow: POST\r$/m);
        if (method === 'HEAD') assert.match(text, /\r\n\r\n$/);
      });
    }

    it('C-58 answers a PUT with a body, too', async () => {
      const { body } = signed();
      const text = await receiver.raw([request(body, ['Connection: close'], PATH, 'PUT')]);
      assert.deepEqual(statuses(text), [405]);
    });

    it('C-59 ignores a method override', async () => {
      const text = await receiver.raw([
        request('', ['X-HTTP-Method-Override: POST', 'Connection: close'], PATH, 'GET'),
      ]);
      assert.deepEqual(statuses(text), [405]);
    });

    for (const coding of ['gzip', 'br', 'deflate', 'zstd', 'gzip, br', 'bogus', 'identity, gzip']) {
      it(`C-106 C-107 refuses the content coding ${coding}`, async () => {
        const { body, headers } = signed();
        const answer = await receiver.post({ body, headers: { ...headers, 'Content-Encoding': coding } });
        assert.equal(answer.status, 415);
      });
    }

    it('C-108 takes the content coding identity', async () => {
      const { body, headers } = signed();
      const answer = await receiver.post({ body, headers: { ...headers, 'Content-Encoding': 'Identity' } });
      assert.equal(answer.status, 200);
    });

    it('C-109 takes up to exactly 1 MiB', async () => {
      const limit = 1024 * 1024;
      for (const [length, status] of [
        [limit - 1, 200],
        [limit, 200],
        [limit + 1, 413],
      ] as const) {
        const small = envelope({}, { note: '' });
        const room = length - Buffer.byteLength(JSON.stringify(small));
        const body = JSON.stringify({
          ...small,
          payload: { ...Object(small['payload']), note: 'n'.repeat(room) },
        });
        assert.equal(Buffer.byteLength(body), length);
        assert.equal(
          (await receiver.post({ body, headers: { Authorization: authorizationFor(body) } })).status,
          status,
        );
      }
    });

    it('C-109 refuses a chunked body beyond the limit and closes', async () => {
      const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
      const head = request('', ['Transfer-Encoding: chunked']);
      const text = await receiver.raw([head, ...Array.from({ length: 17 }, () => chunk), '0\r\n\r\n']);
      assert.deepEqual(statuses(text), [413]);
      assert.match(text, /^Connection: close\r$/m);
    });

    it('C-109 refuses 60 MB by its declared length, and says so in the log once', async () => {
      for (let time = 0; time < 2; time++) {
        const text = await receiver.raw([request('x', ['Content-Length: 60000000'])], /too large/);
        assert.deepEqual(statuses(text), [413]);
      }
      assert.equal(receiver.lines.filter((line) => line.includes('60000000')).length, 1);
    });

    it('C-109 names in the log the path to which too large a body came, and who sent it', async () => {
      const chunks = Array.from({ length: 17 }, () => `10000\r\n${'x'.repeat(65_536)}\r\n`);
      const whole = await receiver.raw([request('', ['Transfer-Encoding: chunked']), ...chunks, '0\r\n\r\n']);
      assert.deepEqual(statuses(whole), [413]);
      const line = `A webhook request from 127.0.0.1 to ${PATH} was refused: over 1048576 bytes.`;
      assert.deepEqual(receiver.lines, [line]);
    });

    it('C-97 matches the path exactly, but for one trailing slash and the query', async () => {
      const { body } = signed();
      const found: Record<string, number> = {};
      const targets = [PATH, `${PATH}/`, `${PATH}?x=1`, `${PATH}/?x=1`];
      const others = [
        PATH.toUpperCase(),
        `${PATH}//`,
        `/${PATH}`,
        PATH.replace('/abc', '%2fabc'),
        PATH.replace('/abc', '/./abc'),
        PATH.replace('abc', '%61bc'),
        `${PATH};x=1`,
        PATH.replace('a', 'а'),
      ];
      for (const target of [...targets, ...others]) {
        const text = await receiver.raw([Buffer.from(signedRequest(body, ['Connection: close'], target))]);
        found[target] = statuses(text)[0] ?? 0;
      }
      for (const target of targets) assert.equal(found[target], 200, target);
      for (const target of others) assert.ok([404, 400].includes(found[target] ?? 0), target);
    });
  });
}
