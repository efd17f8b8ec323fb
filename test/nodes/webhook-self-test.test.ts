import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import type net from 'node:net';
import { act } from '../support/node-red/inboxes-open';
import { webhookFlow } from '../support/node-red/flows';
import { freePort, NodeRed } from '../support/node-red/node-red';
import { whileTimeFlies } from '../support/node-red/node-red-time';
import { needs } from '../support/suite/programs';
import { selfSigned } from '../support/network/certificates';

interface Report {
  url: string;
  failed?: { step: string; fault: string; seen: string };
}

describe('the self-test of a webhook', () => {
  let nodeRed: NodeRed;
  before(async () => (nodeRed = await NodeRed.start()));
  after(() => nodeRed.stopAndRemove());

  async function report(): Promise<Report> {
    const { status, body } = await act(nodeRed, 'webhook-test', { webhook: 'webhook' });
    assert.equal(status, 200, JSON.stringify(body));
    return body as unknown as Report;
  }

  async function failureAt(publicUrl: string): Promise<string[]> {
    await nodeRed.deploy(webhookFlow({ webhook: { publicUrl } }));
    const { failed } = await report();
    return [failed?.step ?? '', failed?.fault ?? ''];
  }

  async function failureBehind(server: http.Server | https.Server, scheme = 'http'): Promise<string[]> {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const { port } = server.address() as net.AddressInfo;
      return await whileTimeFlies(nodeRed, failureAt(`${scheme}://127.0.0.1:${port}`));
    } finally {
      server.close();
    }
  }

  for (const scheme of ['http', 'https'])
    it(`arrives at a station of scheme ${scheme} as problem self-test, durably kept, and as no alarm`, async () => {
      await nodeRed.deploy(webhookFlow({ station: { scheme } }));
      const from = nodeRed.seen.length;
      const { topic, payload } = await nodeRed.next('problems', async () =>
        assert.deepEqual(await report(), { url: `${nodeRed.url}/remote-monitoring/test` }),
      );
      const { station, deliveryId } = payload as Record<string, unknown>;
      assert.deepEqual([topic, station, typeof deliveryId], ['self-test', 'north', 'string']);
      assert.deepEqual([nodeRed.at('alarms', from), nodeRed.at('health', from)], [[], []]);
    });

  it('counts as no problem where output 3 is not wired', async () => {
    await nodeRed.deploy(webhookFlow({ webhook: { wires: [['alarms'], [], []] } }));
    const from = nodeRed.seen.length;
    assert.equal((await report()).failed, undefined);
    assert.ok(nodeRed.statuses('webhook', from).every((text) => !/problem/.test(text)));
  });

  it('tells that the name is unknown, and that there is no connection', async () => {
    assert.deepEqual(await failureAt('http://no-such-host.invalid'), ['name', 'unknown-name']);
    const nobody = `http://127.0.0.1:${await freePort()}`;
    assert.deepEqual(await failureAt(nobody), ['connection', 'no-connection']);
  });

  it('tells that the certificate is not trusted, and sends nothing', async function () {
    needs(this, 'openssl');
    let requests = 0;
    const server = https.createServer(selfSigned(), () => (requests += 1));
    assert.deepEqual(await failureBehind(server, 'https'), ['tls', 'certificate']);
    assert.equal(requests, 0);
  });

  for (const [status, step, fault] of [
    [301, 'answer', 'redirected'],
    [401, 'answer', 'unauthentic'],
    [404, 'answer', 'other-server'],
    [502, 'answer', 'in-front'],
    [200, 'arrival', 'not-arrived'],
  ] as const)
    it(`tells of another server that answers ${status} as ${fault}`, async () => {
      const server = http.createServer((req, res) => {
        req.resume();
        res.writeHead(status, { Location: 'https://elsewhere.example/' }).end();
      });
      assert.deepEqual(await failureBehind(server), [step, fault]);
    });

  for (const [publicUrl, what, reason] of [
    ['alarms.example.com', 'which is none', /enter one that begins with https/],
    ['ftp://alarms.example.com', 'which is none', /enter one that begins with https/],
    ['http://alarms.example.com', 'where the station is registered as https://', /correct one of them/],
  ] as const)
    it(`is refused with a public URL ${publicUrl}, ${what}`, async () => {
      await nodeRed.deploy(webhookFlow({ webhook: { publicUrl }, station: { scheme: 'https' } }));
      const { status, body } = await act(nodeRed, 'webhook-test', { webhook: 'webhook' });
      assert.equal(status, 422);
      assert.match(String(body.message), reason);
    });

  it('is refused where the webhook is not deployed, or cannot take messages', async () => {
    const unknown = await act(nodeRed, 'webhook-test', { webhook: 'nobody' });
    assert.match(String(unknown.body.message), /deploy the flow first/);
    await nodeRed.deploy(webhookFlow({ station: { credentials: { secret: '' } } }));
    const withoutSecret = await act(nodeRed, 'webhook-test', { webhook: 'webhook' });
    assert.equal(withoutSecret.body.code, 'CONFIG_MISSING');
  });
});
