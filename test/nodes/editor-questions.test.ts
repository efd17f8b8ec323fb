import assert from 'node:assert/strict';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { act, look, tokenOf, USERS, type User } from '../support/node-red/inboxes-open';
import { cloud, PHRASE, station } from '../support/node-red/flows';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { freePort, NodeRed, ROOT, watched } from '../support/node-red/node-red';
import { needs } from '../support/suite/programs';
import { ownPtzLinks } from '../support/service/peculiarities';
import { ScriptedStation } from '../support/service/scripted-station';
import { selfSigned } from '../support/network/certificates';
import { StationFlow } from '../support/node-red/station-flow';

/** Who may ask what. */
const READ = [
  'devices',
  'targets',
  'overview',
  'picture',
  'history',
  'video/stream',
  'video/picture',
  'video/clip.mp4',
];
const WRITE = [
  'devices',
  'targets',
  'station-test',
  'webhook-test',
  'problems-seen',
  'dead-letters',
  'quarantine',
  'abandoned-events',
  'sandbox-alarms',
  'sandbox-sites',
];

const ROUTE = /RED\.httpAdmin\.(get|post|put|delete|all|use)/;

interface Step {
  step: string;
  outcome: string;
  detail: string;
  code?: string;
}

/** What a dialog sends of a cloud and a station that are not deployed. */
function draft(url: string, credentials: Record<string, string> = {}): object {
  return { station: { name: 'New', scheme: 'https' }, cloud: { url }, credentials };
}

const TYPED = { apiKey: 'key', username: 'agent', password: 'word' };

