import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import type { RelayRules } from '../../../lib/video/rtsp/open-stream';
import { checkHost, connect, isLocal } from '../../../lib/video/rtsp/relay';
import { goodReply, reply, ScriptedRelay, type Script } from '../../support/rtsp/scripted-relay';
import { errorOf, LOCAL, Streams } from './streams';

const NOT_LOCAL: RelayRules = { suffixes: [], localAllowed: false };
/** The names of this machine. */
const BOTH: RelayRules = { suffixes: ['localhost', '127.0.0.1'], localAllowed: true };
const WANTS_LOGIN = { 'WWW-Authenticate': 'Basic realm="r"' };

describe('the relays that a stream may come from', () => {
  const streams = new Streams();
  const relays: ScriptedRelay[] = [];
  afterEach(async () => {
    for (const relay of relays.splice(0)) await relay.close();
  });

  async function start(script: Script = {}): Promise<ScriptedRelay> {
    const relay = await ScriptedRelay.start(script);
    relays.push(relay);
    return relay;
  }

  function redirecting(to: string): Script {
    return { DESCRIBE: (request) => reply(request, 302, { Location: to }) };
  }

  for (const host of ['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '127.1', '2130706433', '0.0.0.0'])
    it(`have no address of this machine: ${host}`, async () => {
      const relay = await start();
      const url = relay.url.replace('127.0.0.1', host);
      await streams.refusal(url, 'UNTRUSTED_LINK', { relays: NOT_LOCAL });
      assert.equal(relay.connections, 0);
    });

  it('may be on this machine where local relays are allowed', async () => {
    const relay = await start();
    await streams.open(relay.url.replace('127.0.0.1', 'localhost'), { relays: LOCAL });
    assert.equal(relay.connections, 1);
  });

  it('may be a server of our own, and no other on the same host', async () => {
    const [own, other] = [await start(), await start()];
    const relays = { ...NOT_LOCAL, exempt: { host: '127.0.0.1', port: own.port } };
    await streams.open(own.url, { relays });
    await streams.refusal(other.url, 'UNTRUSTED_LINK', { relays });
    assert.equal(other.connections, 0);
  });

  it('may be a server of our own where others are listed', async () => {
    const own = await start();
    const exempt = { host: 'LOCALHOST', port: own.port };
    const relays = { suffixes: ['relay.example'], localAllowed: false, exempt };
    await streams.open(own.url.replace('127.0.0.1', 'localhost'), { relays });
  });

  it('are those of the list alone, where there is one', async () => {
    const relay = await start();
    const relays = { suffixes: ['relay.example'], localAllowed: true };
    await streams.refusal(relay.url, 'UNTRUSTED_LINK', { relays });
    assert.equal(relay.connections, 0);
  });

  it('lead to no other host, but where that is one of the list', async () => {
    const other = await start();
    const first = await start(redirecting(other.url.replace('127.0.0.1', 'localhost')));
    await streams.refusal(first.url, 'UNTRUSTED_LINK');
    assert.equal(other.connections, 0);
    await streams.open(first.url, { relays: BOTH });
    assert.equal(other.connections, 1);
  });

  for (const status of [301, 302, 303, 307])
    it(`lead to another port of the same host: ${status}`, async () => {
      const other = await start();
      const first = await start({ PLAY: (request) => reply(request, status, { Location: other.url }) });
      await streams.open(first.url);
      assert.deepEqual(first.methods, ['DESCRIBE', 'SETUP', 'PLAY', 'TEARDOWN']);
      assert.equal(first.open.size, 0);
      assert.deepEqual(other.methods.slice(0, 3), ['DESCRIBE', 'SETUP', 'PLAY']);
    });

  it('lead on three times, and no more', async () => {
    const chain = [await start()];
    for (let hops = 0; hops < 4; hops += 1) chain.unshift(await start(redirecting(chain[0]?.url ?? '')));
    const [first, second] = chain;
    await streams.refusal(first?.url ?? '', 'VIDEO_FAILED');
    assert.equal(chain[4]?.connections, 0);
    await streams.open(second?.url ?? '');
    assert.equal(chain[4]?.connections, 1);
  });

  it('get the login of the first URL where they lead to the same host, and their own before that', async () => {
    const wantsLogin: Script = {
      DESCRIBE: (request) =>
        request.headers.has('authorization') ? goodReply(request) : reply(request, 401, WANTS_LOGIN),
    };
    const proofOf = async (login: string): Promise<string> => {
      const other = await start(wantsLogin);
      const first = await start(redirecting(other.url.replace('//', `//${login}`)));
      await streams.open(first.url.replace('//', '//guard:word@'));
      return other.last('DESCRIBE').headers.get('authorization') ?? '';
    };
    assert.equal(await proofOf(''), `Basic ${Buffer.from('guard:word').toString('base64')}`);
    assert.equal(await proofOf('a:b@'), `Basic ${Buffer.from('a:b').toString('base64')}`);
  });

  it('get no login of another host', async () => {
    const other = await start({ DESCRIBE: (request) => reply(request, 401, WANTS_LOGIN) });
    const first = await start(redirecting(other.url.replace('127.0.0.1', 'localhost')));
    const url = first.url.replace('//', '//guard:word@');
    assert.equal((await streams.refusal(url, 'VIDEO_FAILED', { relays: BOTH })).cause.status, 401);
    for (const { headers } of other.requests) assert.equal(headers.get('authorization'), undefined);
  });

  const NO_HOSTS = ['rtsp://', 'rtsp:///a', 'rtsp://a b/', 'rtsp://a@b@c/', ''];
  for (const url of ['http://127.0.0.1/a', `rtsp://a/${'a'.repeat(5000)}`, ...NO_HOSTS])
    it(`are not looked for where the URL is none that can be opened safely: ${url.slice(0, 30)}`, async () => {
      await streams.refusal(url, 'VIDEO_FAILED');
    });

  /** To the first of these addresses that takes the connection. */
  const connectTo = (port: number, ...addresses: string[]): ReturnType<typeof connect> =>
    connect({
      host: 'relay.invalid',
      port,
      isSecure: false,
      addresses: addresses.map((address) => ({ address, family: isIP(address) })),
      name: 'it',
      ms: 20_000,
    });

  it('are found at whichever of their addresses takes the connection', async () => {
    const socket = await connectTo((await start()).port, '::1', '127.0.0.1');
    assert.equal(socket.remoteAddress, '127.0.0.1');
    socket.destroy();
  });

  it('are NETWORK where none of their addresses takes the connection', async () => {
    const relay = await ScriptedRelay.start();
    const { port, url } = relay;
    await relay.close();
    await errorOf(connectTo(port, '127.0.0.1', '127.0.0.2', '::1'), 'NETWORK');
    await streams.refusal(url, 'NETWORK');
  });

  it('are NETWORK where the name leads nowhere', async () => {
    await streams.refusal(`rtsp://${'x'.repeat(64)}.invalid/live`, 'NETWORK');
  });
});

describe('the hosts of relays', () => {
  const ROWS: [host: string, suffix: string | undefined, isGood: boolean, first?: string][] = [
    ['relay.example', 'relay.example', true],
    ['a.relay.example', 'relay.example', true],
    ['a.relay.example', '.relay.example', true],
    ['A.Relay.Example', 'relay.EXAMPLE', true],
    ['a.relay.example.', 'relay.example', true],
    ['relay.example', ' relay.example ', true],
    ['2001:db8::1', '[2001:db8::1]', true],
    ['evilrelay.example', 'relay.example', false],
    ['relay.example.evil.example', 'relay.example', false],
    ['example', 'relay.example', false],
    ['relay.example', '', false],
    ['relay.example', '.', false],
    ['a.example', undefined, true],
    // Of a redirect.
    ['A.example.', undefined, true, 'a.example'],
    ['b.a.example', undefined, false, 'a.example'],
  ];
  for (const [host, suffix, isGood, first = host] of ROWS)
    it(`${host} is ${isGood ? 'one' : 'none'} of ${JSON.stringify(suffix)}, from ${first}`, async () => {
      const rules = { suffixes: suffix === undefined ? [] : ['other.example', suffix], localAllowed: false };
      const checked = async (): Promise<void> =>
        checkHost(rules, { host, port: 554 }, { host: first, port: 554 });
      await (isGood ? checked() : errorOf(checked(), 'UNTRUSTED_LINK'));
    });
});

describe('an address of this machine or of a private network', () => {
  const listed = (text: string): string[] => text.trim().split(/\s+/);

  const LOCAL_ONES = `
    127.0.0.1 127.255.255.255 0.0.0.0 0.1.2.3 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1
    169.254.169.254 100.64.0.1 100.127.255.255 224.0.0.1 239.255.255.255 255.255.255.255 240.0.0.1
    198.18.0.1 192.0.0.8 :: ::1 fe80::1 fe80::1%eth0 febf::1 fec0::1 fc00::1 fd12:3456::1 ff02::1
    ::ffff:127.0.0.1 ::ffff:10.1.2.3 ::ffff:a9fe:a9fe ::127.0.0.1 ::10.0.0.1 ::ffff:0:127.0.0.1
    64:ff9b::127.0.0.1 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 64:ff9b:1:2::a00:1
    2002:7f00:1:: 2002:a00:1::1 2002:c0a8:101:: 2001::1`;
  for (const address of listed(LOCAL_ONES)) it(`is ${address}`, () => assert.equal(isLocal(address), true));

  const OTHERS = `
    1.1.1.1 9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.1.1 100.63.0.1 100.128.0.1
    169.253.1.1 126.255.255.255 128.0.0.1 223.255.255.255 2606:4700::1111 2a00::1 ::ffff:1.1.1.1
    64:ff9b::1.1.1.1 2002:101:101::`;
  for (const address of listed(OTHERS)) it(`is not ${address}`, () => assert.equal(isLocal(address), false));
});
