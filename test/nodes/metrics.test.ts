import assert from 'node:assert/strict';
import { MuteServer } from '../support/network/servers';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { flowNode, NodeRed } from '../support/node-red/node-red';
import {
  documentedMetrics,
  METRICS,
  metricsUrl,
  scrape,
  valueOf,
  type Scrape,
} from '../support/metrics/metrics';
import { eventually } from '../support/time/patience';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';

const LEVEL = flowNode('level', 'rvm-alarm-state', [[], [], []], { name: '', hold: 3600 });
const WATCH = flowNode('watcher', 'rvm-watch', [[], []], { name: '' });

describe('metrics of a Node-RED that takes alarms', () => {
  const nodeRed = NodeRed.ofGroup({ settings: `${METRICS} disableEditor: true,` }, () =>
    webhookFlow({ webhook: { wires: [['alarms', 'level'], [], []] } }, WATCH, LEVEL),
  );
  let url: string;
  let last: Scrape;
  before(async () => (url = await metricsUrl(nodeRed)));

  async function becomes(value: number, name: string, labels: Record<string, string> = {}): Promise<void> {
    const isSo = async (): Promise<boolean> => {
      last = await scrape(url);
      return valueOf(last, name, labels) === value;
    };
    await eventually(isSo, `${name} ${JSON.stringify(labels)} ${value}`, 50);
  }

  const answer = (message: Record<string, unknown>, phrase = PHRASE): Promise<number | 'cut'> =>
    answerTo(`${nodeRed.url}${PATH}`, message, phrase);

  it('begin with zeros, so that an alert sees the first of each', async () => {
    for (const outcome of ['accepted', 'unauthentic', 'cut'])
      await becomes(0, 'rvm_webhook_messages_total', { station: 'north', answer: outcome });
    await becomes(0, 'rvm_problems_total', { kind: 'dead-letter' });
  });

  it('count an alarm, its repeat and a forged one by station and answer', async () => {
    const message = alarmMessage();
    for (const _time of [1, 2]) assert.equal(await answer(message), 200);
    assert.equal(await answer(message, 'another phrase than that'), 401);
    for (const outcome of ['accepted', 'repeat', 'unauthentic'])
      await becomes(1, 'rvm_webhook_messages_total', { station: 'north', answer: outcome });
    await becomes(1, 'rvm_problems_total', { kind: 'unauthentic' });
    await becomes(2, 'rvm_webhook_acceptance_seconds_count', { station: 'north' });
  });

  it('time the way to the flow, and the commits behind it', async () => {
    await becomes(1, 'rvm_deliveries_total', { station: 'north', again: 'first' });
    await becomes(1, 'rvm_delivery_seconds_count', { station: 'north' });
    assert.ok((valueOf(last, 'rvm_store_commit_seconds_count', { engine: 'sqlite' }) ?? 0) >= 1);
    await becomes(1, 'rvm_inbox_durable', { engine: 'sqlite' });
    await becomes(1, 'rvm_alarm_groups_raised');
  });

  it('tell of a dead letter until somebody has dealt with it, and what a watch has found', async () => {
    assert.equal(await answer(alarmMessage({}, { messageId: null })), 200);
    await becomes(1, 'rvm_webhook_messages_total', { station: 'north', answer: 'dead-letter' });
    await becomes(1, 'rvm_problems_total', { kind: 'dead-letter' });
    await becomes(1, 'rvm_inbox_dead_letters', { engine: 'sqlite', station: 'north' });
    await becomes(0, 'rvm_inbox_oldest_waiting_seconds', { engine: 'sqlite' });
    await becomes(0, 'rvm_watch_findings', { what: 'silent', severity: 'fault' });
  });

  it('are those of docs/metrics.md, and hold nothing of an alarm, and no secret', async () => {
    const { text, types } = await scrape(url);
    const documented = documentedMetrics().map(({ name }) => name);
    assert.deepEqual([...types.keys()].sort(), documented.sort());
    const { payload } = alarmMessage() as { payload: Record<string, unknown> };
    const settings = [PHRASE, PATH, 'key-of-the-test', 'password-of-the-test', 'agent', 'North'];
    for (const told of [...Object.values(payload), ...settings])
      if (typeof told === 'string' && told.length > 4) assert.ok(!text.includes(told), told);
  });
});

describe('metrics', () => {
  let nodeRed: NodeRed | undefined;
  afterEach(() => nodeRed?.stopAndRemove());

  it('at a port that another program has are told in the log and served once it is free, and Node-RED goes on', async () => {
    const other = await MuteServer.start();
    try {
      nodeRed = await NodeRed.start({ settings: `rvmMetrics: { port: ${other.port} },` });
      await nodeRed.logged(/The metrics are not served, because port \d+ of 127\.0\.0\.1 is in use/);
    } finally {
      await other.close();
    }
    assert.ok((await scrape(await metricsUrl(nodeRed))).samples.length > 0);
  });

  it('whose setting is wrong are not served; the log says what to write, and Node-RED goes on', async () => {
    nodeRed = await NodeRed.start({ settings: "rvmMetrics: { hots: '0.0.0.0' }," });
    await nodeRed.logged(
      /\[error\] The metrics are not served, because rvmMetrics in settings\.js has "hots"/,
    );
    assert.doesNotMatch(nodeRed.log, /metrics are served at/);
  });
});
