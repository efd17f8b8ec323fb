import assert from 'node:assert/strict';
import type { Verdict } from '../../nodes/rvm-watch/verdict';
import { eventMessage } from '../support/alarms/alarm-flow';
import { listenerNode, webhookIn, bytesOf } from '../support/node-red/flows';
import {
  entrance,
  freePort,
  inject,
  probe,
  typesOfPackage,
  type FlowNode,
} from '../support/node-red/node-red';
import {
  caller,
  canMove,
  describeWith,
  enteredBy,
  type Message,
  type SandboxCamera,
  VideoFlow,
} from '../support/node-red/station-flow';
import { watch } from '../support/node-red/watch-run';
import { SMOKE_VERSIONS } from '../support/suite/lanes';
import { needs } from '../support/suite/programs';
import { alarmMessage, post } from '../support/webhook/alarm-message';
import {
  answered,
  arrived,
  codeOf,
  factsOf,
  node,
  problemOf,
  raise as raiseIn,
} from '../support/node-red/alarms-through';

const PLUGINS = ['rvm-sidebar', 'rvm-metrics'];
const NOBODY = '00000000-0000-4000-8000-000000000000';
const LISTENED = '/of-the-listener';

interface Caller {
  properties?: Message;
  gives: (msg: Message, camera: SandboxCamera) => unknown;
  /** A message that it cannot use, with the code of that; else one of a camera that there is not. */
  refuses?: [Message, string];
}

const CALLERS: Record<string, Caller> = {
  'rvm-list-devices': {
    properties: { search: 'search', searchType: 'msg' },
    gives: ({ payload }) => (payload as unknown[]).length > 10,
    refuses: [{ search: {} }, 'BAD_INPUT'],
  },
  'rvm-get-device': { gives: ({ payload }, { id }) => (payload as { id: string }).id === id },
  'rvm-ptz': { properties: { target: '0' }, gives: ({ ptz }) => (ptz as Message).accepted },
  'rvm-request': {
    properties: { start: 'device', rels: 'rel/self' },
    gives: ({ payload }, { id }) => (payload as { id: string }).id === id,
  },
  'rvm-get-picture': { gives: ({ payload }) => isJpeg(payload) },
  'rvm-get-clip': {
    properties: { mode: 'event', preRoll: 1, seconds: 1 },
    gives: ({ payload }) => bytesOf(payload).toString('latin1', 4, 8) === 'ftyp',
  },
  'rvm-view': {
    properties: { mode: 'event' },
    gives: ({ payload }) => /\/view\/./.test(String(payload)),
    refuses: [{ payload: 'no event' }, 'BAD_INPUT'],
  },
  'rvm-get-rtsp': {
    properties: { mode: 'event' },
    gives: ({ payload }) => String(payload).startsWith('rtsp://'),
  },
  'rvm-snapshot': { gives: ({ payload }) => isJpeg(payload) },
};

