import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import type { Sandbox } from '../../sandbox';
import { RtspPlayer } from '../support/rtsp/rtsp-client';
import {
  closeSandboxes,
  ServiceClient,
  startLoggedIn,
  stateOf,
  type Json,
  type JsonAnswer,
} from './service-client';

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

async function someCamera(sandbox: Sandbox, client: ServiceClient): Promise<{ camera: Json; link: string }> {
  const [device] = await client.devices();
  const camera = (await stateOf(sandbox)).at('cameras').list[0];
  assert.ok(device !== undefined && camera !== undefined);
  return { camera, link: (await client.dataSources(device)).at('_links', 'rel/rtsp').text };
}

describe('RTSP sessions of the sandbox', () => {
  let sandbox: Sandbox;
  let client: ServiceClient;
  let camera: Json;
  let link: string;

  beforeEach(async () => {
    ({ sandbox, client } = await startLoggedIn());
    ({ camera, link } = await someCamera(sandbox, client));
  });
  afterEach(closeSandboxes);

  const ask = (fields: Record<string, unknown>): Promise<JsonAnswer> =>
    client.post(link, { cameraId: camera.at('remoteId').text, quality: 'high', ...fields });

  it('are live without t and search', async () => {
    const answer = await ask({});
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.body.keys, ['rtspRelayURL']);
    assert.ok(answer.body.at('rtspRelayURL').text.startsWith(sandbox.rtspUrl));
    assert.equal(await describeStatus(answer.body.at('rtspRelayURL').text), 200);
  });

  it('are recorded with t and the text true in search', async () => {
    const answer = await ask({ t: '2026-03-04T05:06:07.1230000', search: 'true' });
    assert.equal(answer.status, 200);
    assert.equal(await describeStatus(answer.body.at('rtspRelayURL').text), 200);
  });

  it('have a URL of their own each', async () => {
    const [one, two] = [await ask({}), await ask({})];
    assert.notEqual(one.body.at('rtspRelayURL').text, two.body.at('rtspRelayURL').text);
  });

  it('take low as the quality too', async () => assert.equal((await ask({ quality: 'low' })).status, 200));

  it('expire when nobody plays them for 300 s', async () => {
    const url = (await ask({})).body.at('rtspRelayURL').text;
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
      const answer = await who.post(link, { cameraId: camera.at('remoteId').text, quality: 'high' });
      const player = await RtspPlayer.open(answer.body.at('rtspRelayURL').text);
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

  for (const search of [true, 'True', 'false', '', 1]) {
    it(`are refused where search is ${JSON.stringify(search)}`, async () => {
      const answer = await ask({ t: '2026-03-04T05:06:07', search });
      assert.equal(answer.status, 400);
      assert.equal(answer.body.at('field').text, 'search');
    });
  }

  it('are refused with t but no search', async () => {
    assert.equal((await ask({ t: '2026-03-04T05:06:07' })).body.at('field').text, 'search');
  });

  for (const t of ['yesterday', 'live', 1_772_600_767_000, '']) {
    it(`are refused where t is ${JSON.stringify(t)}`, async () => {
      const answer = await ask({ t, search: 'true' });
      assert.equal(answer.status, 400);
      assert.equal(answer.body.at('field').text, 't');
    });
  }

  it('are refused with search but no t', async () => {
    assert.equal((await ask({ search: 'true' })).body.at('field').text, 't');
  });

  it('are refused with the id of the device, and the answer says why', async () => {
    const answer = await ask({ cameraId: camera.at('id').text });
    assert.equal(answer.status, 400);
    assert.match(answer.body.at('message').text, /remote id/);
  });

  it('are refused with the remote id in another case', async () => {
    assert.equal((await ask({ cameraId: camera.at('remoteId').text.toLowerCase() })).status, 404);
  });

  it('are refused with the remote id of another camera', async () => {
    const other = (await stateOf(sandbox)).at('cameras', 1, 'remoteId').text;
    assert.equal((await ask({ cameraId: other })).status, 404);
  });

  it('are refused without cameraId', async () => {
    assert.equal((await client.post(link, { quality: 'high' })).body.at('field').text, 'cameraId');
  });

  it('are refused without quality, or with an unknown one', async () => {
    assert.equal((await ask({ quality: undefined })).body.at('field').text, 'quality');
    assert.equal((await ask({ quality: 'medium' })).body.at('field').text, 'quality');
  });
});

describe('RTSP sessions of a sandbox with the live style "live"', () => {
  let ask: (fields: Record<string, unknown>) => Promise<JsonAnswer>;

  before(async () => {
    const { sandbox, client } = await startLoggedIn({ liveStyle: 'live' });
    const { camera, link } = await someCamera(sandbox, client);
    ask = (fields) => client.post(link, { cameraId: camera.at('remoteId').text, quality: 'high', ...fields });
  });
  after(closeSandboxes);

  it('are live with the time "live"', async () => {
    const answer = await ask({ t: 'live', search: 'false' });
    assert.equal(answer.status, 200);
    assert.equal(await describeStatus(answer.body.at('rtspRelayURL').text), 200);
  });

  it('are recorded as ever', async () => {
    assert.equal((await ask({ t: '2026-03-04T05:06:07', search: 'true' })).status, 200);
  });

  for (const fields of [
    {},
    { t: 'live' },
    { search: 'false' },
    { t: '2026-03-04T05:06:07', search: 'false' },
  ]) {
    it(`are refused with ${JSON.stringify(fields)}, and the answer says how live video is asked for`, async () => {
      const answer = await ask(fields);
      assert.equal(answer.status, 400);
      assert.match(answer.body.at('message').text, /with t "live" and search "false"/);
    });
  }
});
