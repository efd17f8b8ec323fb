import assert from 'node:assert/strict';
import { readTime } from '../../lib/time';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import type { FlowNode } from '../support/node-red/node-red';
import {
  caller,
  isOnline,
  StationFlow,
  type Message,
  type SandboxCamera,
} from '../support/node-red/station-flow';
import { assertPause } from '../support/time/patience';

interface Rtsp {
  url: string;
  mode: string;
  cameraId: string;
  cameraRemoteId: string;
  quality: string;
  t?: string;
  relay: { scheme: string; host: string; port: number };
  device: { id: string; name: string; status: string };
  requests: number;
  ms: number;
}

const TIME = '2026-03-04T05:06:07Z';

for (const version of NODE_RED_VERSIONS) {
  describe(`get RTSP in Node-RED ${version}`, () => {
    let flow: StationFlow;
    let camera: SandboxCamera;

    before(async () => {
      flow = await StationFlow.start(version);
      camera = await flow.camera(isOnline);
    });

    afterEach(() => flow.endFaults());
    after(() => flow.stop());

    function getRtsp(properties: Message = {}): FlowNode {
      return caller('rvm-get-rtsp', { camera: camera.id, cameraType: 'str', ...properties });
    }

    async function rtsp(msg: Message = {}): Promise<Rtsp> {
      const { payload, rtsp: facts } = await flow.through(msg);
      assert.match(String(payload), /^rtsp:\/\/127\.0\.0\.1:\d+\/\S+$/);
      assert.equal((facts as Rtsp).url, payload);
      return facts as Rtsp;
    }

    function recorded(properties: Message = {}): FlowNode {
      return getRtsp({ mode: 'recorded', time: TIME, timeType: 'str', ...properties });
    }

    function event(start = '2026-03-04T05:06:07.0000000'): Message {
      return { cameraId: camera.id, cameraRemoteId: camera.remoteId, eventStartTime: start };
    }

    describe('recorded', () => {
      it('opens the video of a camera and a time of choice', async () => {
        await flow.deploy(recorded());
        const { mode, cameraId, cameraRemoteId, t, quality, relay, device, requests, ms } = await rtsp();
        assert.deepEqual([mode, cameraId, cameraRemoteId], ['recorded', camera.id, camera.remoteId]);
        assert.equal(Date.parse(t ?? ''), Date.parse(TIME));
        assert.equal(quality, 'high');
        assert.equal(relay.scheme, 'rtsp');
        assert.deepEqual(device, { id: camera.id, name: camera.name, status: 'online' });
        assert.ok(requests >= 1 && ms >= 0);
      });

      it('takes camera and time from the message, the time as ISO 8601 or milliseconds', async () => {
        await flow.deploy(recorded({ camera: 'where', cameraType: 'msg', time: 'when', timeType: 'msg' }));
        const forms = ['20260304T050607Z', '2026-03-04T06:06:07+01:00', '2026-03-04T05:06:07'];
        for (const when of [TIME, ...forms, Date.parse(TIME)]) {
          const { t } = await rtsp({ where: camera.name, when });
          assert.equal(readTime(t)?.getTime(), Date.parse(TIME), `${when}`);
        }
      });

      it('takes milliseconds that stand in the node, as a number and as a text', async () => {
        for (const timeType of ['num', 'str']) {
          await flow.deploy(recorded({ time: `${Date.parse(TIME)}`, timeType }));
          assert.equal(Date.parse((await rtsp()).t ?? ''), Date.parse(TIME), timeType);
        }
      });

      it('takes a Date, as an expression or a function node may give it', async () => {
        const dater: FlowNode = {
          id: 'dater',
          type: 'function',
          z: 'tab',
          name: '',
          func: `msg.when = new Date('${TIME}');\nreturn msg;`,
          outputs: 1,
          libs: [],
          x: 0,
          y: 0,
          wires: [['node']],
        };
        const node = recorded({ time: 'when', timeType: 'msg' });
        const flows = flow.flows({}, node, dater);
        await flow.deployFlows(
          flows.map((each) => (each.id === 'remember' ? { ...each, wires: [['dater']] } : each)),
        );
        assert.equal(Date.parse((await rtsp()).t ?? ''), Date.parse(TIME));
      });

      it('says BAD_INPUT without a time, or for one that cannot be read', async () => {
        await flow.deploy(recorded({ time: 'when', timeType: 'msg' }));
        for (const when of [undefined, null, '', 'yesterday', true, {}]) {
          const { code, message } = await flow.failure({ when });
          assert.equal(code, 'BAD_INPUT', JSON.stringify(when));
          assert.match(message, /2026|ISO 8601/);
        }
        assert.match((await flow.failure({})).message, /msg\.when/);
        await flow.deploy(recorded({ time: '', timeType: 'num' }));
        assert.equal(await flow.code({}), 'BAD_INPUT', 'an empty field is not 0');
      });

      it('needs no event, and a camera', async () => {
        await flow.deploy(recorded({ camera: 'event.cameraId', cameraType: 'msg' }));
        assert.equal(await flow.code({ payload: 'no event' }), 'BAD_INPUT');
        await rtsp({ event: { cameraId: camera.id } });
      });
    });

    describe('live', () => {
      it('opens the video of now, without a time', async () => {
        await flow.deploy(getRtsp({ mode: 'live' }));
        const facts = await rtsp();
        assert.equal(facts.mode, 'live');
        assert.equal('t' in facts, false);
      });

      it('has no use for time and pre-roll', async () => {
        await flow.deploy(getRtsp({ mode: 'live', time: 'yesterday', preRoll: -1 }));
        await rtsp();
      });
    });

    describe('of an event', () => {
      it('asks for the time of the event as it came, with one request once it is warm', async () => {
        await flow.deploy(getRtsp());
        await rtsp({ event: event() });
        // The first may have gone by what was learned before the deploy, and the second finds the way anew.
        await rtsp({ event: event() });
        const { t, requests } = await rtsp({ event: event() });
        assert.equal(t, '2026-03-04T05:06:07.0000000');
        assert.equal(requests, 1);
      });

      it('looks at the event, and not at the camera and time of the other modes', async () => {
        await flow.deploy(getRtsp({ camera: 'nobody', time: 'yesterday' }));
        assert.equal((await rtsp({ event: event() })).cameraId, camera.id);
      });
    });

    it('begins so many seconds earlier as pre-roll says, in the form of the time', async () => {
      for (const [preRoll, expected] of [
        [10, '2026-03-04T05:05:57.0000000'],
        ['7.5', '2026-03-04T05:05:59.5000000'],
        ['', '2026-03-04T05:06:07.0000000'],
      ] as const) {
        await flow.deploy(getRtsp({ preRoll }));
        assert.equal((await rtsp({ event: event() })).t, expected);
      }
      await flow.deploy(recorded({ preRoll: 60 }));
      assert.equal(Date.parse((await rtsp()).t ?? ''), Date.parse(TIME) - 60_000);
    });

    it('says BAD_INPUT for a pre-roll or a time limit that is negative or no number', async () => {
      for (const properties of [
        { preRoll: -1 },
        { preRoll: 'soon' },
        { preRoll: '1e30' },
        { deadline: 'x' },
        { deadline: 0 },
      ]) {
        await flow.deploy(getRtsp(properties));
        assert.equal(await flow.code({ event: event() }), 'BAD_INPUT', JSON.stringify(properties));
      }
    });

    it('asks for the quality that is chosen, high where none is', async () => {
      for (const [quality, expected] of [
        ['low', 'low'],
        ['', 'high'],
      ]) {
        await flow.deploy(getRtsp({ quality }));
        assert.equal((await rtsp({ event: event() })).quality, expected);
      }
    });

    it('says DEVICE_OFFLINE for a camera that is not online, in each mode', async () => {
      const offline = await flow.camera((each) => !isOnline(each));
      const msg = { event: { cameraId: offline.id, eventStartTime: TIME } };
      for (const mode of ['event', 'recorded', 'live']) {
        await flow.deploy(recorded({ mode, camera: offline.id }));
        assert.equal(await flow.code(msg), 'DEVICE_OFFLINE', mode);
      }
    });

    it('asks the service all the same where it is told to try', async () => {
      const offline = await flow.camera((each) => !isOnline(each));
      await flow.deploy(recorded({ camera: offline.id, whenOffline: 'try' }));
      const { cause } = await flow.failure({});
      assert.equal(cause.relation, 'rel/rtsp', 'it is the service that refuses');
      assert.ok(typeof cause.status === 'number');
    });

    it('gives up after its time limit', async () => {
      // The service and the cloud have a minute: what ends it is the limit of the node.
      await flow.deployFlows(flow.flows({ cloud: { timeout: 60 } }, getRtsp({ deadline: 1 })));
      await flow.fault({ kind: 'latency', ms: 60_000, relation: 'rel/rtsp' });
      const began = performance.now();
      assert.equal(await flow.code({ event: event() }), 'TIMEOUT');
      assertPause(performance.now() - began, 1000);
    });

    it('refuses a mode and a way with offline cameras that there is not', async () => {
      for (const properties of [{ mode: 'tape' }, { whenOffline: 'wait' }]) {
        await flow.deploy(getRtsp(properties));
        assert.equal(await flow.code({ event: event() }), 'BAD_INPUT');
      }
    });

    it('keeps the other properties of a message, and the payload where it fails', async () => {
      await flow.deploy(getRtsp({ mode: 'live' }));
      const msg = await flow.through({ topic: 'mine', event: { mine: true } });
      assert.equal(msg.topic, 'mine');
      assert.deepEqual(msg.event, { mine: true });
      await flow.deploy(getRtsp({ mode: 'live', camera: 'nobody' }));
      assert.equal((await flow.through({ payload: 'kept' }, 'failed')).payload, 'kept');
    });
  });
}
