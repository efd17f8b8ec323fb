import assert from 'node:assert/strict';
import { functionNode, type FlowNode } from '../support/node-red/node-red';
import {
  caller,
  canMove,
  describeWith,
  StationFlow,
  isFixed,
  isOnline,
  type Failure,
  type Message,
  type SandboxCamera,
  withVariable,
} from '../support/node-red/station-flow';

/** Changes what it gets, as a flow may. */
const SPOILER = functionNode(
  'spoiler',
  `const before = { ...msg.payload };
msg.payload.name = 'spoilt';
return { ...msg, payload: before };`,
  'result',
);

function ask(what: string): FlowNode {
  return caller('rvm-get-device', { camera: 'camera', cameraType: 'msg', what });
}

describeWith(StationFlow, 'get device', {}, (flow) => {
  it('gives the details of a camera: more than the list has, without links; the message is kept', async () => {
    const { id, name } = await flow.camera(isOnline);
    const sent = { camera: id, topic: 'mine', extra: { kept: true } };
    const msg = await flow.ask(caller('rvm-get-device', { camera: 'camera' }), sent);
    const payload = { id, name, online: true, manufacturer: 'SANDBOX' };
    assert.partialDeepStrictEqual(msg, { ...sent, payload });
    const device = msg.payload as Message;
    assert.ok(typeof device.site === 'string' && device.site !== '');
    assert.equal('_links' in device, false);
  });

  it('gives a copy, which a flow may change', async () => {
    const { id, name } = await flow.camera(isOnline);
    await flow.deploy({ ...ask('details'), wires: [['spoiler'], []] }, SPOILER);
    for (const _turn of [1, 2])
      assert.equal(((await flow.through({ camera: id })).payload as Message).name, name);
  });

  for (const [what, name] of [
    ['presets', 'Entrance'],
    ['tours', 'Perimeter'],
  ] as const)
    it(`lists ${what} with id and name, and an id may be 0`, async () => {
      const { id } = await flow.camera(canMove);
      const list = (await flow.ask(ask(what), { camera: id })).payload as Message[];
      assert.ok(list.length > 1);
      for (const entry of list) assert.deepEqual(Object.keys(entry), ['id', 'name']);
      assert.deepEqual(list[0], { id: 0, name });
    });

  it('says LINK_NOT_OFFERED for the presets of a camera that cannot move, and DEVICE_NOT_FOUND for a stranger', async () => {
    const { id } = await flow.camera(isFixed);
    assert.equal((await flow.refusal(ask('presets'), { camera: id })).code, 'LINK_NOT_OFFERED');
    assert.equal(await flow.code({ camera: 'nobody' }), 'DEVICE_NOT_FOUND');
  });

  it('refuses a choice that it does not have', async () => {
    assert.equal((await flow.refusal(ask('secrets'), { camera: 'any' })).code, 'BAD_INPUT');
  });

  it('takes its choice from an environment variable', async () => {
    const { id } = await flow.camera(canMove);
    await flow.deployFlows(withVariable(flow.flows({}, ask('${RVM_TEST_WHAT}')), 'RVM_TEST_WHAT', 'tours'));
    assert.ok(Array.isArray((await flow.through({ camera: id })).payload));
  });
});

const NOBODY = { env: { RVM_TEST_CAMERA: 'no camera of the sandbox' } };
describeWith(StationFlow, 'the camera that a node is asked for', NOBODY, (flow) => {
  let camera: SandboxCamera;
  before(async () => {
    camera = await flow.camera(isOnline);
  });

  const asker = (value?: string, cameraType?: string): FlowNode =>
    caller('rvm-get-device', value === undefined ? {} : { camera: value, cameraType });

  async function found(node: FlowNode, msg: Message = {}): Promise<void> {
    assert.equal(((await flow.ask(node, msg)).payload as Message).id, camera.id, JSON.stringify(node));
  }

  async function refused(node: FlowNode, code: string, what = /./, msg: Message = {}): Promise<void> {
    const failure: Failure = await flow.refusal(node, msg);
    assert.equal(failure.code, code, JSON.stringify([node, msg]));
    assert.match(failure.message, what);
  }

  it('is that of the event, unless the node says otherwise', () =>
    found(asker(), { event: { cameraId: camera.id } }));

  for (const [type, value, msgOf] of [
    ['str', undefined, () => ({})],
    ['msg', 'camera', (id) => ({ camera: id })],
    ['flow', 'camera', (id) => ({ flow: { camera: id } })],
    ['global', 'camera', (id) => ({ global: { camera: id } })],
    ['jsonata', "$split(note, ' ')[1]", (id) => ({ note: `camera ${id}` })],
  ] as [string, string | undefined, (id: string) => Message][])
    it(`comes from the node, the message, the context or an expression: ${type}`, () =>
      found(asker(value ?? camera.id, type), msgOf(camera.id)));

  it('comes from an environment variable, of the process or of the tab', async () => {
    await flow.deployFlows(withVariable(flow.flows({}, asker('CAMERA', 'env')), 'CAMERA', camera.id));
    assert.equal(((await flow.through({})).payload as Message).id, camera.id);
    await refused(asker('RVM_TEST_CAMERA', 'env'), 'DEVICE_NOT_FOUND');
  });

  for (const name of ['id', 'remoteId', 'name'] as const)
    it(`is named by its ${name}`, () => found(asker(camera[name], 'str')));

  it('may be a number, 0 included: the camera of that id is looked for', async () => {
    await refused(asker(), 'DEVICE_NOT_FOUND', /./, { event: { cameraId: 0 } });
    await refused(asker('0', 'num'), 'DEVICE_NOT_FOUND');
  });

  it('is BAD_INPUT where it is empty, and the message says where it was looked for', async () => {
    for (const event of [undefined, {}, { cameraId: null }, { cameraId: '' }, { cameraId: ' ' }])
      await refused(asker(), 'BAD_INPUT', /msg\.event\.cameraId/, { event });
    await refused(asker('', 'str'), 'BAD_INPUT', /in this node/);
  });

  it('is BAD_INPUT where it is neither a text nor a number', async () => {
    for (const cameraId of [{ id: camera.id }, [camera.id], true])
      await refused(asker(), 'BAD_INPUT', /neither a text nor a number/, { event: { cameraId } });
  });

  it('is CONFIG_MISSING that names the variable where an environment variable is not set', async () => {
    for (const value of ['RVM_TEST_UNSET', 'Gate ${RVM_TEST_UNSET}'])
      await refused(asker(value, 'env'), 'CONFIG_MISSING', /RVM_TEST_UNSET is not set/);
    await refused(asker('${RVM_TEST_UNSET}', 'str'), 'CONFIG_MISSING');
    await flow.shows('RVM_TEST_UNSET is not set');
  });

  it('is BAD_INPUT where an expression is broken', () =>
    refused(asker('$nonsense(', 'jsonata'), 'BAD_INPUT', /property camera/));
});
