import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Sandbox, SandboxOptions } from '../../sandbox';
import { RtspPlayer } from '../support/rtsp/rtsp-client';
import { closeSandboxes, first, ServiceClient, startLoggedIn, stateOf } from './service-client';
import type { Json, JsonAnswer } from './service-client';

const T = '2026-03-04T05:06:07';

/** The status of a DESCRIBE for the URL. */
async function describeStatus(url: string): Promise<number> {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  try {
    socket.write(`DESCRIBE ${url} RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n`);
    const [chunk]: unknown[] = await once(socket, 'data');
    return Number(/^RTSP\/1\.0 (\d+)/.exec(String(chunk))?.[1]);
  } finally {
    socket.destroy();
  }
}

let sandbox: Sandbox;
let client: ServiceClient;
let camera: Json;
let link: string;

async function start(options: SandboxOptions = {}): Promise<void> {
  ({ sandbox, client } = await startLoggedIn(options));
  camera = (await stateOf(sandbox)).at('cameras', 0);
  const sources = await client.dataSources(first(await client.devices()));
  link = sources.at('_links', 'rel/rtsp').text;
}

function ask(fields: Record<string, unknown>, who = client): Promise<JsonAnswer> {
  return who.post(link, { cameraId: camera.at('remoteId').text, quality: 'high', ...fields });
}

async function urlOf(fields: Record<string, unknown>): Promise<string> {
  const { status, body } = await ask(fields);
  assert.deepEqual([status, body.keys], [200, ['rtspRelayURL']]);
  return body.at('rtspRelayURL').text;
}

describe('RTSP sessions of the sandbox', () => {
  beforeEach(() => start());
  afterEach(closeSandboxes);

  for (const [title, fields] of [
    ['live without t and search', {}],
    ['recorded with t and the text true in search', { t: `${T}.1230000`, search: 'true' }],
    ['of low quality, too', { quality: 'low' }],
  ] as const)
    it(`are ${title}`, async () => {
      const url = await urlOf(fields);
      assert.ok(url.startsWith(sandbox.rtspUrl));
      assert.equal(await describeStatus(url), 200);
    });

  it('have a URL of their own each', async () => {
    assert.notEqual(await urlOf({}), await urlOf({}));
  });

  it('expire when nobody plays them for 300 s', async () => {
    const url = await urlOf({});
    await client.post('/sandbox/clock', { advance: 299 });
    assert.equal(await describeStatus(url), 200);
    await client.post('/sandbox/clock', { advance: 2 });
    assert.notEqual(await describeStatus(url), 200);
  });

  it('of one Agent User leave room for those of another', async () => {
    const { username, password } = sandbox.setStation('south', { scheme: 'http' });
    const other = new ServiceClient(sandbox.url, sandbox.apiKey);
    await other.login(username, password);
    const players: RtspPlayer[] = [];
    const setUp = async (who: ServiceClient): Promise<void> => {
      const player = await RtspPlayer.open((await ask({}, who)).body.at('rtspRelayURL').text);
      players.push(player);
      await player.setup();
    };
    try {
      for (let count = 0; count < 8; count++) await setUp(client);
      await assert.rejects(setUp(client), { status: 503 });
      await setUp(other);
    } finally {
      for (const player of players) player.close();
    }
  });

  for (const [field, beside, values] of [
    ['search', { t: T }, [true, 'True', 'false', '', 1, undefined]],
    ['t', { search: 'true' }, ['yesterday', 'live', 1_772_600_767_000, '', undefined]],
    ['cameraId', {}, [undefined]],
    ['quality', {}, [undefined, 'medium']],
  ] as const)
    for (const value of values)
      it(`are refused for ${field} where it is ${JSON.stringify(value)}`, async () => {
        const { status, body } = await ask({ ...beside, [field]: value });
        assert.deepEqual([status, body.at('field').text], [400, field]);
      });

  it('are refused with the id of the device, and the answer says why', async () => {
    const { status, body } = await ask({ cameraId: camera.at('id').text });
    assert.equal(status, 400);
    assert.match(body.at('message').text, /remote id/);
  });

  it('are refused with the remote id in another case, or of another camera', async () => {
    const other = (await stateOf(sandbox)).at('cameras', 1, 'remoteId').text;
    for (const cameraId of [camera.at('remoteId').text.toLowerCase(), other])
      assert.equal((await ask({ cameraId })).status, 404);
  });
});

describe('RTSP sessions of a sandbox with the live style "live"', () => {
  before(() => start({ liveStyle: 'live' }));
  after(closeSandboxes);

  for (const [title, fields] of [
    ['live with the time "live"', { t: 'live', search: 'false' }],
    ['recorded as ever', { t: T, search: 'true' }],
  ] as const)
    it(`are ${title}`, async () => assert.equal(await describeStatus(await urlOf(fields)), 200));

  for (const fields of [{}, { t: 'live' }, { search: 'false' }, { t: T, search: 'false' }])
    it(`are refused with ${JSON.stringify(fields)}, and the answer says how live video is asked for`, async () => {
      const { status, body } = await ask(fields);
      assert.equal(status, 400);
      assert.match(body.at('message').text, /with t "live" and search "false"/);
    });
});
