import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { OddServer } from '../support/network/servers';
import { act, look, tokenOf, USERS, type User } from '../support/node-red/inboxes-open';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { freePort, NodeRed, ROOT } from '../support/node-red/node-red';
import { needs } from '../support/suite/programs';
import { ownPtzLinks } from '../support/service/forked-services';
import { ScriptedService } from '../support/service/scripted-service';
import { selfSigned } from '../support/network/certificates';
import { canMove, describeWith, StationFlow } from '../support/node-red/station-flow';

const KEY = 'key-of-the-test';
const WITH_KEY = { versions: ['5'], sandbox: { apiKey: KEY }, env: { RVM_TEST_KEY: KEY } } as const;

const READ = 'devices targets overview picture history video/stream video/picture video/clip.mp4'.split(' ');
const WRITE = (
  'devices targets station-test webhook-test problems-seen dead-letters quarantine abandoned-events ' +
  'sandbox-alarms sandbox-sites'
).split(' ');

const ROUTE = /RED\.httpAdmin\.(get|post|put|delete|all|use)/;

interface Step {
  step: string;
  outcome: string;
  detail: string;
  code?: string;
}

type Login = Record<'apiKey' | 'username' | 'password', string>;

const draft = (url: string, credentials: Partial<Login> = {}): object => ({
  station: { name: 'New', scheme: 'https' },
  cloud: { url },
  credentials,
});

const draftOf = ({ url, apiKey, username, password }: Login & { url: string }): object =>
  draft(url, { apiKey, username, password });

describe('questions of the editor', () => {
  it('all come through one door, where the permission is checked', () => {
    const files = fs.readdirSync(path.join(ROOT, 'nodes'), { recursive: true, encoding: 'utf8' });
    const users = files
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => ROUTE.test(fs.readFileSync(path.join(ROOT, 'nodes', file), 'utf8')));
    assert.deepEqual(users, [path.join('support', 'admin-routes.ts')]);
  });

  for (const version of NODE_RED_VERSIONS)
    describe(`to Node-RED ${version} with users`, () => {
      const nodeRed = NodeRed.ofGroup({ version, settings: USERS });
      let tokens: Record<User, string>;
      before(async () => {
        const users = ['admin', 'operator', 'reader', 'stranger'] as const;
        const all = await Promise.all(users.map(async (user) => [user, await tokenOf(nodeRed, user)]));
        tokens = Object.fromEntries(all) as Record<User, string>;
      });

      const read = async (question: string, token?: string) => (await look(nodeRed, question, token)).status;
      const done = async (question: string, token?: string, asked = {}): Promise<number> =>
        (await act(nodeRed, question, asked, token)).status;

      for (const question of READ)
        it(`what is read, ${question}, needs a login that may look`, async () => {
          for (const token of [undefined, tokens.stranger]) assert.equal(await read(question, token), 401);
          for (const token of [tokens.reader, tokens.admin])
            assert.notEqual(await read(question, token), 401);
        });

      for (const question of ['devices', 'targets', 'station-test'])
        it(`what is asked of an address that is not deployed, ${question}, needs a login that may deploy`, async () => {
          assert.equal(await done(question, tokens.operator), 401);
          assert.equal(await done(question, tokens.admin), 422);
        });

      it('the test of what is deployed needs no login that may deploy', async () =>
        assert.equal(await done('station-test', tokens.operator, { station: 'nobody' }), 422));

      for (const question of WRITE)
        it(`what is done, ${question}, needs a login that may change things`, async () => {
          for (const token of [undefined, tokens.reader]) assert.equal(await done(question, token), 401);
          assert.equal(await done(question, tokens.admin), 422);
        });
    });
});

