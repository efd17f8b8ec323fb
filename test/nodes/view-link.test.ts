import assert from 'node:assert/strict';
import { MuteServer } from '../support/network/servers';
import { MOVABLE_CLOCK, type FlowNode } from '../support/node-red/node-red';
import { listenerNode } from '../support/node-red/flows';
import { caller, describeWith, type Message, LONG_AGO, VideoFlow } from '../support/node-red/station-flow';
import { needs } from '../support/suite/programs';
import { beginOf, begun } from '../support/node-red/begun-stream';
import { openPage } from '../support/video/served-view';
import { probed } from '../support/video/played-clip';

/** The clock of the day goes on with the one that never jumps. */
const MOVABLE_DATE = `movableDate: (() => {
    const now = Date.now;
    let ahead = 0;
    Date.now = () => now() + ahead;
    clocks.push((advance) => (ahead += advance));
  })(),`;

const viewLink = (properties: Message = {}): FlowNode => caller('rvm-view', { mode: 'event', ...properties });

describeWith(VideoFlow, 'view link', { settings: MOVABLE_CLOCK + MOVABLE_DATE }, (flow) => {
  afterEach(() => flow.relayLeft());

  async function link(properties: Message = {}): Promise<string> {
    await flow.deploy([viewLink(properties)]);
    const { payload } = await flow.station.through({ event: flow.event() });
    return new URL(String(payload), flow.station.nodeRed.url).href;
  }

  it('gives the path of a page, and when that ends', async () => {
    await flow.deploy([viewLink({ minutes: 5 })]);
    const before = Date.now();
    const msg = await flow.station.through({ event: flow.event(), topic: 'mine' });
    assert.match(String(msg.payload), /^\/remote-monitoring\/view\/[\w-]+\.[\w-]+$/);
    const { url, expires } = msg.view as { url: string; expires: string };
    assert.equal(url, msg.payload);
    const until = Date.parse(expires) - 300_000;
    assert.ok(until > before - 1000 && until < Date.now() + 1000, expires);
    assert.equal(msg.topic, 'mine');
  });

  it('gives the whole address where a public one is known', async () => {
    const url = await link({ publicUrl: 'https://alarms.example.com/' });
    assert.match(url, /^https:\/\/alarms\.example\.com\/remote-monitoring\/view\//);
  });

  it('shows the event on a page that opens no video, also where a messenger looks at it for a preview', async () => {
    const url = await link();
    const opened = await flow.openedBy(async () => {
      const { status, text } = await openPage(url);
      assert.equal(status, 200);
      assert.ok(text.includes(flow.camera.name));
      assert.ok(text.includes(new Date(LONG_AGO).toISOString()));
      assert.equal((await fetch(url, { method: 'HEAD' })).status, 200);
      assert.equal((await fetch(`${url}/stream?part=recorded`, { method: 'HEAD' })).status, 200);
      await openPage(`${url}?utm_source=messenger`);
    });
    assert.equal(opened, 0);
  });

  it('lets the page load nothing from elsewhere, and tells nobody of its address', async () => {
    const { headers } = await openPage(await link());
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.match(headers.get('content-security-policy') ?? '', /default-src 'none'.*script-src 'self'/);
    assert.equal(headers.get('cache-control'), 'no-store');
  });

  it('plays the recording of the alarm as fragmented MP4, and ends its session with the viewer', async function () {
    needs(this, 'ffprobe');
    const { response, end } = await begun(`${await link()}/stream?part=recorded`);
    assert.match(response.headers.get('content-type') ?? '', /^video\/mp4; codecs="avc1\./);
    const { streams } = probed(await beginOf(response));
    assert.equal(streams[0]?.codec_name, 'h264');
    end();
  });

  it('plays live where that is allowed, and only there', async () => {
    assert.equal((await fetch(`${await link()}/stream?part=live`)).status, 403);
    (await begun(`${await link({ live: true })}/stream?part=live`)).end();
  });

  it('lets so many watch, and tells the next one that there are too many', async () => {
    const url = `${await link({ viewers: 1 })}/stream?part=recorded`;
    const { end } = await begun(url);
    const second = await fetch(url);
    assert.deepEqual([second.status, await second.json()], [503, { code: 'VIEWERS' }]);
    end();
    await flow.relayLeft();
    (await begun(url)).end();
  });

  it('opens one session for two who watch the same', async () => {
    const url = `${await link()}/stream?part=recorded`;
    const opened = await flow.openedBy(async () => {
      for (const { end } of await Promise.all([begun(url), begun(url)])) end();
    });
    assert.equal(opened, 1);
  });

  it('gives the picture of the alarm', async function () {
    needs(this, 'ffmpeg');
    const response = await fetch(`${await link()}/picture`);
    assert.equal(response.headers.get('content-type'), 'image/jpeg');
    const jpeg = Buffer.from(await response.arrayBuffer());
    assert.equal(jpeg.subarray(0, 2).toString('hex'), 'ffd8');
  });

  it('opens nothing by an address that was changed: another camera, another time, a longer life', async () => {
    const url = await link();
    const [, body = '', signature = ''] = /\/([\w-]+)\.([\w-]+)$/.exec(url) ?? [];
    const right = JSON.parse(Buffer.from(body, 'base64url').toString()) as Message;
    const other = { id: 'another', remoteId: 'another' };
    const recorded = { from: LONG_AGO - 60_000, to: LONG_AGO };
    for (const change of [{ camera: other }, { recorded }, { expires: Date.now() * 2 }, { live: true }]) {
      const forged = Buffer.from(JSON.stringify({ ...right, ...change })).toString('base64url');
      const changed = url.replace(`${body}.${signature}`, `${forged}.${signature}`);
      for (const part of ['', '/stream?part=recorded', '/stream?part=live', '/clip.mp4', '/picture'])
        assert.equal((await fetch(changed + part)).status, 404, part);
    }
  });

  it('ends by itself', async () => {
    const url = await link({ minutes: 1 });
    assert.equal((await fetch(url)).status, 200);
    await flow.station.nodeRed.advance(61);
    for (const part of ['', '/stream?part=recorded']) assert.equal((await fetch(url + part)).status, 410);
  });

  it('ends with a deploy that removes its node, and whoever watches is cut off', async () => {
    const url = await link();
    const stream = await fetch(`${url}/stream?part=recorded`);
    await flow.deploy([]);
    await assert.rejects(stream.arrayBuffer());
    for (const part of ['', '/stream?part=recorded']) assert.equal((await fetch(url + part)).status, 404);
  });

  it('goes on after a deploy that keeps its node', async () => {
    const url = await link();
    await flow.deploy([viewLink({ name: 'another name' })]);
    assert.equal((await fetch(url)).status, 200);
  });

  it('shows that the port of their listener is taken', async () => {
    const other = await MuteServer.start();
    try {
      const flows = flow.flows([viewLink({ listener: 'listener' })]);
      await flow.station.deployFlows([...flows, listenerNode({ port: other.port })]);
      await flow.station.shows('status.portInUse');
    } finally {
      await other.close();
    }
  });

  it('opens nothing for what no page can be made of', async () => {
    const event = flow.event();
    const wrong = [{ minutes: 0 }, { minutes: 10_081 }, { viewers: 33 }, { publicUrl: 'alarms.example.com' }];
    for (const [properties, msg] of [
      ...wrong.map((each) => [each, { event }] as const),
      [{}, { event: { cameraId: flow.camera.id } }],
      [{}, {}],
    ] as const) {
      await flow.deploy([viewLink(properties)]);
      assert.equal(await flow.station.code(msg), 'BAD_INPUT', JSON.stringify([properties, msg]));
    }
  });
});