describe('questions of the editor', () => {
  it('all come through one door, where the permission is checked', () => {
    const files = fs.readdirSync(path.join(ROOT, 'nodes'), { recursive: true, encoding: 'utf8' });
    const users = files
      .filter((file) => file.endsWith('.ts'))
      .filter((file) => ROUTE.test(fs.readFileSync(path.join(ROOT, 'nodes', file), 'utf8')));
    assert.deepEqual(users, [path.join('support', 'admin-routes.ts')]);
  });

  for (const version of NODE_RED_VERSIONS) {
    describe(`to Node-RED ${version} with users`, () => {
      let nodeRed: NodeRed;
      let tokens: Record<User, string>;

      before(async () => {
        nodeRed = await NodeRed.start({ version, settings: USERS });
        const [admin = '', operator = '', reader = '', stranger = ''] = await Promise.all(
          (['admin', 'operator', 'reader', 'stranger'] as const).map((user) => tokenOf(nodeRed, user)),
        );
        tokens = { admin, operator, reader, stranger };
      });
      after(() => nodeRed.stopAndRemove());

      for (const question of READ) {
        it(`what is read, ${question}, needs a login that may look`, async () => {
          assert.equal((await look(nodeRed, question)).status, 401);
          assert.equal((await look(nodeRed, question, tokens.stranger)).status, 401);
          assert.notEqual((await look(nodeRed, question, tokens.reader)).status, 401);
          assert.notEqual((await look(nodeRed, question, tokens.admin)).status, 401);
        });
      }

      for (const question of ['devices', 'targets', 'station-test']) {
        it(`what is asked of an address that is not deployed, ${question}, needs a login that may deploy`, async () => {
          assert.equal((await act(nodeRed, question, {}, tokens.operator)).status, 401);
          assert.equal((await act(nodeRed, question, {}, tokens.admin)).status, 422);
        });
      }

      it('the test of what is deployed needs no login that may deploy', async () => {
        const asked = { station: 'nobody' };
        assert.equal((await act(nodeRed, 'station-test', asked, tokens.operator)).status, 422);
      });

      for (const question of WRITE) {
        it(`what is done, ${question}, needs a login that may change things`, async () => {
          assert.equal((await act(nodeRed, question, {})).status, 401);
          assert.equal((await act(nodeRed, question, {}, tokens.reader)).status, 401);
          assert.equal((await act(nodeRed, question, {}, tokens.admin)).status, 422);
        });
      }
    });
  }

  describe('about stations', () => {
    let flow: StationFlow;

    before(async () => {
      flow = await StationFlow.start('5');
      await flow.deployFlows(flow.flows({}));
    });
    after(() => flow.stop());

    it('lists the cameras of a station that is deployed', async () => {
      const { status, body } = await look(flow.nodeRed, 'devices?station=station');
      const devices = body.devices as { id: string; name: string; site: string; online: boolean }[];
      assert.equal(status, 200);
      assert.equal(devices.length, 24);
      assert.deepEqual(Object.keys(devices[0] ?? {}).sort(), ['id', 'name', 'online', 'site', 'status']);
    });

    it('lists presets and tours of a camera', async () => {
      const camera = await flow.camera(({ ptz, status }) => ptz !== null && status === 'online');
      for (const list of ['presets', 'tours']) {
        const asked = await look(flow.nodeRed, `targets?station=station&camera=${camera.id}&list=${list}`);
        const [first] = asked.body.targets as { id: string; name: string }[];
        assert.equal(typeof first?.id, 'string');
        assert.notEqual(first?.name, '');
      }
    });

    it('says that a station has to be deployed first', async () => {
      const { status, body } = await look(flow.nodeRed, 'devices?station=nobody');
      assert.equal(status, 422);
      assert.match(String(body.message), /deploy the flow first/);
    });

    it('lists the cameras of a sandbox that is not deployed yet, with the ids they will have', async () => {
      const first = await act(flow.nodeRed, 'devices', draft('sandbox'));
      const second = await act(flow.nodeRed, 'devices', draft('sandbox'));
      assert.equal((first.body.devices as unknown[]).length, 24);
      assert.deepEqual(first.body, second.body);
    });

    it('repeats nothing of what an address says that is not deployed', async () => {
      const scripted = await ScriptedStation.start();
      try {
        const { service } = scripted;
        service.on('GET', '/system', { status: 500, json: { code: 'Inner', message: 'root:x:0:0' } });
        const { status, body } = await act(flow.nodeRed, 'devices', draft(service.url, TYPED));
        assert.deepEqual([status, body.code], [422, 'HTTP_ERROR']);
        assert.doesNotMatch(JSON.stringify(body), /root|Inner/);
      } finally {
        await scripted.close();
      }
    });

    it('lists the cameras of a service with what was typed, and no deploy', async () => {
      const { sandbox, credentials, nodeRed } = flow;
      const typed = {
        apiKey: sandbox.apiKey,
        username: credentials.username,
        password: credentials.password,
      };
      const { body } = await act(nodeRed, 'devices', draft(sandbox.url, typed));
      assert.equal((body.devices as unknown[]).length, 24);
    });

    it('uses nothing stored for an address that comes along, and no variable', async () => {
      const service = await ScriptedStation.start();
      const bare = await act(flow.nodeRed, 'devices', draft(service.service.url));
      assert.equal(bare.body.code, 'CONFIG_MISSING');
      const named = draft(service.service.url, { apiKey: '${HOME}', username: 'a', password: 'b' });
      const variable = await act(flow.nodeRed, 'devices', named);
      assert.match(String(variable.body.message), /HOME is read by deployed nodes only/);
      const both = { ...draft(service.service.url), station: { id: 'station' }, id: 'station' };
      assert.equal((await act(flow.nodeRed, 'devices', both)).body.code, 'CONFIG_MISSING');
      assert.equal(service.service.count('GET', '/system'), 0);
      await service.close();
    });

    it('does nothing for a form of another web page, which has no JSON', async () => {
      for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
        const body = JSON.stringify(draft('sandbox'));
        const headers = { 'Content-Type': type };
        const response = await fetch(`${flow.nodeRed.url}/rvm/devices`, { method: 'POST', headers, body });
        assert.equal(response.status, 415);
      }
    });

    describe('the test of a station', () => {
      async function steps(body: object): Promise<Step[]> {
        const { status, body: answer } = await act(flow.nodeRed, 'station-test', body);
        assert.equal(status, 200);
        return answer.steps as Step[];
      }

      /** The first step that has not worked; all before it have. */
      function failure(results: Step[]): Step {
        const place = results.findIndex(({ outcome }) => outcome === 'failed');
        assert.ok(results.slice(0, place).every(({ outcome }) => outcome === 'ok'));
        assert.ok(results.slice(place + 1).every(({ outcome }) => outcome === 'open'));
        const failed = results[place];
        assert.ok(failed !== undefined, JSON.stringify(results));
        return failed;
      }

      it('goes all the way to the codec of the video, and tells no URL', async () => {
        const results = await steps({ station: 'station' });
        assert.deepEqual(
          results.map(({ outcome }) => outcome),
          results.map(() => 'ok'),
        );
        assert.equal(results.at(-1)?.detail, 'H264');
        assert.doesNotMatch(JSON.stringify(results), /rtsp:\/\/[^"]*\//);
      });

      it('goes as far with the sandbox that is not deployed yet', async () => {
        assert.equal((await steps(draft('sandbox'))).at(-1)?.detail, 'H264');
      });

      for (const [fault, credentials, step] of [
        ['a missing password', { apiKey: 'k', username: 'u' }, 'settings'],
        ['a wrong key', { apiKey: 'wrong', username: 'u', password: 'p' }, 'key'],
      ] as const) {
        it(`stops at ${step} with ${fault}`, async () => {
          assert.equal(failure(await steps(draft(flow.sandbox.url, credentials))).step, step);
        });
      }

      it('says of presets that have no link to be called by what is missing and what is offered', async () => {
        const scripted = await ScriptedStation.start();
        const { service } = scripted;
        try {
          ownPtzLinks(service, 'rel/self rel/start rel/stop');
          const { apiKey, username, password } = service;
          const results = await steps(draft(service.url, { apiKey, username, password }));
          const { detail, ...ptz } = results.find(({ step }) => step === 'ptz') ?? assert.fail();
          assert.deepEqual(ptz, { step: 'ptz', outcome: 'failed', code: 'LINK_NOT_OFFERED' });
          assert.match(
            detail,
            /^"Gate": The preset "Door" does not offer rel\/trigger .*It offers rel\/self\.$/,
          );
        } finally {
          await scripted.close();
        }
      });

      it('stops at the login with a wrong password', async () => {
        const typed = { apiKey: flow.sandbox.apiKey, username: 'nobody', password: 'wrong' };
        const failed = failure(await steps(draft(flow.sandbox.url, typed)));
        assert.deepEqual([failed.step, failed.code], ['login', 'LOGIN_FAILED']);
      });

      it('takes no key of a stored TLS node, and no login of a stored proxy node, for what is not deployed', async function () {
        needs(this, 'openssl');
        const { cert, key } = selfSigned();
        const nodes = [
          {
            id: 'tls',
            type: 'tls-config',
            name: '',
            cert: '',
            key: '',
            ca: '',
            verifyservercert: true,
            credentials: { certdata: cert, keydata: key },
          },
          {
            id: 'proxy',
            type: 'http proxy',
            name: '',
            url: 'http://127.0.0.1:9',
            noproxy: [],
            credentials: { username: 'u', password: 'p' },
          },
          { id: 'bare', type: 'http proxy', name: '', url: 'u:p@127.0.0.1:9', noproxy: [] },
        ];
        await flow.deployFlows([...flow.flows({}), ...nodes]);
        for (const [reach, what] of [
          [{ tls: 'tls' }, /key of the TLS node/],
          [{ proxy: 'proxy' }, /login of the proxy/],
          [{ proxy: 'bare' }, /login of the proxy/],
        ] as const) {
          const asked = { station: {}, cloud: { url: 'http://127.0.0.1:9', ...reach }, credentials: {} };
          const { status, body } = await act(flow.nodeRed, 'devices', asked);
          assert.equal(status, 422);
          assert.match(String(body.message), what);
        }
      });

      it('stops at the service where nothing listens', async () => {
        const typed = { apiKey: 'k', username: 'u', password: 'p' };
        const failed = failure(await steps(draft(`http://127.0.0.1:${await freePort()}`, typed)));
        assert.deepEqual([failed.step, failed.code], ['reachable', 'NETWORK']);
      });

      it('stops at the relay whose port is closed, and at one that does not speak RTSP', async () => {
        const scripted = await ScriptedStation.start();
        const { service } = scripted;
        const closed = await freePort();
        const typed = { apiKey: service.apiKey, username: service.username, password: service.password };
        service.on('POST', '/rtsp/Gate', { json: { rtspRelayURL: `rtsp://127.0.0.1:${closed}/live` } });
        const blocked = failure(await steps(draft(service.url, typed)));
        assert.deepEqual([blocked.step, blocked.code], ['relay', 'NETWORK']);

        const mute = net.createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
        await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
        const { port } = mute.address() as net.AddressInfo;
        service.on('POST', '/rtsp/Gate', { json: { rtspRelayURL: `rtsp://127.0.0.1:${port}/live` } });
        assert.equal(failure(await steps(draft(service.url, typed))).step, 'video');
        mute.close();
        await scripted.close();
      });

      it('stops at the video session of a camera whose data sources offer none', async () => {
        const scripted = await ScriptedStation.start();
        const { service } = scripted;
        service.on('GET', '/sources/Gate', { json: {} });
        const typed = { apiKey: service.apiKey, username: service.username, password: service.password };
        assert.equal(failure(await steps(draft(service.url, typed))).step, 'rtsp');
        await scripted.close();
      });
    });
  });

  it('about a station whose settings name a variable are answered once it is deployed', async () => {
    const scripted = await ScriptedStation.start();
    const { url, apiKey, username, password } = scripted.service;
    const nodeRed = await NodeRed.start({ env: { RVM_TEST_URL: url } });
    const credentials = { username, password, secret: PHRASE };
    await nodeRed.deploy(
      watched(cloud({ url: '${RVM_TEST_URL}', credentials: { apiKey } }), station({ credentials })),
    );
    const { body } = await look(nodeRed, 'devices?station=station');
    assert.equal((body.devices as unknown[]).length, scripted.service.devices.length);
    await nodeRed.stopAndRemove();
    await scripted.close();
  });
});
