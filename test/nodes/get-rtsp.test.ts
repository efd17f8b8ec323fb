import assert from 'node:assert/strict';
import { readTime } from '../../lib/time';
import { functionNode, type FlowNode } from '../support/node-red/node-red';
import {
  caller,
  describeWith,
  enteredBy,
  StationFlow,
  isOnline,
  type Message,
  type SandboxCamera,
} from '../support/node-red/station-flow';

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

describeWith(StationFlow, 'get RTSP', {}, (flow) => {
  const eventOf = ({ id, remoteId }: SandboxCamera): Message => ({
    cameraId: id,
    cameraRemoteId: remoteId,
    eventStartTime: '2026-03-04T05:06:07.0000000',
  });
  const ofEvent = (): Message => ({ event: eventOf(flow.online) });

  const getRtsp = (properties: Message = {}): FlowNode =>
    caller('rvm-get-rtsp', { camera: flow.online.id, cameraType: 'str', ...properties });

  const recorded = (properties: Message = {}): FlowNode =>
    getRtsp({ mode: 'recorded', time: TIME, timeType: 'str', ...properties });

  async function rtsp(msg: Message = {}): Promise<Rtsp> {
    const { payload, rtsp: facts } = await flow.through(msg);
    assert.match(String(payload), /^rtsp:\/\/127\.0\.0\.1:\d+\/\S+$/);
    assert.equal((facts as Rtsp).url, payload);
    return facts as Rtsp;
  }

  async function rtspOf(node: FlowNode, msg: Message = {}): Promise<Rtsp> {
    await flow.deploy(node);
    return rtsp(msg);
  }

  const refused = async (node: FlowNode, msg: Message = {}, code = 'BAD_INPUT'): Promise<void> =>
    assert.equal((await flow.refusal(node, msg)).code, code, JSON.stringify([node, msg]));

  const isTime = (t?: string): void => assert.equal(readTime(t)?.getTime(), Date.parse(TIME));

  describe('recorded', () => {
    it('opens the video of a camera and a time of choice', async () => {
      const facts = await rtspOf(recorded());
      const { id, name, remoteId } = flow.online;
      const expected = { mode: 'recorded', cameraId: id, cameraRemoteId: remoteId, quality: 'high' };
      assert.partialDeepStrictEqual(facts, { ...expected, relay: { scheme: 'rtsp' } });
      assert.deepEqual(facts.device, { id, name, status: 'online' });
      isTime(facts.t);
      assert.ok(facts.requests >= 1 && facts.ms >= 0);
    });

    const FORMS = [TIME, '20260304T050607Z', '2026-03-04T06:06:07+01:00', '2026-03-04T05:06:07'];
    for (const when of [...FORMS, Date.parse(TIME)])
      it(`takes camera and time from the message, the time as ISO 8601 or milliseconds: ${when}`, async () => {
        const node = recorded({ camera: 'where', cameraType: 'msg', time: 'when', timeType: 'msg' });
        isTime((await rtspOf(node, { where: flow.online.name, when })).t);
      });

    for (const timeType of ['num', 'str'])
      it(`takes milliseconds that stand in the node as ${timeType}`, async () =>
        isTime((await rtspOf(recorded({ time: `${Date.parse(TIME)}`, timeType }))).t));

    it('takes a Date, as an expression or a function node may give it', async () => {
      const dater = functionNode('dater', `msg.when = new Date('${TIME}');\nreturn msg;`, 'node');
      const flows = flow.flows({}, recorded({ time: 'when', timeType: 'msg' }), dater);
      await flow.deployFlows(enteredBy(flows, 'dater'));
      isTime((await rtsp()).t);
    });

    it('says BAD_INPUT without a time, or for one that cannot be read', async () => {
      await flow.deploy(recorded({ time: 'when', timeType: 'msg' }));
      for (const when of [undefined, null, '', 'yesterday', true, {}]) {
        const { code, message } = await flow.failure({ when });
        assert.equal(code, 'BAD_INPUT', JSON.stringify(when));
        assert.match(message, /2026|ISO 8601/);
      }
      assert.match((await flow.failure({})).message, /msg\.when/);
      // An empty field is not 0.
      await refused(recorded({ time: '', timeType: 'num' }));
    });

    it('needs no event, and a camera', async () => {
      await refused(recorded({ camera: 'event.cameraId', cameraType: 'msg' }), { payload: 'no event' });
      await rtsp({ event: { cameraId: flow.online.id } });
    });
  });

  it('opens the video of now where live is chosen, with no use for time and pre-roll', async () => {
    for (const unused of [{}, { time: 'yesterday', preRoll: -1 }]) {
      const facts = await rtspOf(getRtsp({ mode: 'live', ...unused }));
      assert.equal(facts.mode, 'live');
      assert.equal('t' in facts, false);
    }
  });

  it('asks for the time of an event as it came, with one request once it is warm', async () => {
    await flow.deploy(getRtsp());
    // The first may have gone by what was learned before the deploy, and the second finds the way anew.
    for (const _time of [1, 2]) await rtsp(ofEvent());
    assert.partialDeepStrictEqual(await rtsp(ofEvent()), {
      t: eventOf(flow.online).eventStartTime,
      requests: 1,
    });
  });

  it('looks at the event, and not at the camera and time of the other modes', async () => {
    const { cameraId } = await rtspOf(getRtsp({ camera: 'nobody', time: 'yesterday' }), ofEvent());
    assert.equal(cameraId, flow.online.id);
  });

  for (const [preRoll, t] of [
    [10, '2026-03-04T05:05:57.0000000'],
    ['7.5', '2026-03-04T05:05:59.5000000'],
    ['', '2026-03-04T05:06:07.0000000'],
  ] as const)
    it(`begins so many seconds earlier as pre-roll says, in the form of the time: "${preRoll}"`, async () =>
      assert.equal((await rtspOf(getRtsp({ preRoll }), ofEvent())).t, t));

  it('begins so many seconds before a time of choice', async () => {
    const { t } = await rtspOf(recorded({ preRoll: 60 }));
    assert.equal(Date.parse(t ?? ''), Date.parse(TIME) - 60_000);
  });

  const WRONG = [
    ...[-1, 'soon', '1e30'].map((preRoll) => ({ preRoll })),
    { mode: 'tape' },
    { whenOffline: 'wait' },
  ];
  for (const properties of WRONG)
    it(`says BAD_INPUT for ${JSON.stringify(properties)}`, () => refused(getRtsp(properties), ofEvent()));

  it('asks for the quality that is chosen, high where none is', async () => {
    assert.equal((await rtspOf(getRtsp({ quality: 'low' }), ofEvent())).quality, 'low');
    assert.equal((await rtspOf(getRtsp({ quality: '' }), ofEvent())).quality, 'high');
  });

  it('says DEVICE_OFFLINE for a camera that is not online, in each mode', async () => {
    const offline = await flow.camera((each) => !isOnline(each));
    const event = eventOf(offline);
    for (const mode of ['event', 'recorded', 'live'])
      await refused(recorded({ mode, camera: offline.id }), { event }, 'DEVICE_OFFLINE');
  });

  it('asks the service all the same where it is told to try', async () => {
    const offline = await flow.camera((each) => !isOnline(each));
    const { cause } = await flow.refusal(recorded({ camera: offline.id, whenOffline: 'try' }));
    assert.equal(cause.relation, 'rel/rtsp', 'it is the service that refuses');
    assert.ok(typeof cause.status === 'number');
  });

  it('keeps the other properties of a message, and the payload where it fails', async () => {
    const sent = { topic: 'mine', event: { mine: true } };
    assert.partialDeepStrictEqual(await flow.ask(getRtsp({ mode: 'live' }), sent), sent);
    await flow.deploy(getRtsp({ mode: 'live', camera: 'nobody' }));
    assert.equal((await flow.through({ payload: 'kept' }, 'failed')).payload, 'kept');
  });
});
