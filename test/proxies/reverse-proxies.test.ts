import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { alarmMessage, signature } from '../support/webhook/alarm-message';
import { needs } from '../support/suite/programs';
import { assertPause, eventually } from '../support/time/patience';
import { Authority } from '../support/network/certificates';
import { cloud, station, webhookIn, part } from '../support/node-red/flows';
import { freePort, NodeRed, probe, watched, type FlowNode } from '../support/node-red/node-red';
import { PROXY_KINDS, requestTo, ReverseProxy, statusOf } from '../support/network/proxies';
import type { Head, ProxyKind } from '../support/network/proxies';

type Message = Record<string, unknown>;

const PHRASE_INSIDE = 'two otters share a mussel';
const PHRASE_OUTSIDE = 'nine herons stand in the reeds';
const BY_TOKEN = '/remote-monitoring/by-token';
const BY_SIGNATURE = '/remote-monitoring/by-signature';
const NO_PHRASE = '/remote-monitoring/no-phrase';

/** Bytes that a proxy which reads or writes JSON anew would change. */
const ODD_TEXT = 'Höfe ☂ \\u00e9\\/';

/** Addresses of this machine that nobody else sends from. */
const SENDERS: Record<ProxyKind, string> = { nginx: '127.0.0.2', caddy: '127.0.0.3' };

const listenerPath = (kind: ProxyKind): string => `/remote-monitoring/listener-${kind}`;

/** As the service posts to an address with https. */
const withToken = (message: Message, head?: Head): string =>
  requestTo(BY_TOKEN, JSON.stringify({ ...message, authenticationToken: PHRASE_INSIDE }), head);

/** As the service posts to an address with http. */
const signed = (body: string, phrase = PHRASE_OUTSIDE, target = BY_SIGNATURE, ...further: string[]): string =>
  requestTo(target, body, { further: [`Authorization: ${signature(body, phrase)}`, ...further] });

function flows(listenerPort: number): FlowNode[] {
  const withPhrase = (id: string, scheme: string, secret: string): FlowNode =>
    station({ id: `station-${id}`, key: id, name: id, scheme, credentials: { secret } });
  const listener = { id: 'listener', type: 'rvm-listener', name: '', host: '127.0.0.1', tls: '' };
  const wires = [['alarms'], [], ['problems']];
  return watched(
    cloud(),
    withPhrase('token', 'https', PHRASE_INSIDE),
    withPhrase('signature', 'http', PHRASE_OUTSIDE),
    withPhrase('none', 'https', ''),
    webhookIn({ id: 'by-token', station: 'station-token', path: BY_TOKEN, wires }),
    webhookIn({ id: 'by-signature', station: 'station-signature', path: BY_SIGNATURE, wires }),
    webhookIn({ id: 'no-phrase', station: 'station-none', path: NO_PHRASE, wires }),
    { ...listener, port: listenerPort, proxies: '127.0.0.1' },
    ...PROXY_KINDS.map((id) =>
      webhookIn({ id, station: 'station-signature', path: listenerPath(id), listener: 'listener', wires }),
    ),
    probe('alarms'),
    probe('problems'),
  );
}

