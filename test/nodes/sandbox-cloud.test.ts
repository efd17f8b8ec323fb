import assert from 'node:assert/strict';
import {
  ChangingSetting,
  entrance,
  freePort,
  inject,
  NodeRed,
  probe,
  probes,
  type FlowNode,
  watched,
} from '../support/node-red/node-red';
import { MuteServer } from '../support/network/servers';
import { webhookFlow, cloud, station } from '../support/node-red/flows';
import { needs } from '../support/suite/programs';
import { selfSigned } from '../support/network/certificates';
import { slowIt } from '../support/suite/lanes';
import { codeOf, factsOf, node, shows, overviewOf, type Message } from '../support/node-red/alarms-through';
import { act, look } from '../support/node-red/inboxes-open';

function sandboxFlow(station: Message = {}, cloud: Message = {}, ...further: FlowNode[]): FlowNode[] {
  return webhookFlow(
    {
      cloud: { url: 'sandbox', sandboxEvents: 600, credentials: {}, ...cloud },
      station: { credentials: {}, ...station },
    },
    node('rvm-list-devices', { id: 'list', station: 'station', wires: [['listed'], ['failed']] }),
    ...probes('listed', 'failed'),
    ...entrance('in', 'list'),
    ...further,
  );
}

describe('a cloud whose url is "sandbox"', () => {
  const nodeRed = NodeRed.ofGroup();

  for (const [scheme, proof] of [
    ['http', 'hmac'],
    ['https', 'token'],
  ])
    it(`sends alarms proven by ${proof} to a station registered as ${scheme}, with no further setting`, async () => {
      await nodeRed.deploy(sandboxFlow({ scheme }));
      const msg = await nodeRed.message('alarms', (seen) => factsOf(seen).proof === proof);
      const { sandbox, text, warnings } = factsOf(msg);
      assert.deepEqual([sandbox, warnings], [true, []]);
      assert.match(text, /^SANDBOX /);
      assert.match((msg.payload as { cameraName: string }).cameraName, /SANDBOX/);
    });

  it('shows "sandbox" on every node that uses it, before and after an alarm', async () => {
    await nodeRed.deploy(sandboxFlow());
    await shows(nodeRed, 'status.sandbox', 'list');
    await shows(nodeRed, /^sandbox, last \d/);
  });

  it('takes the credentials of the user where they are filled in', async () => {
    const credentials = { username: 'mine', password: 'my password', secret: 'my own phrase' };
    await nodeRed.deploy(sandboxFlow({ credentials }));
    await nodeRed.next('alarms');
    await nodeRed.next('listed', () => inject(nodeRed, 'in', {}));
  });

  it('says BAD_INPUT, what is wrong, and "wrong setting", for a setting that it cannot take', async () => {
    await nodeRed.deploy(sandboxFlow({}, { sandboxEvents: 1000 }));
    for (const id of ['webhook', 'list']) await shows(nodeRed, 'status.wrongSetting', id);
    await inject(nodeRed, 'in', {});
    const failed = await nodeRed.message('failed');
    assert.equal(codeOf(failed), 'BAD_INPUT');
    assert.match((failed.error as Error).message, /eventsPerMinute must be a number from 0 to 600/);
  });

  it('ends with its cloud node: a flow without it leaves nothing listening', async () => {
    const before = nodeRed.log.length;
    const address = () => /service on (http:\/\/127\.0\.0\.1:\d+)/.exec(nodeRed.log.slice(before))?.[1];
    await nodeRed.deploy(sandboxFlow());
    await nodeRed.until(() => address() !== undefined, 'the address of the sandbox of this flow');
    assert.ok((await fetch(`${address()}/sandbox/state`)).ok, 'it listens');
    await nodeRed.deploy(webhookFlow());
    await assert.rejects(fetch(`${address()}/sandbox/state`), address());
  });

  describe('the onboarding that a sandbox in Node-RED shows', () => {
    const deploy = (): Promise<void> =>
      nodeRed.deploy(
        watched(
          cloud({ url: 'sandbox', sandboxEvents: 0, deviceRefresh: 0, credentials: {} }),
          station({ credentials: {} }),
          station({ id: 'other', name: 'South', key: 'south', credentials: {} }),
          node('rvm-list-devices', { id: 'list', station: 'station', wires: [['listed'], []] }),
          probe('listed'),
          ...entrance('in', 'list'),
        ),
      );

    async function listed(): Promise<string[]> {
      const { payload } = await nodeRed.next('listed', () => inject(nodeRed, 'in', {}));
      return (payload as { site: string }[]).map(({ site }) => site);
    }

    async function pickedOf(id: string): Promise<number> {
      const { body } = await look(nodeRed, `devices?station=${id}`);
      return (body.devices as unknown[]).length;
    }

    const pending = async () => (await overviewOf(nodeRed)).pending;

    /** Deploys, and gives the only site that waits, with the sites of the cameras that are listed. */
    async function begin() {
      await deploy();
      const sites = await listed();
      const [request, ...others] = await pending();
      assert.deepEqual(others, []);
      return { request: request ?? assert.fail('there is none'), sites };
    }

    it('begins with one site that is pending, of which no camera is listed', async () => {
      const { request, sites } = await begin();
      assert.match(request.site, /^SANDBOX /);
      assert.equal(sites.length, 24);
      assert.ok(!sites.includes(request.site), request.site);
    });

    it('lists the cameras at once when the site is accepted, for every station of the cloud', async () => {
      const { cloud: id, customer, site } = (await begin()).request;
      const before = await pickedOf('other');
      assert.equal((await act(nodeRed, 'sandbox-sites', { cloud: id, customer })).status, 200);
      const sites = await listed();
      assert.equal(sites.filter((name) => name === site).length, 2);
      assert.equal(await pickedOf('other'), before + 2);
      assert.deepEqual(await pending(), []);
    });

    it('accepts nothing twice, and nothing that there is not', async () => {
      const { cloud: id, customer } = (await begin()).request;
      await act(nodeRed, 'sandbox-sites', { cloud: id, customer });
      for (const asked of [
        { cloud: id, customer },
        { cloud: id, customer: 'nobody' },
        { cloud: 'station', customer },
      ]) {
        const { status, body } = await act(nodeRed, 'sandbox-sites', asked);
        assert.equal(status, 422);
        assert.match(String(body.message), /not pending any more/);
      }
    });

    it('is no matter of a real service', async () => {
      await nodeRed.deploy(webhookFlow());
      assert.deepEqual(await pending(), []);
    });
  });
});

