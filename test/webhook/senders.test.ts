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
  const fifty = Array.from({ length: 50 }, (_, index) => `198.51.100.${index}`).join(', ');
  const cases: [string, readonly string[], string, string | undefined, string][] = [
    [
      'is its peer without proxies, whatever X-Forwarded-For says',
      [],
      '192.0.2.1',
      '198.51.100.1',
      '192.0.2.1',
    ],
    ['is its peer where that is no proxy', ['10.0.0.5'], '192.0.2.1', '198.51.100.1', '192.0.2.1'],
    ['is what a proxy says', ['10.0.0.5'], '10.0.0.5', '198.51.100.1', '198.51.100.1'],
    ['is the last of 50 addresses behind a proxy', ['10.0.0.5'], '10.0.0.5', fifty, '198.51.100.49'],
    [
      'is found behind several proxies',
      ['10.0.0.5', '10.0.0.6'],
      '10.0.0.5',
      '203.0.113.7, 198.51.100.1, 10.0.0.6',
      '198.51.100.1',
    ],
    ['is the proxy where the header is missing', ['10.0.0.5'], '10.0.0.5', undefined, '10.0.0.5'],
    [
      'is the proxy where the header is junk',
      ['10.0.0.5'],
      '10.0.0.5',
      '198.51.100.1, \u001b[31m<x>',
      '10.0.0.5',
    ],
    ['may come with a port', ['10.0.0.5'], '10.0.0.5', '198.51.100.1:4711', '198.51.100.1'],
    ['may be of IPv6, in brackets too', ['10.0.0.5'], '10.0.0.5', '[2001:db8::7]:4711', '2001:db8::7'],
    [
      'is found behind a proxy that shows as IPv6',
      ['10.0.0.5'],
      '::ffff:10.0.0.5',
      '198.51.100.1',
      '198.51.100.1',
    ],
    [
      'is found behind a proxy of IPv6 in another spelling',
      ['2001:DB8:0::5'],
      '2001:db8::5',
      '198.51.100.1',
      '198.51.100.1',
    ],
    ['has no endless zone', ['10.0.0.5'], '10.0.0.5', `fe80::1%${'a'.repeat(5000)}`, '10.0.0.5'],
  ];
  for (const [title, proxies, peer, forwarded, expected] of cases) {
    it(`C-91 ${title}`, () => assert.equal(senderBehind(proxies, peer, forwarded), expected));
  }

  it('C-49 is not counted by the address of this machine or of a proxy', () => {
    const senders = new Senders();
    senders.setProxies(['10.0.0.5']);
    const shared = ['127.0.0.1', '127.8.9.10', '::1', '::ffff:127.0.0.1', '10.0.0.5', '::ffff:10.0.0.5'];
    assert.deepEqual(
      shared.filter((address) => !senders.isShared(address)),
      [],
    );
    assert.deepEqual(
      ['192.0.2.1', '2001:db8::1', '', '10.0.0.50'].filter((address) => senders.isShared(address)),
      [],
    );
  });

  it('refuses what is no address of a proxy, by its name, and keeps the proxies of before', () => {
    const senders = new Senders();
    senders.setProxies(['10.0.0.5']);
    assert.throws(() => senders.setProxies(['10.0.0.6', 'proxy.example']), {
      code: 'BAD_INPUT',
      message: /"proxy.example"/,
    });
    assert.deepEqual([senders.isShared('10.0.0.5'), senders.isShared('10.0.0.6')], [true, false]);
  });
});
