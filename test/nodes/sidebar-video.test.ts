import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { look } from '../support/node-red/inboxes-open';
import { beginOf, begun } from '../support/node-red/begun-stream';
import { probe, probes } from '../support/node-red/node-red';
import { PATH, webhookIn } from '../support/node-red/flows';
import { barAt, describeWith, LONG_AGO, VideoFlow, isOnline } from '../support/node-red/station-flow';
import { readBar } from '../support/rtsp/fixture';
import { needs } from '../support/suite/programs';
import { eventually } from '../support/time/patience';
import { alarmMessage, post } from '../support/webhook/alarm-message';

const VIEWERS = 4;
const NODES = [webhookIn(), ...probes('alarms', 'health'), probe('problems')];

function secondIn(mp4: Buffer): number {
  const output = ['-frames:v', '1', '-vf', 'scale=320:180', '-f', 'rawvideo', '-pix_fmt', 'gray', 'pipe:1'];
  const { stdout } = spawnSync('ffmpeg', ['-v', 'quiet', '-i', 'pipe:0', ...output], { input: mp4 });
  return readBar(stdout);
}

describeWith(VideoFlow, 'the video of the sidebar', { versions: ['5'] }, (flow) => {
  let url: string;
  before(async () => {
    url = `${flow.station.nodeRed.url}/rvm/video`;
    await flow.deploy(NODES);
  });
  afterEach(() => noSession());

  const noSession = (): Promise<void> =>
    eventually(async () => (await flow.relay()).sessions === 0, 'the end of all RTSP sessions');

  async function arrived(payload: Record<string, unknown> = {}): Promise<string> {
    const { nodeRed, credentials } = flow.station;
    const message = alarmMessage({ ...flow.event(), ...payload });
    assert.equal((await post(`${nodeRed.url}${PATH}`, message, credentials.secret)).status, 200);
    const { body } = await look(nodeRed, 'overview');
    const events = body.events as { messageId: string; deliveryId: string }[];
    const row = events.find(({ messageId }) => messageId === message.messageId);
    assert.ok(row !== undefined);
    return row.deliveryId;
  }

  const ofCamera = (camera = flow.camera.id, station = 'north'): string =>
    new URLSearchParams({ station, camera }).toString();

  async function codeOf(path: string): Promise<[status: number, code: unknown]> {
    const response = await fetch(`${url}/${path}`);
    const body = (await response.json()) as Record<string, unknown>;
    assert.deepEqual(Object.keys(body), ['code']);
    return [response.status, body.code];
  }

  it('streams the recording of an event as fragmented MP4, from five seconds before it on', async function () {
    needs(this, 'ffmpeg');
    const delivery = await arrived();
    const { response, end } = await begun(`${url}/stream?delivery=${delivery}&part=recorded`);
    assert.match(response.headers.get('content-type') ?? '', /^video\/mp4; codecs="avc1\./);
    const begin = await beginOf(response);
    end();
    assert.equal(begin.toString('latin1', 4, 8), 'ftyp');
    assert.equal(secondIn(begin), barAt(LONG_AGO - 5000));
  });

  for (const [title, asked] of [
    ['what the camera of an event sees now', async () => `delivery=${await arrived()}`],
    ['what a camera sees now, by the key of its Central Station', async () => ofCamera()],
  ] as const)
    it(`streams ${title}, and ends the RTSP session as soon as nobody looks on`, async () => {
      const { end } = await begun(`${url}/stream?${await asked()}&part=live`);
      assert.equal((await flow.relay()).sessions, 1);
      end();
      await noSession();
    });

  it('ends with a deploy that removes its Central Station', async () => {
    const { response } = await begun(`${url}/stream?${ofCamera()}&part=live`);
    await flow.station.nodeRed.deploy([{ id: 'tab', type: 'tab', label: 'empty' }]);
    await assert.rejects(response.arrayBuffer());
    await noSession();
    assert.deepEqual(await codeOf(`stream?${ofCamera()}&part=live`), [502, 'CONFIG_MISSING']);
    await flow.deploy(NODES);
  });

  it('lets four look on at a time, over one RTSP session, and a fifth once one of them has gone', async () => {
    const path = `stream?${ofCamera()}&part=live`;
    const viewers = await Promise.all(Array.from({ length: VIEWERS }, () => begun(`${url}/${path}`)));
    assert.equal((await flow.relay()).sessions, 1);
    assert.deepEqual(await codeOf(path), [503, 'VIEWERS']);
    viewers[0]?.end();
    const hasPlace = (): Promise<boolean> =>
      begun(`${url}/${path}`).then(
        ({ end }) => (end(), true),
        () => false,
      );
    await eventually(hasPlace, 'a place');
    for (const { end } of viewers) end();
  });

  it('opens nothing for who wants the head of an answer alone', async () => {
    const opened = await flow.openedBy(async () => {
      const response = await fetch(`${url}/stream?${ofCamera()}&part=live`, { method: 'HEAD' });
      assert.equal(response.status, 200);
    });
    assert.equal(opened, 0);
  });

  it('makes the picture of an alarm once, shows it as the thumbnail from then on, and none of other events', async function () {
    needs(this, 'ffmpeg');
    const [delivery, other] = [await arrived(), await arrived()];
    const opened = await flow.openedBy(async () => {
      for (let time = 0; time < 2; time += 1) {
        const response = await fetch(`${url}/picture?delivery=${delivery}`);
        assert.equal(response.headers.get('content-type'), 'image/jpeg');
        assert.equal(Buffer.from(await response.arrayBuffer()).readUInt16BE(0), 0xffd8);
      }
    });
    assert.equal(opened, 1);
    const { body } = await look(flow.station.nodeRed, 'overview');
    const rows = body.events as { deliveryId: string; picture: string | null }[];
    const pictureOf = (id: string) => rows.find(({ deliveryId }) => deliveryId === id)?.picture;
    assert.deepEqual([pictureOf(delivery), pictureOf(other)], ['alarm', null]);
  });

  it('gives the finished clip of an event, as far as it came', async () => {
    flow.fault({ kind: 'drop-connection', frames: 10 });
    const response = await fetch(`${url}/clip.mp4?delivery=${await arrived()}`);
    assert.equal(response.headers.get('content-type'), 'video/mp4');
    const clip = Buffer.from(await response.arrayBuffer());
    assert.equal(clip.toString('latin1', 4, 8), 'ftyp');
  });

  const REFUSED: [title: string, path: () => string, status: number, code: string][] = [
    ['without a part', () => `stream?${ofCamera()}`, 422, 'BAD_INPUT'],
    ['of another part', () => `stream?${ofCamera()}&part=all`, 422, 'BAD_INPUT'],
    ['of nothing', () => 'stream?part=live', 422, 'BAD_INPUT'],
    ['of a camera without a Central Station', () => 'picture?camera=4711', 422, 'BAD_INPUT'],
    ['of several events', () => 'picture?delivery=a&delivery=b', 422, 'BAD_INPUT'],
    ['of an event that no inbox knows', () => 'picture?delivery=none', 404, 'UNKNOWN_DELIVERY'],
    ['of a station that is not deployed', () => `picture?${ofCamera('1', 'south')}`, 502, 'CONFIG_MISSING'],
    ['of a camera that there is not', () => `stream?${ofCamera('no')}&part=live`, 502, 'DEVICE_NOT_FOUND'],
    ['as a clip of a camera', () => `clip.mp4?${ofCamera()}`, 403, 'NOT_ALLOWED'],
    ['of the past of a camera', () => `stream?${ofCamera()}&part=recorded`, 403, 'NOT_ALLOWED'],
  ];
  for (const [title, path, status, code] of REFUSED)
    it(`refuses what is asked ${title}, and opens nothing`, async () => {
      const opened = await flow.openedBy(async () => assert.deepEqual(await codeOf(path()), [status, code]));
      assert.equal(opened, 0);
    });

  it('says of an event without a camera that it has none, and of a camera that is off line that it is', async () => {
    const delivery = await arrived({ cameraId: null, cameraRemoteId: null });
    assert.deepEqual(await codeOf(`picture?delivery=${delivery}`), [502, 'EVENT_WITHOUT_CAMERA']);
    const { id } = await flow.station.camera((each) => !isOnline(each));
    assert.deepEqual(await codeOf(`stream?${ofCamera(id)}&part=live`), [502, 'DEVICE_OFFLINE']);
  });

  it('tells nothing of the relay', async () => {
    const { port } = new URL(flow.station.sandbox.rtspUrl);
    const { response, end } = await begun(`${url}/stream?delivery=${await arrived()}&part=live`);
    assert.doesNotMatch(JSON.stringify([...response.headers]), new RegExp(`rtsp|${port}`, 'i'));
    end();
    assert.doesNotMatch(flow.station.nodeRed.log, /rtsps?:\/\//);
  });

  it('asks for what the event of the inbox says, whatever stands in the question beside its id', async () => {
    const other = await flow.station.camera((each) => isOnline(each) && each.id !== flow.camera.id);
    const eventStartTime = new Date(LONG_AGO - 60_000).toISOString().slice(0, -1);
    const delivery = await arrived({ eventStartTime });
    const further = `${ofCamera(other.id)}&rtspRelayURL=rtsp://127.0.0.1:9/`;
    (await begun(`${url}/stream?delivery=${delivery}&part=live&${further}`)).end();
  });
});

const LACKS_FFMPEG = { versions: ['5'], settings: `rvmFfmpeg: '/none/ffmpeg',` } as const;
describeWith(VideoFlow, 'the video of the sidebar where there is no ffmpeg', LACKS_FFMPEG, (flow) => {
  it('plays, and says of the picture why there is none', async () => {
    await flow.deploy(NODES);
    const asked = new URLSearchParams({ station: 'north', camera: flow.camera.id }).toString();
    const url = `${flow.station.nodeRed.url}/rvm/video`;
    const picture = await fetch(`${url}/picture?${asked}`);
    assert.deepEqual([picture.status, await picture.json()], [501, { code: 'DECODER_MISSING' }]);
    (await begun(`${url}/stream?${asked}&part=live`)).end();
  });
});
