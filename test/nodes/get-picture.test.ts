import assert from 'node:assert/strict';
import { bytesOf } from '../support/node-red/flows';
import { look } from '../support/node-red/inboxes-open';
import type { FlowNode } from '../support/node-red/node-red';
import { caller, isOnline, type Message, barAt, LONG_AGO, VideoFlow } from '../support/node-red/station-flow';
import { byLane, NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';
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

for (const version of NODE_RED_VERSIONS) {
  describe(`get picture in Node-RED ${version}`, () => {
    let flow: VideoFlow;

    before(async function () {
      needs(this, 'ffmpeg');
      flow = await VideoFlow.start(version);
    });
    afterEach(() => flow.endFaults());
    after(() => flow?.stop());

    function getPicture(properties: Message = {}): FlowNode {
      return caller('rvm-get-picture', { mode: 'event', ...properties });
    }

    const code = (id: string, func: string): FlowNode => ({
      id,
      type: 'function',
      z: 'tab',
      name: '',
      outputs: 1,
      libs: [],
      x: 0,
      y: 0,
      func,
      wires: [['result']],
    });

    const picturesOf = (msg: Message): Picture[] => msg.pictures as Picture[];

    it('gives the picture of the alarm as a JPEG, with name, content type and what it shows', async () => {
      await flow.deploy([getPicture()]);
      const msg = await flow.station.through({ event: flow.event(), topic: 'mine' });
      const jpeg = bytesOf(msg.payload);
      assert.equal(await numberIn(jpeg), barAt(LONG_AGO));
      assert.equal(msg.topic, 'mine');
      assert.deepEqual(msg.headers, { 'content-type': 'image/jpeg' });
      const stamp = new Date(LONG_AGO).toISOString().replaceAll(/[-:]|\.\d+/g, '');
      assert.equal(msg.filename, `${flow.camera.name.replaceAll(' ', '-')}-${stamp}.jpg`);
      const [picture, ...others] = picturesOf(msg);
      assert.deepEqual(others, []);
      assert.deepEqual(picture, {
        offset: 0,
        time: new Date(LONG_AGO).toISOString(),
        clock: 'camera',
        ...sizeOf(jpeg),
        jpeg: picture?.jpeg,
      });
      assert.ok(bytesOf(picture.jpeg).equals(jpeg));
    });

    slowIt('shows the second that each offset asks for, in the order in which they stand there', async () => {
      await flow.deploy([getPicture({ offsets: '3, -3, 0', layout: 'list' })]);
      const msg = await flow.station.through({ event: flow.event() });
      const shown = await Promise.all((msg.payload as unknown[]).map((jpeg) => numberIn(bytesOf(jpeg))));
      assert.deepEqual(
        shown,
        [3, -3, 0].map((offset) => barAt(LONG_AGO + offset * 1000)),
      );
      assert.deepEqual(
        picturesOf(msg).map(({ offset, time }) => [offset, Date.parse(time) - LONG_AGO]),
        [
          [3, 3000],
          [-3, -3000],
          [0, 0],
        ],
      );
    });

    slowIt('gives the picture of the moment within a second, not the key frame before it', async () => {
      await flow.deploy([getPicture({ offsets: '0.8' })]);
      const [picture] = picturesOf(await flow.station.through({ event: flow.event() }));
      const late = Date.parse(picture?.time ?? '') - LONG_AGO;
      assert.ok(late > 500 && late <= 800, `${late} ms`);
    });

    it('gives one JPEG with all where a sheet is wished, and each by itself beside it', async () => {
      await flow.deploy([getPicture({ offsets: '-1,0,1', layout: 'sheet', width: 968 })]);
      const msg = await flow.station.through({ event: flow.event() });
      const sheet = bytesOf(msg.payload);
      assert.deepEqual(sizeOf(sheet), { width: 968, height: 180 });
      for (const [place, offset] of [-1, 0, 1].entries()) {
        assert.equal(await numberIn(sheet, { x: place * 324, y: 0 }), barAt(LONG_AGO + offset * 1000));
      }
      assert.equal(picturesOf(msg).length, 3);
    });

    slowIt('makes pictures as wide as is wished, and never wider than the video', async () => {
      await flow.deploy([getPicture({ width: '160' })]);
      const small = await flow.station.through({ event: flow.event() });
      assert.equal(sizeOf(bytesOf(small.payload)).width, 160);
      assert.equal(picturesOf(small)[0]?.width, 160);
      await flow.deploy([getPicture({ width: '4096' })]);
      const [whole] = picturesOf(await flow.station.through({ event: flow.event() }));
      assert.ok((whole?.width ?? 0) < 4096);
    });

    slowIt('gives pictures of a camera and a time of choice', async () => {
      const time = LONG_AGO - 17_000;
      const properties = { mode: 'recorded', camera: 'where', cameraType: 'msg', time, timeType: 'num' };
      await flow.deploy([getPicture(properties)]);
      const msg = await flow.station.through({ where: flow.camera.name });
      assert.equal(await numberIn(bytesOf(msg.payload)), barAt(time));
    });

    for (const [layout, what] of byLane<readonly [string, string]>(
      [['first', 'msg.payload']],
      [
        ['list', 'msg.payload[1]'],
        ['list', 'msg.pictures[0].jpeg'],
        ['sheet', 'msg.pictures[1].jpeg'],
      ],
    )) {
      it(`keeps its other pictures, and that of the sidebar, when a flow changes ${what} of a ${layout} in place`, async () => {
        // The same moment twice.
        const offsets = '0, 0';
        const node = { ...getPicture({ layout, offsets }), wires: [['change'], ['failed']] };
        const func = `${what}.fill(1); return msg;`;
        await flow.deploy([node, code('change', func)]);
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
    }

    it('gives the picture of now where live video is chosen', async () => {
      await flow.deploy([getPicture({ mode: 'live', camera: flow.camera.id, cameraType: 'str' })]);
      const before = Date.now();
      const [picture] = picturesOf(await flow.station.through({}));
      const time = Date.parse(picture?.time ?? '');
      assert.ok(time > before - 5000 && time < Date.now() + 5000, picture?.time);
    });

    it('opens one RTSP session for pictures that are near each other, and none is left', async () => {
      await flow.deploy([getPicture({ offsets: '-1,0,1' })]);
      assert.equal(await flow.openedBy(() => flow.station.through({ event: flow.event() })), 1);
      await flow.relayLeft();
    });

    describe('with bad input', () => {
      const refused = async (
        title: string,
        properties: Message,
        msg: () => Message,
        code = 'BAD_INPUT',
      ): Promise<void> => {
        await flow.deploy([getPicture(properties)]);
        const opened = await flow.openedBy(async () => {
          const failed = await flow.station.through({ payload: 'kept', ...msg() }, 'failed');
          assert.equal((failed.error as { code: string }).code, code, title);
          assert.equal(failed.payload, 'kept', title);
        });
        assert.equal(opened, 0, title);
      };

      it('opens nothing for offsets that are no numbers, too many, or too far away', async () => {
        for (const offsets of ['now', '0,,1', '1,2,3,4,5,6,7,8,9,10', '-3601', '1e3'])
          await refused(offsets, { offsets }, () => ({ event: flow.event() }));
      });

      it('opens nothing for a width that no picture has', async () => {
        for (const width of ['0', '-1', 'wide', '1.5', '4097'])
          await refused(width, { width }, () => ({ event: flow.event() }));
      });

      it('opens nothing for a layout that there is not', async () => {
        await refused('strip', { layout: 'strip' }, () => ({ event: flow.event() }));
      });

      it('opens nothing for a chosen time in the future', async () => {
        const time = Date.now() + 600_000;
        const camera = { camera: flow.camera.id, cameraType: 'str' };
        await refused('future', { mode: 'recorded', time, timeType: 'num', ...camera }, () => ({}));
      });

      it('opens nothing for a past of live video', async () => {
        const camera = { camera: flow.camera.id, cameraType: 'str' };
        await refused('past', { mode: 'live', offsets: '-1', ...camera }, () => ({}));
      });

      it('opens nothing for a time to wait, or a time limit, that is none', async () => {
        for (const properties of [{ waitForVideo: 'long' }, { waitForVideo: -1 }, { deadline: 0 }])
          await refused(JSON.stringify(properties), properties, () => ({ event: flow.event() }));
      });

      it('opens nothing for a camera that does not exist, or is offline', async () => {
        const event = { ...flow.event(), cameraId: NO_CAMERA, cameraRemoteId: 'none' };
        await refused('no camera', {}, () => ({ event }), 'DEVICE_NOT_FOUND');
        const offline = await flow.station.camera((camera) => !isOnline(camera));
        const ofOffline = { ...flow.event(), cameraId: offline.id, cameraRemoteId: offline.remoteId };
        await refused('offline', {}, () => ({ event: ofOffline }), 'DEVICE_OFFLINE');
      });

      it('opens nothing for an event without a camera, or for none', async () => {
        const { cameraId: _id, cameraRemoteId: _remoteId, ...event } = flow.event();
        await refused('no camera', {}, () => ({ event }), 'EVENT_WITHOUT_CAMERA');
        await refused('no event', {}, () => ({}));
      });
    });

    it('shows the failure until the next picture', async () => {
      await flow.deploy([getPicture()]);
      await flow.station.through({ event: { eventStartTime: 'x' } }, 'failed');
      await flow.station.shows('status.wrongInput');
      await flow.station.through({ event: flow.event() });
      await flow.station.shows(/connected/);
    });
  });
}
