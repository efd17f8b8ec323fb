import assert from 'node:assert/strict';
import http from 'node:http';
import net from 'node:net';
import { Senders } from '../../lib/webhook/request';

/** A request over a connection from `peer`, with `X-Forwarded-For` as Node hands it over. */
function requestFrom(peer: string, forwarded?: string): http.IncomingMessage {
  const socket = Object.defineProperty(new net.Socket(), 'remoteAddress', { value: peer });
  const req = new http.IncomingMessage(socket);
  if (forwarded !== undefined) req.headers['x-forwarded-for'] = forwarded;
  return req;
}

function senderBehind(proxies: readonly string[], peer: string, forwarded?: string): string | undefined {
  const senders = new Senders();
  senders.setProxies(proxies);
  return senders.addressOf(requestFrom(peer, forwarded));
}

describe('the sender of a request', () => {
  const [PEER, PROXY, SENDER] = ['192.0.2.1', '10.0.0.5', '198.51.100.1'];
  const fifty = Array.from({ length: 50 }, (_, index) => `198.51.100.${index}`).join(', ');
  for (const [title, proxies, peer, forwarded, expected] of [
    ['is its peer without proxies, whatever X-Forwarded-For says', [], PEER, SENDER, PEER],
    ['is its peer where that is no proxy', [PROXY], PEER, SENDER, PEER],
    ['is what a proxy says', [PROXY], PROXY, SENDER, SENDER],
    ['is the last of 50 addresses behind a proxy', [PROXY], PROXY, fifty, '198.51.100.49'],
    ['is found behind several', [PROXY, '10.0.0.6'], PROXY, `203.0.113.7, ${SENDER}, 10.0.0.6`, SENDER],
    ['is the proxy where the header is missing', [PROXY], PROXY, undefined, PROXY],
    ['is the proxy where the header is junk', [PROXY], PROXY, `${SENDER}, \u001b[31m<x>`, PROXY],
    ['may come with a port', [PROXY], PROXY, `${SENDER}:4711`, SENDER],
    ['may be of IPv6, in brackets too', [PROXY], PROXY, '[2001:db8::7]:4711', '2001:db8::7'],
    ['is found behind a proxy that shows as IPv6', [PROXY], `::ffff:${PROXY}`, SENDER, SENDER],
    ['is found behind IPv6 in another spelling', ['2001:DB8:0::5'], '2001:db8::5', SENDER, SENDER],
    ['has no endless zone', [PROXY], PROXY, `fe80::1%${'a'.repeat(5000)}`, PROXY],
  ] as const)
    it(`C-91 ${title}`, () => assert.equal(senderBehind(proxies, peer, forwarded), expected));

  it('C-49 is not counted by the address of this machine or of a proxy', () => {
    const senders = new Senders();
    senders.setProxies([PROXY]);
    const isShared = (address: string): boolean => senders.isShared(address);
    const shared = ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1', '10.0.0.5', '::ffff:10.0.0.5'];
    assert.ok(shared.every(isShared));
    assert.ok(!['192.0.2.1', '2001:db8::1', '', '10.0.0.50'].some(isShared));
  });

  it('refuses what is no address of a proxy, by its name, and keeps the proxies of before', () => {
    const senders = new Senders();
    senders.setProxies(['10.0.0.5']);
    const refusal = { code: 'BAD_INPUT', message: /"proxy.example"/ };
    assert.throws(() => senders.setProxies(['10.0.0.6', 'proxy.example']), refusal);
    assert.deepEqual([senders.isShared('10.0.0.5'), senders.isShared('10.0.0.6')], [true, false]);
  });
});
