import assert from 'node:assert/strict';
import { bytesOf } from '../support/node-red/flows';
import { look } from '../support/node-red/inboxes-open';
import { functionNode } from '../support/node-red/node-red';
import {
  barAt,
  caller,
  describeWith,
  VideoFlow,
  isOnline,
  LONG_AGO,
  type Message,
} from '../support/node-red/station-flow';
import { byLane, slowIt } from '../support/suite/lanes';
import { numberIn } from '../support/video/encoded-video';
import { sizeOf } from '../support/video/played-clip';

interface Picture {
  offset: number;
  time: string;
  clock: string;
  width: number;
  height: number;
  jpeg: unknown;
}

const NO_CAMERA = '00000000-0000-4000-8000-000000000000';

const getPicture = (properties: Message = {}) => caller('rvm-get-picture', { mode: 'event', ...properties });

const picturesOf = (msg: Message): Picture[] => msg.pictures as Picture[];

describeWith(VideoFlow, 'get picture', { programs: ['ffmpeg'] }, (flow) => {
  it('gives the picture of the alarm as a JPEG, with name, content type and what it shows', async () => {
    const msg = await flow.ask(getPicture(), { event: flow.event(), topic: 'mine' });
    const jpeg = bytesOf(msg.payload);
    assert.equal(await numberIn(jpeg), barAt(LONG_AGO));
    assert.equal(msg.topic, 'mine');
    assert.deepEqual(msg.headers, { 'content-type': 'image/jpeg' });
    const time = new Date(LONG_AGO).toISOString();
    const stamp = time.replaceAll(/[-:]|\.\d+/g, '');
    assert.equal(msg.filename, `${flow.camera.name.replaceAll(' ', '-')}-${stamp}.jpg`);
    const pictures = picturesOf(msg).map((picture) => ({ ...picture, jpeg: bytesOf(picture.jpeg) }));
    assert.deepEqual(pictures, [{ offset: 0, time, clock: 'camera', ...sizeOf(jpeg), jpeg }]);
  });

  slowIt('shows the second that each offset asks for, in the order in which they stand there', async () => {
    const offsets = [3, -3, 0];
    const msg = await flow.ask(getPicture({ offsets: offsets.join(), layout: 'list' }));
    const shown = await Promise.all((msg.payload as unknown[]).map((jpeg) => numberIn(bytesOf(jpeg))));
    assert.deepEqual(
      shown,
      offsets.map((offset) => barAt(LONG_AGO + offset * 1000)),
    );
    assert.deepEqual(
      picturesOf(msg).map(({ offset, time }) => [offset, Date.parse(time) - LONG_AGO]),
      offsets.map((offset) => [offset, offset * 1000]),
    );
  });

  slowIt('gives the picture of the moment within a second, not the key frame before it', async () => {
    const [picture] = picturesOf(await flow.ask(getPicture({ offsets: '0.8' })));
    const late = Date.parse(picture?.time ?? '') - LONG_AGO;
    assert.ok(late > 500 && late <= 800, `${late} ms`);
  });

  it('gives one JPEG with all where a sheet is wished, and each by itself beside it', async () => {
    const msg = await flow.ask(getPicture({ offsets: '-1,0,1', layout: 'sheet', width: 968 }));
    const sheet = bytesOf(msg.payload);
    assert.deepEqual(sizeOf(sheet), { width: 968, height: 180 });
    for (const [place, offset] of [-1, 0, 1].entries())
      assert.equal(await numberIn(sheet, { x: place * 324, y: 0 }), barAt(LONG_AGO + offset * 1000));
    assert.equal(picturesOf(msg).length, 3);
  });

  slowIt('makes pictures as wide as is wished, and never wider than the video', async () => {
    const small = await flow.ask(getPicture({ width: '160' }));
    assert.deepEqual([sizeOf(bytesOf(small.payload)).width, picturesOf(small)[0]?.width], [160, 160]);
    const [whole] = picturesOf(await flow.ask(getPicture({ width: '4096' })));
    assert.ok((whole?.width ?? 0) < 4096);
  });

  slowIt('gives pictures of a camera and a time of choice', async () => {
    const time = LONG_AGO - 17_000;
    const where = { camera: 'where', cameraType: 'msg', time, timeType: 'num' };
    const msg = await flow.ask(getPicture({ mode: 'recorded', ...where }), { where: flow.camera.name });
    assert.equal(await numberIn(bytesOf(msg.payload)), barAt(time));
  });

  for (const [layout, what] of byLane<readonly [string, string]>(
    [['first', 'msg.payload']],
    [
      ['list', 'msg.payload[1]'],
      ['list', 'msg.pictures[0].jpeg'],
      ['sheet', 'msg.pictures[1].jpeg'],
    ],
  ))
    it(`keeps its other pictures, and that of the sidebar, when a flow changes ${what} of a ${layout} in place`, async () => {
      const node = { ...getPicture({ layout, offsets: '0, 0' }), wires: [['change'], ['failed']] };
      await flow.deploy([node, functionNode('change', `${what}.fill(1); return msg;`, 'result')]);
      const webhook = { deliveryId: `${layout} ${what}` };
      const msg = await flow.station.through({ event: flow.event(), webhook });
      const list = layout === 'list' ? (msg.payload as unknown[]) : [msg.payload];
      const all = [...list, ...picturesOf(msg).map(({ jpeg }) => jpeg)].map(bytesOf);
      const changed = all.filter((jpeg) => jpeg.every((byte) => byte === 1));
      assert.deepEqual([changed.length, all.length], [1, layout === 'list' ? 4 : 3]);
      const { body } = await look(flow.station.nodeRed, `picture?${new URLSearchParams(webhook)}`);
      const [whole] =
        layout === 'first' ? all.slice(1) : all.slice(-2).filter((jpeg) => !changed.includes(jpeg));
      assert.equal(body.jpeg, whole?.toString('base64'));
    });

  it('gives the picture of now where live video is chosen', async () => {
    const before = Date.now();
    const node = getPicture({ mode: 'live', camera: flow.camera.id, cameraType: 'str' });
    const [picture] = picturesOf(await flow.ask(node, {}));
    const time = Date.parse(picture?.time ?? '');
    assert.ok(time > before - 5000 && time < Date.now() + 5000, picture?.time);
  });

  it('opens one RTSP session for pictures that are near each other, and none is left', async () => {
    assert.equal(await flow.openedBy(() => flow.ask(getPicture({ offsets: '-1,0,1' }))), 1);
    await flow.relayLeft();
  });

  async function refuses(properties: Message, msg: Message = { event: flow.event() }): Promise<string> {
    const { code, msg: failed } = await flow.refusal(getPicture(properties), { payload: 'kept', ...msg });
    assert.equal(failed.payload, 'kept');
    return code;
  }

  for (const properties of [
    ...['now', '0,,1', '1,2,3,4,5,6,7,8,9,10', '-3601', '1e3'].map((offsets) => ({ offsets })),
    ...['0', '-1', 'wide', '1.5', '4097'].map((width) => ({ width })),
    ...['long', -1].map((waitForVideo) => ({ waitForVideo })),
    { layout: 'strip' },
    { deadline: 0 },
  ])
    it(`opens nothing for ${JSON.stringify(properties)}`, async () =>
      assert.equal(await refuses(properties), 'BAD_INPUT'));

  for (const [what, propertiesOf] of [
    ['a chosen time in the future', () => ({ mode: 'recorded', time: Date.now() + 600_000 })],
    ['a past of live video', () => ({ mode: 'live', offsets: '-1' })],
  ] as const)
    it(`opens nothing for ${what}`, async () => {
      const camera = { camera: flow.camera.id, cameraType: 'str', timeType: 'num' };
      assert.equal(await refuses({ ...camera, ...propertiesOf() }, {}), 'BAD_INPUT');
    });

  it('opens nothing for a camera that does not exist, or is offline', async () => {
    const event = { ...flow.event(), cameraId: NO_CAMERA, cameraRemoteId: 'none' };
    assert.equal(await refuses({}, { event }), 'DEVICE_NOT_FOUND');
    const offline = await flow.station.camera((camera) => !isOnline(camera));
    assert.equal(await refuses({}, { event: flow.event(LONG_AGO, offline) }), 'DEVICE_OFFLINE');
  });

  it('opens nothing for an event without a camera, or for none', async () => {
    const { cameraId: _id, cameraRemoteId: _remoteId, ...event } = flow.event();
    assert.equal(await refuses({}, { event }), 'EVENT_WITHOUT_CAMERA');
    assert.equal(await refuses({}, {}), 'BAD_INPUT');
  });

  it('shows the failure until the next picture', async () => {
    await flow.deploy([getPicture()]);
    await flow.station.through({ event: { eventStartTime: 'x' } }, 'failed');
    await flow.station.shows('status.wrongInput');
    await flow.station.through({ event: flow.event() });
    await flow.station.shows(/connected/);
  });
});
