import assert from 'node:assert/strict';
import { Sandbox } from '../../sandbox';
import { NODE_RED_VERSIONS } from '../support/suite/lanes';
import type { FlowNode } from '../support/node-red/node-red';
import { caller, canMove, enteredBy, StationFlow, type Message } from '../support/node-red/station-flow';

const TIME = '2026-03-04T05:06:07.0000000';
const OF_CAMERA = ['rvm-get-device', 'rvm-get-rtsp', 'rvm-ptz', 'rvm-snapshot', 'rvm-request'];

for (const version of NODE_RED_VERSIONS) {
  describe(`what nodes show of a message that has failed, in Node-RED ${version}`, () => {
    let flow: StationFlow;
    let good: Message;

    before(async () => {
      flow = await StationFlow.start(version);
      const { id } = await flow.camera(canMove);
      good = { event: { cameraId: id, eventStartTime: TIME }, search: '' };
    });

    after(() => flow.stop());

    /** Of a camera that there is not, and a search for something that is no text. */
    const BAD = { event: { cameraId: 'nobody', eventStartTime: TIME }, search: {} };

    /** One of each type, with the output for failures wired. */
    function nodes(station = 'station'): FlowNode[] {
      const ofCamera = OF_CAMERA.map((type) =>
        caller(type, { id: type, station, target: '0', start: 'device' }),
      );
      const list = caller('rvm-list-devices', {
        id: 'rvm-list-devices',
        station,
        search: 'search',
        searchType: 'msg',
      });
      return [...ofCamera, list];
    }

    /** Sends a message and waits until it has left all nodes by one output. */
    async function allCome(msg: Message, output: 'result' | 'failed'): Promise<void> {
      const mark = await flow.send(msg);
      const come = (): Message[] => flow.nodeRed.at(output).filter((each) => each.mark === mark);
      await flow.nodeRed.until(() => come().length === nodes().length, `all at ${output}`);
    }

    async function showFailures(): Promise<void> {
      for (const type of OF_CAMERA) await flow.shows('status.deviceNotFound', type);
      await flow.shows('status.wrongInput', 'rvm-list-devices');
    }

    async function showStation(): Promise<void> {
      for (const type of [...OF_CAMERA, 'rvm-list-devices']) await flow.shows('connected v3', type);
    }

    function lookOf(node: string): unknown {
      const last = flow.nodeRed
        .at('status')
        .map(({ status }) => status as { fill: string; shape: string; source: { id: string } })
        .findLast(({ source }) => source.id === node);
      return [last?.fill, last?.shape];
    }

    for (const [title, station] of [
      ['with a Central Station', 'station'],
      ['without one', ''],
    ] as const) {
      it(`is a red dot with the reason in short until the next success, although output 2 is wired, on a node ${title}`, async () => {
        await flow.deploy(...nodes(station));
        await allCome({ ...good, station: 'north' }, 'result');
        await showStation();
        await allCome({ ...BAD, station: 'north' }, 'failed');
        await showFailures();
        for (const { id } of nodes()) assert.deepEqual(lookOf(id), ['red', 'dot']);
        await allCome({ ...good, station: 'north' }, 'result');
        await showStation();
        assert.deepEqual(lookOf('rvm-ptz'), ['green', 'dot']);
      });
    }

    it('shows on a node without any station as well', async () => {
      const alone = caller('rvm-list-devices', { station: '' });
      await flow.deployFlows(flow.flows({ station: { key: 'south' } }, alone));
      assert.equal(await flow.code({ station: 'nowhere' }), 'CONFIG_MISSING');
      await flow.shows('status.notConfigured');
      await flow.through({ station: 'south' });
      await flow.shows('connected v3');
    });

    it('gives way to "offline since" while that is so, and is there again when the service is', async () => {
      let service = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0, apiKey: flow.sandbox.apiKey });
      const port = Number(new URL(service.url).port);
      try {
        service.setStation('north', { scheme: 'http', ...flow.credentials });
        const asker = caller('rvm-request', { id: 'asker', deadline: 1 });
        const failed = caller('rvm-get-device', { id: 'failed-before', wires: [[], ['aside']] });
        const aside = { id: 'aside', type: 'debug', z: 'tab', active: false, x: 0, y: 0, wires: [] };
        const flows = flow.flows({ cloud: { url: service.url, timeout: 2 } }, asker, failed, aside);
        await flow.deployFlows(enteredBy(flows, 'asker', 'failed-before'));
        await flow.shows('connected v3', 'asker');
        await flow.through({});
        await flow.shows('status.wrongInput', 'failed-before');

        await service.close();
        assert.equal(await flow.code({}), 'NETWORK');
        await flow.shows(/^offline since \d/, 'asker');
        await flow.shows(/^offline since \d/, 'failed-before');

        service = await Sandbox.start({ eventsPerMinute: 0, rtspPort: 0, port, apiKey: flow.sandbox.apiKey });
        service.setStation('north', { scheme: 'http', ...flow.credentials });
        await flow.shows('status.noConnection', 'asker');
        await flow.shows('status.wrongInput', 'failed-before');
        await flow.through({});
        await flow.shows('connected v3', 'asker');
      } finally {
        await service.close();
      }
    });

    it('shows on settle event and list events too', async () => {
      const settle = caller('rvm-settle', { id: 'settle' });
      const list = caller('rvm-list-events', { id: 'list-events', since: 'since', sinceType: 'msg' });
      await flow.deploy(settle, list);
      await flow.send({ webhook: { deliveryId: 'none-of-ours' }, since: 'yesterday' });
      await flow.shows('status.unknownDelivery', 'settle');
      await flow.shows('status.wrongInput', 'list-events');
      await flow.send({ since: '' });
      await flow.shows('', 'list-events');
      await flow.shows('status.wrongInput', 'settle');
    });
  });
}