describe('the sandbox and settings.js', () => {
  const setting = new ChangingSetting('rvmSandbox');
  const nodeRed = NodeRed.ofGroup({ settings: setting.text });
  after(() => setting.remove());
  let seen = 0;
  let logged = 0;

  /** Deploys under another setting; from then on, `seen` and `log` count. */
  async function deployWith(value: string, flow = sandboxFlow()): Promise<void> {
    await nodeRed.deploy(webhookFlow());
    setting.set(value);
    [seen, logged] = [nodeRed.seen.length, nodeRed.log.length];
    await nodeRed.deploy(flow);
  }

  const log = (): string => nodeRed.log.slice(logged);

  async function message(probed: string): Promise<Message> {
    await nodeRed.until(() => nodeRed.at(probed, seen).length > 0, `a message at "${probed}"`);
    return nodeRed.at(probed, seen)[0] ?? {};
  }

  for (const forbidding of ['false', "'false'", '0', 'null'])
    it(`rvmSandbox: ${forbidding} forbids it: red status, CONFIG_MISSING, no alarm, nothing listens`, async () => {
      await deployWith(forbidding);
      await shows(nodeRed, 'status.sandboxForbidden', 'webhook', seen);
      await inject(nodeRed, 'in', {});
      const failed = await message('failed');
      assert.equal(codeOf(failed), 'CONFIG_MISSING');
      assert.match((failed.error as Error).message, /rvmSandbox/);
      assert.doesNotMatch(log(), /sandbox started/);
      assert.equal(nodeRed.at('alarms', seen).length, 0);
    });

  it('rvmSandbox: { port, rtspPort } places it', async () => {
    const [port, rtspPort] = [await freePort(), await freePort()];
    await deployWith(`{ port: ${port}, rtspPort: ${rtspPort} }`);
    await message('alarms');
    const places = `http://127.0.0.1:${port}, video on rtsp://127.0.0.1:${rtspPort}`;
    await nodeRed.logged(new RegExp(places), logged);
  });

  describe("rvmSandbox: { liveStyle: 'live' }", () => {
    /** Asks for live video of the first camera as the cloud says, and waits for what comes out at a probe. */
    async function live(liveStyle: string, result: 'played' | 'failed'): Promise<Message> {
      const camera = { camera: 'camera', cameraType: 'msg', mode: 'live', station: 'station' };
      const getRtsp = node('rvm-get-rtsp', { id: 'rtsp', ...camera, wires: [['played'], ['failed']] });
      const further = [getRtsp, probe('played'), ...entrance('play', 'rtsp')];
      const flow = sandboxFlow({}, { liveStyle, sandboxEvents: 0 }, ...further);
      await deployWith("{ liveStyle: 'live' }", flow);
      await inject(nodeRed, 'in', {});
      const [first] = (await message('listed')).payload as { id: string }[];
      await inject(nodeRed, 'play', { camera: first?.id });
      return message(result);
    }

    it('gives live video to a cloud that asks with the time "live"', async () =>
      assert.match(String((await live('live', 'played')).payload), /^rtsp:/));

    it('refuses a cloud that asks without a time', async () => {
      const { error } = await live('omit', 'failed');
      assert.equal((error as { cause: { status: number } }).cause.status, 400);
    });
  });

  it('takes nothing else from rvmSandbox', async () => {
    await deployWith("{ cameras: 1, apiKey: 'x', versions: '8' }");
    await inject(nodeRed, 'in', {});
    assert.ok(((await message('listed')).payload as unknown[]).length > 1);
  });

  slowIt(
    'tries again by itself when its port was taken: alarms come once it is free, without a deploy',
    async () => {
      const port = await freePort();
      const taken = await MuteServer.start(port);
      try {
        await deployWith(`{ port: ${port} }`);
        await shows(nodeRed, 'status.sandboxFailed', 'webhook', seen);
        await taken.close();
        await message('alarms');
        await shows(nodeRed, /^sandbox, last/, 'webhook', seen);
        assert.equal(log().match(/EADDRINUSE/g)?.length, 1, 'one line in the log');
      } finally {
        await taken.close();
      }
    },
  );

  slowIt('reaches a Node-RED that serves https with a certificate of its own', async function () {
    needs(this, 'openssl');
    const settings = `https: ${JSON.stringify(selfSigned())},`;
    await NodeRed.with({ settings, flows: sandboxFlow() }, async (encrypted) => {
      assert.equal(factsOf(await encrypted.message('alarms')).sandbox, true);
    });
  });
});
