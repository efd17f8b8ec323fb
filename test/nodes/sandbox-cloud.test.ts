import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import {
  ChangingSetting,
  entrance,
  freePort,
  inject,
  NodeRed,
  probe,
  type FlowNode,
} from '../support/node-red/node-red';
import { webhookFlow } from '../support/node-red/flows';
import { needs } from '../support/suite/programs';
import { selfSigned } from '../support/network/certificates';
import { slowIt } from '../support/suite/lanes';

type Webhook = Record<string, unknown>;

/** A flow whose cloud is the sandbox, with nothing else filled in. */
function sandboxFlow(station: Record<string, unknown> = {}, ...further: FlowNode[]): FlowNode[] {
  return webhookFlow(
    {
      cloud: { url: 'sandbox', sandboxEvents: 600, credentials: {} },
      station: { credentials: {}, ...station },
    },
    {
      id: 'list',
      type: 'rvm-list-devices',
      z: 'tab',
      station: 'station',
      x: 0,
      y: 0,
      wires: [['listed'], ['failed']],
    },
    probe('listed'),
    probe('failed'),
    ...entrance('in', 'list'),
    ...further,
  );
}

describe('a cloud whose url is "sandbox"', () => {
  let nodeRed: NodeRed;

  before(async () => {
    nodeRed = await NodeRed.start();
  });

  after(() => nodeRed.stopAndRemove());

  for (const [scheme, proof] of [
    ['http', 'hmac'],
    ['https', 'token'],
  ]) {
    it(`sends alarms proven by ${proof} to a station registered as ${scheme}, with no further setting`, async () => {
      await nodeRed.deploy(sandboxFlow({ scheme }));
      const msg = await nodeRed.message('alarms', (seen) => (seen.webhook as Webhook).proof === proof);
      const webhook = msg.webhook as Webhook;
      assert.equal(webhook.sandbox, true);
      assert.match(String(webhook.text), /^SANDBOX /);
      assert.match((msg.payload as { cameraName: string }).cameraName, /SANDBOX/);
      assert.deepEqual(webhook.warnings, []);
    });
  }

  it('shows "sandbox" on every node that uses it, before and after an alarm', async () => {
    await nodeRed.deploy(sandboxFlow());
    await nodeRed.until(
      () => nodeRed.statuses('list').at(-1) === 'status.sandbox',
      'the status of list devices',
    );
    await nodeRed.until(
      () => /^sandbox, last \d/.test(nodeRed.statuses('webhook').at(-1) ?? ''),
      'the status of webhook in',
    );
  });

  it('takes the credentials of the user where they are filled in', async () => {
    const credentials = { username: 'mine', password: 'my password', secret: 'my own phrase' };
    await nodeRed.deploy(sandboxFlow({ credentials }));
    const known = nodeRed.at('alarms').length;
    await inject(nodeRed, 'in', {});
    await nodeRed.message('listed');
    await nodeRed.until(
      () => nodeRed.at('alarms').length > known,
      'an alarm proven by the phrase of the user',
    );
  });

  it('says BAD_INPUT, what is wrong, and "wrong setting", for a setting that it cannot take', async () => {
    await nodeRed.deploy(
      sandboxFlow().map((node) => (node.id === 'cloud' ? { ...node, sandboxEvents: 1000 } : node)),
    );
    for (const id of ['webhook', 'list']) {
      await nodeRed.until(() => nodeRed.statuses(id).at(-1) === 'status.wrongSetting', `the status of ${id}`);
    }
    await inject(nodeRed, 'in', {});
    const { error } = await nodeRed.message('failed');
    assert.equal((error as { code: string }).code, 'BAD_INPUT');
    assert.match((error as { message: string }).message, /eventsPerMinute must be a number from 0 to 600/);
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
});

describe('the sandbox and settings.js', () => {
  const setting = new ChangingSetting('rvmSandbox');
  let nodeRed: NodeRed;
  /** So many messages and statuses, and so much of the log, were there before the last deploy. */
  let seen = 0;
  let logged = 0;

  before(async () => {
    nodeRed = await NodeRed.start({ settings: setting.text });
  });

  after(async () => {
    await nodeRed.stopAndRemove();
    setting.remove();
  });

  /** Deploys under another setting; from then on, `seen` and `log` count. */
  async function deployWith(value: string, flow = sandboxFlow()): Promise<void> {
    await nodeRed.deploy(webhookFlow());
    setting.set(value);
    [seen, logged] = [nodeRed.seen.length, nodeRed.log.length];
    await nodeRed.deploy(flow);
  }

  const log = (): string => nodeRed.log.slice(logged);

  async function message(probed: string): Promise<Record<string, unknown>> {
    await nodeRed.until(() => nodeRed.at(probed, seen).length > 0, `a message at "${probed}"`);
    return nodeRed.at(probed, seen)[0] ?? {};
  }

  for (const forbidding of ['false', "'false'", '0', 'null']) {
    it(`rvmSandbox: ${forbidding} forbids it: red status, CONFIG_MISSING, no alarm, nothing listens`, async () => {
      await deployWith(forbidding);
      const shown = (): string | undefined => nodeRed.statuses('webhook', seen).at(-1);
      await nodeRed.until(() => shown() === 'status.sandboxForbidden', 'the status');
      await inject(nodeRed, 'in', {});
      const { error } = await message('failed');
      assert.equal((error as { code: string }).code, 'CONFIG_MISSING');
      assert.match((error as { message: string }).message, /rvmSandbox/);
      assert.doesNotMatch(log(), /sandbox started/);
      assert.equal(nodeRed.at('alarms', seen).length, 0);
    });
  }

  it('rvmSandbox: { port, rtspPort } places it', async () => {
    const [port, rtspPort] = [await freePort(), await freePort()];
    await deployWith(`{ port: ${port}, rtspPort: ${rtspPort} }`);
    await message('alarms');
    await nodeRed.logged(
      new RegExp(`http://127.0.0.1:${port}, video on rtsp://127.0.0.1:${rtspPort}`),
      logged,
    );
  });

  describe("rvmSandbox: { liveStyle: 'live' }", () => {
    /** Asks for live video of the first camera as the cloud says, and waits for what comes out at a probe. */
    async function live(liveStyle: string, result: 'played' | 'failed'): Promise<Record<string, unknown>> {
      const camera = { camera: 'camera', cameraType: 'msg', mode: 'live' };
      const getRtsp = { id: 'rtsp', type: 'rvm-get-rtsp', z: 'tab', station: 'station', ...camera };
      const flow = sandboxFlow(
        {},
        { ...getRtsp, x: 0, y: 0, wires: [['played'], ['failed']] },
        probe('played'),
        ...entrance('play', 'rtsp'),
      );
      await deployWith(
        "{ liveStyle: 'live' }",
        flow.map((node) => (node.id === 'cloud' ? { ...node, liveStyle, sandboxEvents: 0 } : node)),
      );
      await inject(nodeRed, 'in', {});
      const [first] = (await message('listed')).payload as { id: string }[];
      await inject(nodeRed, 'play', { camera: first?.id });
      return message(result);
    }

    it('gives live video to a cloud that asks with the time "live"', async () => {
      assert.match(String((await live('live', 'played')).payload), /^rtsp:/);
    });

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
      const taken = net.createServer().listen(port, '127.0.0.1');
      await once(taken, 'listening');
      try {
        await deployWith(
          `{ port: ${port} }`,
          webhookFlow({ cloud: { url: 'sandbox', sandboxEvents: 600, credentials: {} } }),
        );
        const shown = (): string => nodeRed.statuses('webhook', seen).at(-1) ?? '';
        await nodeRed.until(() => shown() === 'status.sandboxFailed', 'the status "sandbox cannot start"');
        taken.close();
        await message('alarms');
        await nodeRed.until(() => shown().startsWith('sandbox, last'), 'the status of an alarm');
        assert.equal(log().match(/EADDRINUSE/g)?.length, 1, 'one line in the log');
      } finally {
        taken.close();
      }
    },
  );

  slowIt('reaches a Node-RED that serves https with a certificate of its own', async function () {
    needs(this, 'openssl');
    const encrypted = await NodeRed.start({
      settings: `https: ${JSON.stringify(selfSigned())},`,
      flows: sandboxFlow(),
    });
    try {
      const msg = await encrypted.message('alarms');
      assert.equal((msg.webhook as Webhook).sandbox, true);
    } finally {
      await encrypted.stopAndRemove();
    }
  });
});