describeWith(StationFlow, 'questions of the editor about stations', WITH_KEY, (flow) => {
  before(() => flow.deployFlows(flow.flows({})));

  async function scripted(work: (service: ScriptedService) => Promise<void>): Promise<void> {
    const service = await ScriptedService.start();
    try {
      await work(service);
    } finally {
      await service.close();
    }
  }

  const sandbox = (): Login & { url: string } => {
    const { url, apiKey } = flow.sandbox;
    return { ...flow.credentials, url, apiKey };
  };

  it('lists the cameras of a station that is deployed', async () => {
    const { status, body } = await look(flow.nodeRed, 'devices?station=station');
    const devices = body.devices as Record<string, unknown>[];
    assert.deepEqual([status, devices.length], [200, 24]);
    assert.deepEqual(Object.keys(devices[0] ?? {}).sort(), ['id', 'name', 'online', 'site', 'status']);
  });

  for (const list of ['presets', 'tours'])
    it(`lists ${list} of a camera`, async () => {
      const { id } = await flow.camera(canMove);
      const asked = await look(flow.nodeRed, `targets?station=station&camera=${id}&list=${list}`);
      const [first] = asked.body.targets as { id: string; name: string }[];
      assert.equal(typeof first?.id, 'string');
      assert.notEqual(first?.name, '');
    });

  it('says that a station has to be deployed first', async () => {
    const { status, body } = await look(flow.nodeRed, 'devices?station=nobody');
    assert.equal(status, 422);
    assert.match(String(body.message), /deploy the flow first/);
  });

  it('lists the cameras of a sandbox that is not deployed yet, with the ids they will have', async () => {
    const first = await act(flow.nodeRed, 'devices', draft('sandbox'));
    assert.equal((first.body.devices as unknown[]).length, 24);
    assert.deepEqual((await act(flow.nodeRed, 'devices', draft('sandbox'))).body, first.body);
  });

  it('repeats nothing of what an address says that is not deployed', () =>
    scripted(async (service) => {
      service.on('GET', '/system', { status: 500, json: { code: 'Inner', message: 'root:x:0:0' } });
      const typed = { apiKey: 'key', username: 'agent', password: 'word' };
      const { status, body } = await act(flow.nodeRed, 'devices', draft(service.url, typed));
      assert.deepEqual([status, body.code], [422, 'HTTP_ERROR']);
      assert.doesNotMatch(JSON.stringify(body), /root|Inner/);
    }));

  it('lists the cameras of a service with what was typed, and no deploy', async () => {
    const { body } = await act(flow.nodeRed, 'devices', draftOf(sandbox()));
    assert.equal((body.devices as unknown[]).length, 24);
  });

  it('uses nothing stored for an address that comes along, and no variable', () =>
    scripted(async (service) => {
      const asked = async (what: object) => (await act(flow.nodeRed, 'devices', what)).body;
      assert.equal((await asked(draft(service.url))).code, 'CONFIG_MISSING');
      const named = await asked(draft(service.url, { apiKey: '${HOME}', username: 'a', password: 'b' }));
      assert.match(String(named.message), /HOME is read by deployed nodes only/);
      const both = { ...draft(service.url), station: { id: 'station' }, id: 'station' };
      assert.equal((await asked(both)).code, 'CONFIG_MISSING');
      assert.equal(service.count('GET', '/system'), 0);
    }));

  for (const type of ['text/plain', 'application/x-www-form-urlencoded'])
    it(`does nothing for a form of another web page, which has no JSON: ${type}`, async () => {
      const body = JSON.stringify(draft('sandbox'));
      const headers = { 'Content-Type': type };
      const { status } = await fetch(`${flow.nodeRed.url}/rvm/devices`, { method: 'POST', headers, body });
      assert.equal(status, 415);
    });

  it('takes no key of a stored TLS node, and no login of a stored proxy node, for what is not deployed', async function () {
    needs(this, 'openssl');
    const { cert: certdata, key: keydata } = selfSigned();
    const url = 'http://127.0.0.1:9';
    const files = { name: '', cert: '', key: '', ca: '', verifyservercert: true };
    const proxy = { type: 'http proxy', name: '', noproxy: [] };
    await flow.deployFlows([
      ...flow.flows({}),
      { id: 'tls', type: 'tls-config', ...files, credentials: { certdata, keydata } },
      { id: 'proxy', ...proxy, url, credentials: { username: 'u', password: 'p' } },
      { id: 'bare', ...proxy, url: 'u:p@127.0.0.1:9' },
    ]);
    for (const [reach, what] of [
      [{ tls: 'tls' }, /key of the TLS node/],
      [{ proxy: 'proxy' }, /login of the proxy/],
      [{ proxy: 'bare' }, /login of the proxy/],
    ] as const) {
      const asked = { station: {}, cloud: { url, ...reach }, credentials: {} };
      const { status, body } = await act(flow.nodeRed, 'devices', asked);
      assert.equal(status, 422);
      assert.match(String(body.message), what);
    }
  });

  it('answers about a station whose settings name a variable once it is deployed', async () => {
    await flow.deployFlows(flow.flows({ cloud: { credentials: { apiKey: '${RVM_TEST_KEY}' } } }));
    const { body } = await look(flow.nodeRed, 'devices?station=station');
    assert.equal((body.devices as unknown[]).length, 24);
  });

  describe('the test of a station', () => {
    async function steps(body: object): Promise<Step[]> {
      const { status, body: answer } = await act(flow.nodeRed, 'station-test', body);
      assert.equal(status, 200);
      return answer.steps as Step[];
    }

    /** It stops there: all steps before have worked, and those behind it are open. */
    async function stopsAt(step: string, code: string | undefined, body: object): Promise<void> {
      const results = await steps(body);
      const place = results.findIndex(({ outcome }) => outcome === 'failed');
      assert.partialDeepStrictEqual(results[place], code === undefined ? { step } : { step, code });
      assert.ok(results.slice(0, place).every(({ outcome }) => outcome === 'ok'));
      assert.ok(results.slice(place + 1).every(({ outcome }) => outcome === 'open'));
    }

    it('goes all the way to the codec of the video, and tells no URL', async () => {
      await flow.deployFlows(flow.flows({}));
      const results = await steps({ station: 'station' });
      assert.ok(results.every(({ outcome }) => outcome === 'ok'));
      assert.equal(results.at(-1)?.detail, 'H264');
      assert.doesNotMatch(JSON.stringify(results), /rtsp:\/\/[^"]*\//);
    });

    it('goes as far with the sandbox that is not deployed yet', async () =>
      assert.equal((await steps(draft('sandbox'))).at(-1)?.detail, 'H264'));

    for (const [fault, step, code, typed] of [
      ['a missing password', 'settings', undefined, { apiKey: 'k', username: 'u' }],
      ['a wrong key', 'key', undefined, { apiKey: 'wrong', username: 'u', password: 'p' }],
      ['a wrong password', 'login', 'LOGIN_FAILED', { username: 'nobody', password: 'wrong' }],
    ] as const)
      it(`stops at ${step} with ${fault}`, () =>
        stopsAt(step, code, draft(flow.sandbox.url, { apiKey: flow.sandbox.apiKey, ...typed })));

    it('stops at the service where nothing listens', async () => {
      const typed = { apiKey: 'k', username: 'u', password: 'p' };
      await stopsAt('reachable', 'NETWORK', draft(`http://127.0.0.1:${await freePort()}`, typed));
    });

    it('says of presets that have no link to be called by what is missing and what is offered', () =>
      scripted(async (service) => {
        ownPtzLinks(service, 'rel/self rel/start rel/stop');
        const results = await steps(draftOf(service));
        const { detail, ...ptz } = results.find(({ step }) => step === 'ptz') ?? assert.fail();
        assert.deepEqual(ptz, { step: 'ptz', outcome: 'failed', code: 'LINK_NOT_OFFERED' });
        assert.match(
          detail,
          /^"Gate": The preset "Door" does not offer rel\/trigger .*It offers rel\/self\.$/,
        );
      }));

    it('stops at the relay whose port is closed, and at one that does not speak RTSP', () =>
      scripted(async (service) => {
        const relayAt = (port: number): void =>
          service.on('POST', '/rtsp/Gate', { json: { rtspRelayURL: `rtsp://127.0.0.1:${port}/live` } });
        relayAt(await freePort());
        await stopsAt('relay', 'NETWORK', draftOf(service));

        const odd = await OddServer.raw((socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
        relayAt(odd.port);
        await stopsAt('video', undefined, draftOf(service));
        await odd.close();
      }));

    it('stops at the video session of a camera whose data sources offer none', () =>
      scripted(async (service) => {
        service.on('GET', '/sources/Gate', { json: {} });
        await stopsAt('rtsp', undefined, draftOf(service));
      }));
  });
});