describeWith(VideoFlow, 'each node of the package', { versions: SMOKE_VERSIONS }, (flow) => {
  let camera: SandboxCamera;
  let port: number;
  let sets: { types: string[]; enabled: boolean; err?: string }[];
  let html: string;
  before(async () => {
    camera = await flow.station.camera(canMove);
    port = await freePort();
    await deploy();
    sets = await ofNodeRed('/nodes');
    html = await ofNodeRed('/nodes', 'text/html');
  });

  const order = { action: 'order', actionType: 'msg', delivery: 'id', deliveryType: 'msg' };
  const PROBES = ['alarms', 'health', 'problems', 'settled', 'unsettled', 'listed', 'raised', 'held'];
  const others = (): FlowNode[] => [
    { id: 'inbox', type: 'rvm-inbox', name: '', folder: 'an-inbox' },
    listenerNode({ port }),
    webhookIn({ inbox: 'inbox', handledWhen: 'settled', redeliverAfter: 60 }),
    webhookIn({ id: 'listening', path: LISTENED, listener: 'listener' }),
    node('rvm-settle', { id: 'settle', ...order, wires: [['settled'], ['unsettled']] }),
    ...entrance('order', 'settle'),
    node('rvm-list-events', { id: 'list', state: 'all', wires: [['listed'], []] }),
    ...entrance('ask', 'list'),
    node('rvm-alarm-state', { id: 'siren', repeat: 0, wires: [['raised'], [], ['held']] }),
    ...entrance('event', 'siren'),
    node('http in', { url: '/verified', method: 'post', skipBodyParsing: true, wires: [['verify']] }),
    node('rvm-verify', {
      id: 'verify',
      station: 'station',
      wires: ['proven', 'refused'].map((id) => [id, 'answer']),
    }),
    node('http response', { id: 'answer', statusCode: '', headers: {} }),
    ...[...PROBES, 'proven', 'refused'].map((id) => probe(id)),
    ...watch(),
  ];

  /** One node of each type, or two where it has an output for failures: a Catch node gets those of the second. */
  async function deploy(): Promise<void> {
    const callers = Object.entries(CALLERS).flatMap(([type, { properties }]) => [
      caller(type, { ...properties, id: type }),
      caller(type, { ...properties, id: `caught-${type}`, wires: [['result'], []] }),
    ]);
    const entrances = callers.flatMap(({ id }) => entrance(`to-${id}`, id));
    await flow.station.deployFlows(enteredBy(flow.flows([...callers, ...entrances, ...others()])));
  }

  async function through(id: string, msg: Message): Promise<{ at: string; msg: Message }> {
    const { nodeRed } = flow.station;
    const from = nodeRed.seen.length;
    await inject(nodeRed, `to-${id}`, msg);
    const outcome = () =>
      nodeRed.seen.slice(from).find((seen) => seen.probe !== 'status' && seen.msg.of === msg.of);
    await nodeRed.until(() => outcome() !== undefined, 'an outcome');
    return { at: outcome()?.probe ?? '', msg: outcome()?.msg ?? {} };
  }

  async function ofNodeRed<Answer>(path: string, accept = 'application/json'): Promise<Answer> {
    const response = await fetch(flow.station.nodeRed.url + path, { headers: { Accept: accept } });
    assert.equal(response.status, 200);
    return (accept === 'text/html' ? response.text() : response.json()) as Answer;
  }

  const secret = (): string => flow.station.credentials.secret;
  const raise = (payload: Message = {}): Promise<Message> => raiseIn(flow.station.nodeRed, payload, secret());

  async function settle(wish: string, id: unknown, output: 'settled' | 'unsettled'): Promise<Message> {
    await inject(flow.station.nodeRed, 'order', { order: wish, id });
    return flow.station.nodeRed.message(output, (msg) => msg.id === id);
  }

  for (const type of typesOfPackage())
    it(`${type} is loaded and deployed, with its dialog and its help`, async () => {
      const set = sets.find(({ types }) => types.includes(type));
      assert.deepEqual([set?.enabled, set?.err], [true, undefined]);
      assert.ok((await ofNodeRed<FlowNode[]>('/flows')).some((node) => node.type === type));
      for (const name of ['data-template-name', 'data-help-name'])
        assert.ok(html.includes(`${name}="${type}"`), name);
    });

  it('its plugins are loaded', async () => {
    const plugins = await ofNodeRed<{ id: string; err?: string }[]>('/plugins');
    for (const name of PLUGINS)
      assert.ok(
        plugins.some(({ id, err }) => id.endsWith(`/${name}`) && err === undefined),
        name,
      );
  });

  for (const [type, { gives, refuses }] of Object.entries(CALLERS)) {
    const [bad, code] = refuses ?? [{ event: nobodysEvent() }, 'DEVICE_NOT_FOUND'];

    it(`${type} shows the session, without a message`, () => flow.station.shows('connected v3', type));

    it(`${type} answers a message at output 1`, async function () {
      if (type === 'rvm-get-picture') needs(this, 'ffmpeg');
      const { at, msg } = await through(type, { event: flow.event(undefined, camera), of: type });
      assert.equal(at, 'result', JSON.stringify(msg.error));
      assert.ok(gives(msg, camera));
    });

    it(`${type} gives what it cannot do to output 2, and to Catch nodes where that is not wired`, async () => {
      for (const [id, output] of [
        [type, 'failed'],
        [`caught-${type}`, 'caught'],
      ] as const) {
        const { at, msg } = await through(id, { ...bad, of: id });
        assert.deepEqual([at, codeOf(msg)], [output, code]);
      }
    });
  }

  it('rvm-webhook-in receives an alarm, and shows when', async () => {
    const { event, webhook } = await raise({ eventName: 'Fence climbed' });
    assert.equal((event as Message).eventName, 'Fence climbed');
    assert.equal((webhook as Message).proof, 'hmac');
    await flow.station.shows(/^last \d/, 'webhook');
  });

  it('rvm-webhook-in sends health events to output 2, and what nothing proves to output 3', async () => {
    const { nodeRed } = flow.station;
    const health = alarmMessage({ eventClass: 'health' });
    assert.equal(await answered(nodeRed, health, secret()), 200);
    await arrived(nodeRed, health, 'health');
    const problem = await nodeRed.next('problems', async () =>
      assert.equal(await answered(nodeRed, alarmMessage(), 'another phrase'), 401),
    );
    assert.equal(problemOf(problem).reason, 'bad-signature');
  });

  it('rvm-listener receives at a port of its own', async () => {
    const message = alarmMessage();
    assert.equal((await post(`http://127.0.0.1:${port}${LISTENED}`, message, secret())).status, 200);
    await arrived(flow.station.nodeRed, message);
  });

  it('rvm-inbox keeps what came over a deploy, and knows what comes again', async () => {
    const { nodeRed } = flow.station;
    const { deliveryId } = factsOf(await raise());
    const message = alarmMessage();
    for (const _turn of [1, 2]) {
      assert.equal(await answered(nodeRed, message, secret()), 200);
      await deploy();
    }
    await arrived(nodeRed, message);
    await settle('done', deliveryId, 'settled');
    const same = nodeRed.at('alarms').map(factsOf);
    const ids = same.filter((each) => each.messageId === message.messageId);
    assert.equal(new Set(ids.map((each) => each.deliveryId)).size, 1);
  });

  for (const [wish, state] of [
    ['done', 'delivered'],
    ['reject', 'dead'],
    ['retry', 'leased'],
    ['extend', 'leased'],
  ] as const)
    it(`rvm-settle settles an event as ${wish}, and rvm-list-events lists it`, async () => {
      const { nodeRed } = flow.station;
      const { deliveryId } = factsOf(await raise());
      await settle(wish, deliveryId, 'settled');
      const isAgain = (msg: Message) => factsOf(msg).deliveryId === deliveryId && factsOf(msg).attempt === 2;
      if (wish === 'retry') await nodeRed.message('alarms', isAgain);
      const rows = (await nodeRed.next('listed', () => inject(nodeRed, 'ask', {}))).payload as Message[];
      assert.equal(rows.find((row) => row.deliveryId === deliveryId)?.state, state);
    });

  it('rvm-settle refuses an id that no inbox knows', async () =>
    assert.equal(codeOf(await settle('done', NOBODY, 'unsettled')), 'UNKNOWN_DELIVERY'));

  it('rvm-alarm-state raises a group, and gives what is no event to Catch nodes', async () => {
    const { nodeRed } = flow.station;
    await inject(nodeRed, 'event', eventMessage());
    assert.equal((await nodeRed.message('raised')).payload, true);
    await inject(nodeRed, 'event', { topic: 'neither event nor control' });
    const refused = await nodeRed.message('caught', (msg) => String(msg.topic).startsWith('neither'));
    assert.equal(codeOf(refused), 'BAD_INPUT');
  });

  for (const [phrase, status, output] of [
    ['', 200, 'proven'],
    ['another phrase', 401, 'refused'],
  ] as const)
    it(`rvm-verify answers ${status} to what an http in node brings and is ${output}`, async () => {
      const { nodeRed } = flow.station;
      const answer = await post(`${nodeRed.url}/verified`, alarmMessage(), phrase || secret());
      assert.equal(answer.status, status);
      await nodeRed.message(output);
    });

  it('rvm-watch pulses while all is well, and says what is wrong', async () => {
    const { nodeRed } = flow.station;
    await nodeRed.message('pulses');
    assert.equal(await answered(nodeRed, alarmMessage(), 'another phrase'), 401);
    const isIt = ({ what }: Verdict['findings'][number]): boolean => what === 'not-proven';
    await nodeRed.message('changes', ({ payload }) => (payload as Verdict).findings.some(isIt));
  });
});

function nobodysEvent(): Message {
  return { cameraId: NOBODY, cameraName: 'none', eventStartTime: '2026-03-04T05:06:07.0000000' };
}

function isJpeg(payload: unknown): boolean {
  return bytesOf(payload).toString('hex', 0, 2) === 'ffd8';
}
