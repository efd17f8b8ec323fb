import assert from 'node:assert/strict';
import type { Device } from '../../lib/device';
import { flowNode, type FlowNode, functionNode, probe } from '../support/node-red/node-red';
import { caller, describeWith, StationFlow, type Message } from '../support/node-red/station-flow';

interface Parts {
  id: string;
  type: string;
  count: number;
  index: number;
  len: number;
  parts?: Parts;
}

interface DeviceMessage {
  payload: Device;
  parts: Parts;
  topic?: string;
  extra?: unknown;
}

const COMPLETE: FlowNode[] = [
  flowNode('complete', 'complete', [['completed']], { scope: ['node'], uncaught: false }),
  probe('completed'),
];

const list = (properties: Message = {}): FlowNode => caller('rvm-list-devices', properties);

describeWith(StationFlow, 'list devices', {}, (flow) => {
  const devices = async (msg: Message = {}) => (await flow.through(msg)).payload as Device[];

  async function devicesOf(properties: Message = {}): Promise<Device[]> {
    await flow.deploy(list(properties));
    return devices();
  }

  /** All of them; from here on a message says what is searched for. */
  async function allBeforeSearch(): Promise<Device[]> {
    const all = await devicesOf();
    await flow.deploy(list({ search: 'wanted', searchType: 'msg' }));
    return all;
  }

  /** The messages of one that went in, in the order in which they left, once the node says it is done. */
  async function eachOf(msg: Message, count: number): Promise<DeviceMessage[]> {
    const mark = await flow.send(msg);
    await flow.nodeRed.message('completed', (seen) => seen.mark === mark);
    const results = (): Message[] => flow.nodeRed.at('result').filter((seen) => seen.mark === mark);
    await flow.nodeRed.until(() => results().length >= count, `${count} messages`);
    return results() as unknown as DeviceMessage[];
  }

  it('finds a part of name, site or id, in capital and small letters', async () => {
    const all = await allBeforeSearch();
    const [first = assert.fail()] = all;
    const searches: [string | number, (device: Device) => boolean][] = [
      ['FENCE', ({ name }) => /fence/i.test(name)],
      [first.site.toLowerCase().slice(2), ({ site }) => site === first.site],
      [first.id.slice(4, 20).toUpperCase(), ({ id }) => id === first.id],
      [' fence ', ({ name }) => /fence/i.test(name)],
      ['no such camera', () => false],
      [7, ({ name, site, id }) => `${name} ${site} ${id}`.includes('7')],
    ];
    for (const [wanted, condition] of searches)
      assert.deepEqual(await devices({ wanted }), all.filter(condition), `${wanted}`);
  });

  it('lists all where the search is empty, and refuses one that is no text', async () => {
    const all = await allBeforeSearch();
    for (const wanted of [undefined, null, '', ' ']) assert.deepEqual(await devices({ wanted }), all);
    assert.equal(await flow.code({ wanted: { name: 'Gate' } }), 'BAD_INPUT');
  });

  it('searches among those that it shows', async () => {
    const found = await devicesOf({ show: 'not-online', search: 'sandbox', searchType: 'str' });
    assert.ok(found.length > 0 && found.every(({ online }) => !online));
  });

  it('sends one message per device, with the parts of an array, and is done once after the last', async () => {
    const all = await devicesOf();
    await flow.deploy(list({ output: 'each' }), ...COMPLETE);
    const messages = await eachOf({ topic: 'mine', extra: { kept: true } }, all.length);
    const id = messages[0]?.parts.id;
    assert.deepEqual(
      messages.map(({ payload, parts, topic }) => ({ payload, parts, topic })),
      all.map((payload, index) => ({
        payload,
        parts: { id, type: 'array', count: all.length, index, len: 1 },
        topic: 'mine',
      })),
    );
    assert.equal(flow.nodeRed.at('completed').length, 1);
    assert.deepEqual(messages.at(-1)?.extra, { kept: true });
  });

  it('sends messages that a join node puts together again', async () => {
    const all = await devicesOf();
    const how = { mode: 'auto', build: 'object', property: 'payload', propertyType: 'msg' };
    const join = flowNode('join', 'join', [['result']], how);
    await flow.deploy(list({ output: 'each', wires: [['join'], ['failed']] }), join);
    assert.deepEqual(await devices(), all);
  });

  it('keeps parts that the message had one level down, as a split node does', async () => {
    await flow.deploy(list({ output: 'each' }), ...COMPLETE);
    const outer = { id: 'outer', type: 'array', count: 2, index: 1, len: 1 };
    const [first] = await eachOf({ parts: outer }, 1);
    assert.deepEqual(first?.parts.parts, outer);
    assert.notEqual(first?.parts.id, 'outer');
  });

  it('sends no message for an empty list, and is done', async () => {
    await flow.deploy(list({ output: 'each', search: 'no such camera' }), ...COMPLETE);
    assert.deepEqual(await eachOf({}, 0), []);
  });

  it('hands each flow messages of its own, which it may change', async () => {
    const func = `msg.payload.name = 'spoilt'; msg.shared.push(1);
return { mark: msg.mark, payload: msg.shared.length };`;
    const { length } = await devicesOf();
    const each = list({ output: 'each', wires: [['spoiler'], []] });
    await flow.deploy(each, functionNode('spoiler', func, 'result'), ...COMPLETE);
    const lengths = (await eachOf({ shared: [] }, length)).map(({ payload }) => payload as unknown);
    assert.deepEqual(new Set(lengths), new Set([1]));
    assert.ok((await devicesOf()).every(({ name }) => name !== 'spoilt'));
  });

  it('asks the service now only where it is told to', async () => {
    const before = (await devicesOf({ show: 'online' })).length;
    const camera = await flow.camera(({ status }) => status === 'online');
    await flow.fault({ kind: 'camera-offline', camera: camera.id });
    assert.equal((await devices()).length, before);
    assert.equal((await devicesOf({ show: 'online', fresh: true })).length, before - 1);
    await flow.endFaults();
    assert.equal((await devices()).length, before);
  });

  it('refuses an output that there is not', async () =>
    assert.equal((await flow.refusal(list({ output: 'stream' }))).code, 'BAD_INPUT'));
});
