import assert from 'node:assert/strict';
import { cloud as cloudOf, PATH, PHRASE, station, webhookFlow, webhookIn } from '../support/node-red/flows';
import { NodeRed, probe, type FlowNode } from '../support/node-red/node-red';
import { answered, node, problemOf, shows as showsOf } from '../support/node-red/alarms-through';
import { whileTimeFlies } from '../support/node-red/node-red-time';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';

const BOTH = 'same phrase: North, South';
const SANDBOX = { url: 'sandbox', sandboxEvents: 0, credentials: {} };
const SECRET = { credentials: { secret: PHRASE } };

describe('two Central Stations with one phrase', () => {
  const nodeRed = NodeRed.ofGroup();

  const south = (properties: Record<string, unknown> = {}): FlowNode =>
    station({ id: 'south-node', name: 'South', key: 'south', ...SECRET, ...properties });
  const asks = (id: string, of: string) => node('rvm-list-devices', { id, station: of, wires: [[], []] });
  const shows = (id: string, text: string, from = 0): Promise<void> => showsOf(nodeRed, text, id, from);

  function flow(first: Record<string, unknown>, second: FlowNode, ...further: FlowNode[]): FlowNode[] {
    const other = webhookIn({ id: 'webhook-south', station: 'south-node', path: `${PATH}-south` });
    const nodes = [second, other, asks('north-asks', 'station'), asks('south-asks', 'south-node')];
    return webhookFlow({ ...first, station: SECRET }, ...nodes, ...further);
  }

  it('are told of where both are in the sandbox, on both, on their webhook in, in the log and once at output 3', async () => {
    const from = nodeRed.log.length;
    await nodeRed.deploy(flow({ cloud: SANDBOX }, south()));
    for (const id of ['webhook', 'webhook-south', 'north-asks', 'south-asks']) await shows(id, BOTH);
    await nodeRed.logged(/"North" has the same Shared Secret Phrase as "South"/, from);
    await nodeRed.logged(/"South" has the same Shared Secret Phrase as "North"/, from);
    await nodeRed.until(() => nodeRed.at('problems').length >= 2, 'both problems');
    const problems = nodeRed.at('problems').map(problemOf);
    assert.deepEqual(problems.map(({ station }) => station ?? '').sort(), ['north', 'south']);
    for (const { kind, reason, text } of problems) {
      assert.deepEqual([kind, reason], ['same-phrase', null]);
      assert.match(text, /the same Shared Secret Phrase \(North, South\)/);
    }
  });

  it('are not told of at output 3 again by a deploy', async () => {
    const from = nodeRed.seen.length;
    await nodeRed.deploy(flow({ cloud: SANDBOX }, south()));
    await shows('webhook', BOTH, from);
    await shows('webhook-south', BOTH, from);
    assert.deepEqual(nodeRed.at('problems', from), []);
  });

  it('still receive on paths of their own', async () => {
    for (const path of [PATH, `${PATH}-south`])
      assert.equal(await answered(nodeRed, alarmMessage(), PHRASE, path), 200);
  });

  it('are told of no more once each has its own, and again when it begins anew', async () => {
    let from = nodeRed.seen.length;
    await nodeRed.deploy(flow({ cloud: SANDBOX }, south({ credentials: { secret: 'another phrase' } })));
    await shows('webhook', 'status.sandbox', from);
    await shows('south-asks', 'status.sandbox', from);
    from = nodeRed.seen.length;
    await nodeRed.deploy(flow({ cloud: SANDBOX }, south()));
    await nodeRed.until(() => nodeRed.at('problems', from).length >= 2, 'both problems');
  });

  for (const [where, cloud] of [
    ['one alone is in the sandbox', SANDBOX],
    ['neither is', {}],
  ] as const)
    it(`are told of where ${where}`, async () => {
      const real = cloudOf({ id: 'real' });
      const from = nodeRed.seen.length;
      await nodeRed.deploy(flow({ cloud }, south({ cloud: 'real' }), real));
      for (const id of ['webhook', 'webhook-south']) await shows(id, BOTH, from);
    });

  it('are named by a webhook in of the whole cloud, in status, log and output 3, and what comes is cut', async () => {
    const [seen, logged] = [nodeRed.seen.length, nodeRed.log.length];
    const wires = [['alarms'], ['health'], ['shared']];
    const webhook = { id: 'webhook-cloud', station: '', cloud: 'cloud', wires };
    await nodeRed.deploy(webhookFlow({ cloud: SANDBOX, station: SECRET, webhook }, south(), probe('shared')));
    await shows('webhook-cloud', BOTH, seen);
    assert.equal(await whileTimeFlies(nodeRed, answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE)), 'cut');
    const line = /left without an answer, because its Central Stations "North", "South" have the same/;
    await nodeRed.logged(line, logged);
    assert.doesNotMatch(nodeRed.log.slice(logged), /cannot judge yet/);
    const { kind, station: key } = problemOf(await nodeRed.message('shared'));
    assert.deepEqual([kind, key], ['same-phrase', null]);
  });
});
