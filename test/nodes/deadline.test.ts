import assert from 'node:assert/strict';
import { NODE_RED_VERSIONS, slowIt } from '../support/suite/lanes';
import type { FlowNode } from '../support/node-red/node-red';
import { caller, canMove, StationFlow, type Failure, type Message } from '../support/node-red/station-flow';

for (const version of NODE_RED_VERSIONS) {
  describe(`the deadline of nodes that call the service, in Node-RED ${version}`, () => {
    let flow: StationFlow;
    let msg: Message;

    before(async () => {
      flow = await StationFlow.start(version, {}, { env: { RVM_TEST_DEADLINE: '1' } });
      const { id } = await flow.camera(canMove);
      msg = { event: { cameraId: id, eventStartTime: '2026-03-04T05:06:07.0000000' } };
    });

    afterEach(() => flow.endFaults());
    after(() => flow.stop());

    /** One of each type that calls the service; a PTZ command has a deadline of its own where it is not told another. */
    function nodes(properties: Message, ofPtz: Message = properties): FlowNode[] {
      return [
        caller('rvm-list-devices', { id: 'list', fresh: true, ...properties }),
        caller('rvm-get-device', { id: 'device', ...properties }),
        caller('rvm-get-rtsp', { id: 'rtsp', ...properties }),
        caller('rvm-snapshot', { id: 'snapshot', ...properties }),
        caller('rvm-request', { id: 'request', ...properties }),
        caller('rvm-ptz', { id: 'ptz', target: '0', ...ofPtz }),
      ];
    }

    /** The codes with which all of them fail. */
    async function codes(): Promise<Set<string>> {
      const mark = await flow.send(msg);
      const failures = (): Failure[] =>
        flow.nodeRed
          .at('failed')
          .filter((failed) => failed.mark === mark)
          .map(({ error }) => error as Failure);
      await flow.nodeRed.until(() => failures().length === nodes({}).length, 'the failures');
      return new Set(failures().map(({ code }) => code));
    }

    async function endsEach(ofPtz?: Message): Promise<void> {
      // The service and the cloud have a minute: what ends the messages are the deadlines.
      const all = nodes({ deadline: '${RVM_TEST_DEADLINE}' }, ofPtz);
      await flow.deployFlows(flow.flows({ cloud: { timeout: 60 } }, ...all));
      for (const { id } of all) await flow.shows('connected v3', id);
      await flow.fault({ kind: 'latency', ms: 60_000 });
      assert.deepEqual(await codes(), new Set(['TIMEOUT']));
    }

    it('ends a message of each, and takes a variable', () => endsEach());

    slowIt('is there for ptz in a flow that does not name it', () => endsEach({}));

    it('that is no number, or below a second, is refused with BAD_INPUT', async () => {
      for (const deadline of ['soon', 0, '0.5']) {
        await flow.deploy(...nodes({ deadline }));
        assert.deepEqual(await codes(), new Set(['BAD_INPUT']), String(deadline));
      }
    });
  });
}
