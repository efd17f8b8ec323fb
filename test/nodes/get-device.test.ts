import assert from 'node:assert/strict';
import { functionNode, type FlowNode } from '../support/node-red/node-red';
import {
  caller,
  canMove,
  describeWith,
  StationFlow,
  isFixed,
  type Message,
  withVariable,
} from '../support/node-red/station-flow';

const SPOILER = functionNode(
  'spoiler',
  `const before = { ...msg.payload };
msg.payload.name = 'spoilt';
return { ...msg, payload: before };`,
  'result',
);

const ask = (what: string) => caller('rvm-get-device', { camera: 'camera', cameraType: 'msg', what });

describeWith(StationFlow, 'get device', {}, (flow) => {
  it('gives the details of a camera: more than the list has, without links; the message is kept', async () => {
    const { id, name } = flow.online;
    const sent = { camera: id, topic: 'mine', extra: { kept: true } };
    const msg = await flow.ask(caller('rvm-get-device', { camera: 'camera' }), sent);
    const payload = { id, name, online: true, manufacturer: 'SANDBOX' };
    assert.partialDeepStrictEqual(msg, { ...sent, payload });
    const device = msg.payload as Message;
    assert.ok(typeof device.site === 'string' && device.site !== '');
    assert.equal('_links' in device, false);
  });

  it('gives a copy, which a flow may change', async () => {
    const { id, name } = flow.online;
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

  it('refuses a choice that it does not have', async () =>
    assert.equal((await flow.refusal(ask('secrets'), { camera: 'any' })).code, 'BAD_INPUT'));

  it('takes its choice from an environment variable', async () => {
    const { id } = await flow.camera(canMove);
    await flow.deployFlows(withVariable(flow.flows({}, ask('${RVM_TEST_WHAT}')), 'RVM_TEST_WHAT', 'tours'));
    assert.ok(Array.isArray((await flow.through({ camera: id })).payload));
  });
});

const UNSET = 'RVM_TEST_UNSET';
const WITH_VARIABLE = { env: { RVM_TEST_CAMERA: 'no camera of the sandbox' } };
describeWith(StationFlow, 'the camera that a node is asked for', WITH_VARIABLE, (flow) => {
  const asker = (value?: string, cameraType?: string): FlowNode =>
    caller('rvm-get-device', value === undefined ? {} : { camera: value, cameraType });

  const found = async (node: FlowNode, msg: Message = {}): Promise<void> =>
    assert.equal(((await flow.ask(node, msg)).payload as Message).id, flow.online.id, JSON.stringify(node));

  it('is that of the event, unless the node says otherwise', () =>
    found(asker(), { event: { cameraId: flow.online.id } }));

  for (const [type, value, msgOf] of [
    ['msg', 'camera', (id) => ({ camera: id })],
    ['flow', 'camera', (id) => ({ flow: { camera: id } })],
    ['global', 'camera', (id) => ({ global: { camera: id } })],
    ['jsonata', "$split(note, ' ')[1]", (id) => ({ note: `camera ${id}` })],
  ] as [string, string, (id: string) => Message][])
    it(`comes from the message, the context or an expression: ${type}`, () =>
      found(asker(value, type), msgOf(flow.online.id)));

  it('comes from an environment variable, of the tab or of the process', async () => {
    await flow.deployFlows(withVariable(flow.flows({}, asker('CAMERA', 'env')), 'CAMERA', flow.online.id));
    assert.equal(((await flow.through({})).payload as Message).id, flow.online.id);
    assert.equal((await flow.refusal(asker('RVM_TEST_CAMERA', 'env'))).code, 'DEVICE_NOT_FOUND');
  });

  for (const name of ['id', 'remoteId', 'name'] as const)
    it(`comes from the node, where its ${name} stands`, () => found(asker(flow.online[name], 'str')));

  const EMPTY = [undefined, {}, { cameraId: null }, { cameraId: '' }, { cameraId: ' ' }];
  for (const [what, code, text, node, ...events] of [
    ['the number 0, by which a camera is looked for,', 'DEVICE_NOT_FOUND', /./, asker(), { cameraId: 0 }],
    ['the number 0 in the node', 'DEVICE_NOT_FOUND', /./, asker('0', 'num')],
    ['nothing in the event, which is told,', 'BAD_INPUT', /msg\.event\.cameraId/, asker(), ...EMPTY],
    ['nothing in the node, which is told,', 'BAD_INPUT', /in this node/, asker('', 'str')],
    ['an object', 'BAD_INPUT', /neither a text nor a number/, asker(), { cameraId: { id: 'gate' } }],
    ['a list', 'BAD_INPUT', /neither a text nor a number/, asker(), { cameraId: ['gate'] }],
    ['true', 'BAD_INPUT', /neither a text nor a number/, asker(), { cameraId: true }],
    ['an expression that is broken', 'BAD_INPUT', /property camera/, asker('$nonsense(', 'jsonata')],
    ['a variable that is not set', 'CONFIG_MISSING', /RVM_TEST_UNSET is not set/, asker(UNSET, 'env')],
    ['one within a text', 'CONFIG_MISSING', /RVM_TEST_UNSET is not set/, asker(`Gate \${${UNSET}}`, 'env')],
    ['one in braces', 'CONFIG_MISSING', /RVM_TEST_UNSET is not set/, asker(`\${${UNSET}}`, 'str')],
  ] as [string, string, RegExp, FlowNode, ...Message[]][])
    it(`that is ${what} is ${code}`, async () => {
      for (const event of events.length > 0 ? events : [undefined]) {
        const failure = await flow.refusal(node, { event });
        assert.equal(failure.code, code, JSON.stringify(event));
        assert.match(failure.message, text);
      }
    });
});