describe('a reverse proxy before webhook in', () => {
  let nodeRed: NodeRed;
  let authority: Authority;
  let listenerPort: number;

  before(async function () {
    needs(this, 'openssl');
    authority = new Authority();
    listenerPort = await freePort();
    nodeRed = await NodeRed.start();
    await nodeRed.deploy(flows(listenerPort));
  });

  after(async () => {
    await nodeRed?.stopAndRemove();
    authority?.remove();
  });

  const arrived = ({ messageId }: Message): Promise<Message> =>
    nodeRed.message('alarms', (msg) => part(msg, 'webhook').messageId === messageId);

  /** Sends a message, which is taken and arrives as this. */
  async function brings(by: ReverseProxy, message: Message, sent: string, plain = false): Promise<Message> {
    assert.equal(statusOf(await by.exchange(sent, { plain })), 200);
    return arrived(message);
  }

  for (const kind of PROXY_KINDS)
    describe(`${kind}, with the configuration of the documentation`, () => {
      const running: ReverseProxy[] = [];
      let proxy: ReverseProxy;
      let beforeListener: ReverseProxy;
      let withHttp2: ReverseProxy;
      /** One whose Node-RED is stopped: nothing listens where it was. */
      let beforeNothing: ReverseProxy;

      before(async function () {
        needs(this, kind, 'openssl');
        const stopped = await freePort();
        proxy = await start(nodeRed.port);
        beforeListener = await start(listenerPort);
        withHttp2 = await start(nodeRed.port, { http2: true });
        beforeNothing = await start(stopped, { http2: true });
      });

      after(() => Promise.all(running.map((each) => each.stop())));

      async function start(upstream: number, further: { http2?: boolean } = {}): Promise<ReverseProxy> {
        const started = await ReverseProxy.start(kind, { upstream, authority, ...further });
        running.push(started);
        return started;
      }

      it('ends TLS, and an alarm with the phrase inside gets 200 and arrives proven', async () => {
        const message = alarmMessage();
        const { proof, warnings } = part(await brings(proxy, message, withToken(message)), 'webhook');
        assert.deepEqual([proof, warnings], ['token', []]);
      });

      it('passes the signature on, and every byte of the body as it is', async () => {
        const message = alarmMessage({ locationName: 'ODD' });
        const text = JSON.stringify(message, null, '\t').replace('ODD', ODD_TEXT);
        const body = `\r\n ${text}\t\r\n\n`;
        const alarm = await brings(proxy, message, signed(body), true);
        assert.equal(part(alarm, 'webhook').proof, 'hmac');
        assert.equal(part(alarm, 'payload').locationName, JSON.parse(`"${ODD_TEXT}"`));
      });

      it('passes a body in chunks on', async () => {
        const message = alarmMessage();
        const body = JSON.stringify(message);
        const chunks = body.replace(/./g, '1\r\n$&\r\n');
        const [head = ''] = signed(body).split('Content-Length');
        await brings(proxy, message, `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`, true);
      });

      it('takes a message of a sender that waits for 100 Continue, as Java does for ever', async () => {
        const message = alarmMessage();
        const body = JSON.stringify(message);
        const whole = signed(body, PHRASE_OUTSIDE, BY_SIGNATURE, 'Expect: 100-continue');
        const socket = net.connect(proxy.httpPort, '127.0.0.1');
        let answer = '';
        socket.on('data', (piece: Buffer) => {
          answer += piece.toString('latin1');
          if (/^HTTP\/1\.1 100 [^]*\r\n\r\n$/.test(answer)) {
            answer = '';
            socket.write(body);
          }
        });
        socket.write(whole.slice(0, -body.length));
        await once(socket, 'close');
        assert.equal(statusOf(answer), 200);
        await arrived(message);
      });

      it('passes on that a message is refused', async () => {
        const answer = await proxy.exchange(signed(JSON.stringify(alarmMessage()), 'another phrase'));
        assert.equal(statusOf(answer), 401);
        assert.match(answer, /^www-authenticate: HMAC-SHA256\r$/im);
        assert.equal(statusOf(await proxy.exchange(requestTo(BY_TOKEN, '', { method: 'GET' }))), 405);
      });

      it('lets 1 MiB through and refuses a byte more with 413', async () => {
        const largest = 'x'.repeat(1024 * 1024);
        assert.equal(statusOf(await proxy.exchange(signed(largest), { plain: true })), 200);
        assert.equal(statusOf(await proxy.exchange(signed(`${largest}x`), { plain: true })), 413);
      });

      it('gives the outside nothing of Node-RED but the webhook paths', async () => {
        assert.equal((await fetch(`${nodeRed.url}/settings`)).status, 200);
        const below = ['../settings', '%2e%2e/settings', '..%2fsettings', '../icons/../remote-monitoring/a'];
        // Resolved by the proxy alone, they would reach what Node-RED routes by their beginning.
        const beside = ['..', '%2e%2e', 'a/b/../../..'].map((way) => `/icons/${way}/remote-monitoring/a?b=c`);
        const climbing = [...below.map((way) => `/remote-monitoring/${way}`), ...beside];
        for (const target of ['/', '/settings', '/flows', '/comms', '//settings', ...climbing])
          for (const plain of [false, true]) {
            const answer = await proxy.exchange(requestTo(target, '', { method: 'GET' }), { plain });
            assert.equal(answer, '', target);
          }
      });

      it('cuts where Node-RED cuts: a Central Station without a phrase can judge nothing', async () => {
        const begun = performance.now();
        assert.equal(await proxy.exchange(requestTo(NO_PHRASE, JSON.stringify(alarmMessage()))), '');
        assertPause(performance.now() - begun, 3000);
      });

      it('cuts where no webhook in has the path, instead of the 404 of Node-RED', async () => {
        const target = '/remote-monitoring/nobody';
        assert.equal((await fetch(nodeRed.url + target, { method: 'POST' })).status, 404);
        assert.equal(await proxy.exchange(requestTo(target, JSON.stringify(alarmMessage()))), '');
      });

      it('cuts while Node-RED is stopped, and the same message gets 200 when it runs', async () => {
        const message = alarmMessage();
        await nodeRed.stop();
        try {
          assert.equal(await proxy.exchange(withToken(message)), '');
          assert.equal(await proxy.exchange(signed(JSON.stringify(message)), { plain: true }), '');
        } finally {
          nodeRed = await NodeRed.start({ userDir: nodeRed.userDir, port: nodeRed.port });
        }
        await brings(proxy, message, withToken(message));
      });

      it('says no 200 of its own to a sender that ends its side of the connection', async () => {
        const whole = requestTo(NO_PHRASE, JSON.stringify(alarmMessage()));
        const answers = [whole, whole.slice(0, -1)].flatMap((bytes) =>
          [true, false].map((plain) => proxy.exchange(bytes, { plain, ends: true })),
        );
        assert.deepEqual(await Promise.all(answers), ['', '', '', '']);
      });

      it('says no 200 of its own to a message for another name', async () => {
        const message = alarmMessage();
        const answer = await proxy.exchange(withToken(message, { host: 'other.example.com' }));
        if (answer === '') return;
        assert.equal(statusOf(answer), 200);
        await arrived(message);
      });

      it('speaks HTTP/1.1 only, by TLS 1.2 and 1.3', async () => {
        const ALPNProtocols = ['h2', 'http/1.1'];
        const { version, protocol } = await proxy.handshake({ ALPNProtocols });
        assert.deepEqual([version, protocol], ['TLSv1.3', 'http/1.1']);
        assert.equal((await proxy.handshake({ maxVersion: 'TLSv1.2' })).version, 'TLSv1.2');
        const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' } as const;
        await assert.rejects(proxy.handshake(old), /alert protocol version/);
      });

      // Caddy renews by itself, which needs an authority that it can reach.
      if (kind === 'nginx')
        it('takes over a renewed certificate when it is told to', async () => {
          const { serial } = await proxy.handshake();
          proxy.renewCertificate();
          await eventually(async () => (await proxy.handshake()).serial !== serial, 'the new certificate');
        });

      it('with HTTP/2 switched on ends the stream without an answer while Node-RED is stopped', async () => {
        const body = JSON.stringify({ ...alarmMessage(), authenticationToken: PHRASE_INSIDE });
        assert.equal(await withHttp2.exchangeByHttp2(BY_TOKEN, body), 200);
        const cut = await beforeNothing.exchangeByHttp2(BY_TOKEN, body);
        assert.match(String(cut), /^Stream closed with error/);
      });

      it('tells a listener the real sender, whatever the sender claims', async () => {
        const body = JSON.stringify(alarmMessage());
        const forged = signed(body, 'another phrase', listenerPath(kind), 'X-Forwarded-For: 203.0.113.9');
        assert.equal(statusOf(await beforeListener.exchange(forged, { from: SENDERS[kind] })), 401);
        await nodeRed.message('problems', (msg) => part(msg, 'payload').remoteAddress === SENDERS[kind]);
        const told = nodeRed.at('problems').map((msg) => part(msg, 'payload').remoteAddress);
        assert.equal(told.includes('203.0.113.9'), false);
      });

      it('brings an alarm to a listener', async () => {
        const message = alarmMessage();
        const sent = signed(JSON.stringify(message), PHRASE_OUTSIDE, listenerPath(kind));
        await brings(beforeListener, message, sent, true);
      });
    });
});
