import assert from 'node:assert/strict';
import type { Device } from '../../lib/device';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import { probe, type FlowNode } from '../support/node-red/node-red';
import { caller, StationFlow, type Message } from '../support/node-red/station-flow';

interface Parts {
  id: string;
  type: string;
  count: number;
  index: number;
  len: number;
  parts?: Parts;
}

/** A Complete node at the node under test, with a probe. */
const COMPLETE: FlowNode[] = [
  {
    id: 'complete',
    type: 'complete',
    z: 'tab',
    scope: ['node'],
    uncaught: false,
    x: 0,
    y: 0,
    wires: [['completed']],
  },
  probe('completed'),
];

for (const version of NODE_RED_VERSIONS) {
  describe(`list devices in Node-RED ${version}`, () => {
    let flow: StationFlow;

    before(async () => {
      flow = await StationFlow.start(version);
    });

    afterEach(() => flow.endFaults());
    after(() => flow.stop());

    function list(properties: Message = {}): FlowNode {
      return caller('rvm-list-devices', properties);
    }

    async function devices(msg: Message = {}): Promise<Device[]> {
      return (await flow.through(msg)).payload as Device[];
    }

    /** The messages of one that went in, in the order in which they left, once the node says it is done. */
    async function eachOf(
      msg: Message,
      count: number,
    ): Promise<{ payload: Device; parts: Parts; topic?: string; extra?: unknown }[]> {
      const mark = await flow.send(msg);
      await flow.nodeRed.message('completed', (seen) => seen.mark === mark);
      const results = (): Message[] => flow.nodeRed.at('result').filter((seen) => seen.mark === mark);
      await flow.nodeRed.until(() => results().length >= count, `${count} messages`);
      return results() as { payload: Device; parts: Parts }[];
    }

    it('finds a part of name, site or id, in capital and small letters', async () => {
      await flow.deploy(list());
      const all = await devices();
      const [first] = all;
      assert.ok(first !== undefined);
      await flow.deploy(list({ search: 'wanted', searchType: 'msg' }));
      const searches: [string, (device: Device) => boolean][] = [
        ['FENCE', ({ name }) => /fence/i.test(name)],
        [first.site.toLowerCase().slice(2), ({ site }) => site === first.site],
        [first.id.slice(4, 20).toUpperCase(), ({ id }) => id === first.id],
        [' fence ', ({ name }) => /fence/i.test(name)],
        ['no such camera', () => false],
      ];
      for (const [wanted, condition] of searches)
        assert.deepEqual(await devices({ wanted }), all.filter(condition), wanted);
    });

    it('lists all where the search is empty, and refuses one that is no text', async () => {
      await flow.deploy(list());
      const all = await devices();
      await flow.deploy(list({ search: 'wanted', searchType: 'msg' }));
      for (const wanted of [undefined, null, '', ' ']) assert.deepEqual(await devices({ wanted }), all);
      assert.equal(await flow.code({ wanted: { name: 'Gate' } }), 'BAD_INPUT');
      assert.deepEqual(
        await devices({ wanted: 7 }),
        all.filter(({ name, site, id }) => `${name} ${site} ${id}`.includes('7')),
      );
    });

    it('searches among those that it shows', async () => {
      await flow.deploy(list({ show: 'not-online', search: 'sandbox', searchType: 'str' }));
      const found = await devices();
      assert.ok(found.length > 0 && found.every(({ online }) => !online));
    });

    it('sends one message per device, with the parts of an array, and is done once after the last', async () => {
      await flow.deploy(list());
      const all = await devices();
      await flow.deploy(list({ output: 'each' }), ...COMPLETE);
      const messages = await eachOf({ topic: 'mine', extra: { kept: true } }, all.length);
      assert.deepEqual(
        messages.map(({ payload }) => payload),
        all,
      );
      const [first] = messages;
      for (const [index, { parts, topic }] of messages.entries()) {
        assert.deepEqual(parts, { id: first?.parts.id, type: 'array', count: all.length, index, len: 1 });
        assert.equal(topic, 'mine');
      }
      assert.equal(flow.nodeRed.at('completed').length, 1);
      assert.deepEqual(messages.at(-1)?.extra, { kept: true });
    });

    it('sends messages that a join node puts together again', async () => {
      const join: FlowNode = {
        id: 'join',
        type: 'join',
        z: 'tab',
        mode: 'auto',
        build: 'object',
        property: 'payload',
        propertyType: 'msg',
        x: 0,
        y: 0,
        wires: [['result']],
      };
      await flow.deploy(list());
      const all = await devices();
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
      const spoiler: FlowNode = {
        id: 'spoiler',
        type: 'function',
        z: 'tab',
        name: '',
        func: `msg.payload.name = 'spoilt'; msg.shared.push(1);
return { mark: msg.mark, payload: msg.shared.length };`,
        outputs: 1,
        libs: [],
        x: 0,
        y: 0,
        wires: [['result']],
      };
      await flow.deploy(list());
      const { length } = await devices();
      await flow.deploy(list({ output: 'each', wires: [['spoiler'], []] }), spoiler, ...COMPLETE);
      const lengths = (await eachOf({ shared: [] }, length)).map(({ payload }) => payload as unknown);
      assert.deepEqual(new Set(lengths), new Set([1]));
      await flow.deploy(list());
      assert.equal(
        (await devices()).some(({ name }) => name === 'spoilt'),
        false,
      );
    });

    it('asks the service now only where it is told to', async () => {
      await flow.deploy(list({ show: 'online' }));
      const before = (await devices()).length;
      const camera = await flow.camera(({ status }) => status === 'online');
      await flow.fault({ kind: 'camera-offline', camera: camera.id });
      assert.equal((await devices()).length, before);
      await flow.deploy(list({ show: 'online', fresh: true }));
      assert.equal((await devices()).length, before - 1);
      await flow.endFaults();
      assert.equal((await devices()).length, before);
    });

    it('refuses an output that there is not', async () => {
      await flow.deploy(list({ output: 'stream' }));
      assert.equal(await flow.code({}), 'BAD_INPUT');
    });
  });
}
