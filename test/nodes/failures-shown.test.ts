import assert from 'node:assert/strict';
import type { NodeStatus } from 'node-red';
import { RvmError } from '../../lib/error';
import { DEADLINE_S } from '../../lib/limits';
import { FailureStatus } from '../../nodes/support/input';
import { slowIt } from '../support/suite/lanes';
import { flowNode, type FlowNode } from '../support/node-red/node-red';
import { assertPause } from '../support/time/patience';
import {
  caller,
  CALLERS,
  canMove,
  describeWith,
  enteredBy,
  type Failure,
  type Message,
  StationFlow,
} from '../support/node-red/station-flow';

const ALL = CALLERS.filter((type) => !/picture|clip|view/.test(type));

/** One of each type that calls the service, with the output for failures wired. */
function nodes(properties: Message = {}, ofPtz: Message = properties): FlowNode[] {
  const usual = { target: '0', start: 'device', fresh: true, search: 'search', searchType: 'msg' };
  return ALL.map((type) =>
    caller(type, { id: type, ...usual, ...(type === 'rvm-ptz' ? ofPtz : properties) }),
  );
}

async function outcomes(flow: StationFlow, msg: Message, output: 'result' | 'failed'): Promise<Message[]> {
  const mark = await flow.send(msg);
  const come = (): Message[] => flow.nodeRed.at(output).filter((each) => each.mark === mark);
  await flow.nodeRed.until(() => come().length === ALL.length, `all at ${output}`);
  return come();
}

const eventOf = (cameraId: string): Message => ({ cameraId, eventStartTime: '2026-03-04T05:06:07.0000000' });

describeWith(StationFlow, 'what nodes show of a message that has failed', {}, (flow) => {
  let good: Message;
  before(async () => {
    const { id } = await flow.camera(canMove);
    good = { event: eventOf(id), search: '', station: 'north' };
  });

  /** Of a camera that there is not, and a search for something that is no text. */
  const BAD = { event: eventOf('nobody'), search: {}, station: 'north' };

  async function allShow(texts: Record<string, string>, look: string): Promise<void> {
    for (const type of ALL) {
      await flow.shows(texts[type] ?? texts.each ?? '', type);
      const last = flow.nodeRed
        .at('status')
        .map(({ status }) => status as { fill: string; shape: string; source: { id: string } })
        .findLast(({ source }) => source.id === type);
      assert.deepEqual([last?.fill, last?.shape], [look, 'dot']);
    }
  }

  for (const [title, station] of [
    ['with a Central Station', 'station'],
    ['without one', ''],
  ] as const)
    it(`is a red dot with the reason in short until the next success, although output 2 is wired, on a node ${title}`, async () => {
      await flow.deploy(...nodes({ station }));
      await outcomes(flow, good, 'result');
      await allShow({ each: 'connected v3' }, 'green');
      await outcomes(flow, BAD, 'failed');
      await allShow({ each: 'status.deviceNotFound', 'rvm-list-devices': 'status.wrongInput' }, 'red');
      await outcomes(flow, good, 'result');
      await allShow({ each: 'connected v3' }, 'green');
    });

  it('shows on a node without any station as well', async () => {
    const alone = caller('rvm-list-devices', { station: '' });
    await flow.deployFlows(flow.flows({ station: { key: 'south' } }, alone));
    assert.equal(await flow.code({ station: 'nowhere' }), 'CONFIG_MISSING');
    await flow.shows('status.notConfigured');
    await flow.through({ station: 'south' });
    await flow.shows('connected v3');
  });

  it('gives way to "offline since" while that is so, and is there again when the service is', async () => {
    let service = await flow.other();
    try {
      const asker = caller('rvm-request', { id: 'asker', deadline: 1 });
      const failed = caller('rvm-get-device', { id: 'failed-before', wires: [[], ['aside']] });
      const aside = flowNode('aside', 'debug', [], { active: false });
      const flows = flow.flows({ cloud: { url: service.url, timeout: 2 } }, asker, failed, aside);
      await flow.deployFlows(enteredBy(flows, 'asker', 'failed-before'));
      await flow.shows('connected v3', 'asker');
      await flow.through({});
      await flow.shows('status.wrongInput', 'failed-before');

      await service.close();
      assert.equal(await flow.code({}), 'NETWORK');
      for (const id of ['asker', 'failed-before']) await flow.shows(/^offline since \d/, id);

      service = await flow.other(service.url);
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

describe('the status of a node that answers messages is not worked out again for one', () => {
  for (const [title, before, outcome] of [
    ['that succeeds after others', undefined, undefined],
    ['that fails as the one before', 'TIMEOUT', 'TIMEOUT'],
  ] as const)
    it(title, () => {
      let looks = 0;
      const shown: unknown[] = [];
      const look = (): NodeStatus => ({ text: `looked at ${(looks += 1)} times` });
      const status = new FailureStatus({ status: (told: unknown) => void shown.push(told) }, look);
      const end = (code?: 'TIMEOUT'): void =>
        status.ended(code === undefined ? undefined : new RvmError(code, 'late'));
      end(before);
      const first = [looks, shown.length];
      for (let count = 0; count < 100; count += 1) end(outcome);
      assert.deepEqual([looks, shown.length], first);
      assert.equal(shown.length, before === undefined ? 0 : 1);
    });
});

const A_SECOND = { env: { RVM_TEST_DEADLINE: '1' } };
describeWith(StationFlow, 'the deadline of nodes that call the service', A_SECOND, (flow) => {
  let msg: Message;
  before(async () => {
    const { id } = await flow.camera(canMove);
    msg = { event: eventOf(id), search: '' };
  });

  const codes = async (): Promise<Set<string>> =>
    new Set((await outcomes(flow, msg, 'failed')).map(({ error }) => (error as Failure).code));

  async function endsEach(ofPtz?: Message): Promise<void> {
    // The service and the cloud have a minute: what ends the messages are the deadlines.
    const all = nodes({ deadline: '${RVM_TEST_DEADLINE}' }, ofPtz);
    await flow.deployFlows(flow.flows({ cloud: { timeout: 60 } }, ...all));
    for (const { id } of all) await flow.shows('connected v3', id);
    await flow.fault({ kind: 'latency', ms: 60_000 });
    const began = performance.now();
    assert.deepEqual(await codes(), new Set(['TIMEOUT']));
    const took = performance.now() - began;
    assertPause(took, 1000);
    assert.ok(took < DEADLINE_S * 1000, `${took} ms, which is what all have that are told nothing`);
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
