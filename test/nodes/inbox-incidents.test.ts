import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import type { Overview } from '../../nodes/rvm-sidebar/overview';
import { look } from '../support/node-red/inboxes-open';
import { PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { MOVABLE_CLOCK, NodeRed } from '../support/node-red/node-red';
import { MOVABLE_INTERVALS } from '../support/node-red/node-red-time';
import { watch, WatchRun } from '../support/node-red/watch-run';
import { eventually } from '../support/time/patience';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';

const SETTINGS = { settings: MOVABLE_CLOCK + MOVABLE_INTERVALS };
const OPEN = 11;

describe('what befalls the inbox of a Node-RED', () => {
  const wires = [['alarms'], ['alarms'], ['problems']];
  const webhook = { handledWhen: 'settled', maxInFlight: 100, wires };
  const nodeRed = NodeRed.ofGroup(SETTINGS, () => webhookFlow({ webhook }, ...watch()));
  const run = new WatchRun(nodeRed);
  const sent: string[] = [];

  const folder = (): string => path.join(nodeRed.userDir, 'remote-monitoring');
  const storeProblems = (): Record<string, unknown>[] =>
    nodeRed
      .at('problems')
      .map(({ payload }) => payload as Record<string, unknown>)
      .filter(({ kind, reason, note }) => kind === 'blocked' && reason === 'store' && note !== undefined);

  async function allArrive(): Promise<void> {
    const arrived = (): unknown[] =>
      nodeRed.at('alarms').map(({ webhook }) => (webhook as { messageId: string }).messageId);
    await nodeRed.until(() => sent.every((id) => arrived().includes(id)), 'all that is open');
  }

  async function send(count: number): Promise<void> {
    for (let number = 0; number < count; number += 1) {
      const messageId = randomUUID();
      assert.equal(await answerTo(nodeRed.url + PATH, alarmMessage({}, { messageId }), PHRASE), 200);
      sent.push(messageId);
    }
  }

  async function restart(signal: 'SIGKILL' | 'SIGTERM', meanwhile?: () => void): Promise<void> {
    await nodeRed.stop(signal);
    meanwhile?.();
    await nodeRed.restart();
    run.begin(0);
  }

  /** On output 3, by the watch, and in the sidebar. */
  async function isToldOnAll(text: RegExp, onOutput3 = text): Promise<void> {
    await nodeRed.until(() => storeProblems().length > 0, 'a problem on output 3');
    const [problem] = storeProblems();
    assert.match(String(problem?.['text']), onOutput3);
    assert.equal(problem?.['text'], problem?.['note']);
    assert.ok(!String(problem?.['text']).includes(nodeRed.userDir), 'no path of the machine');
    const finding = await run.comes('store-failing');
    assert.equal(finding.severity, 'fault');
    assert.match(finding.text, text);
    const { incident } = (await look(nodeRed, 'overview')).body as unknown as Overview;
    assert.match(incident ?? '', text);
  }

  it('is told on all three where its folder is removed while it runs, and no alarm is lost to a kill', async () => {
    await send(OPEN);
    const away = `${folder()}-away`;
    fs.renameSync(folder(), away);
    // In its way: what is over in a moment, no status shows.
    fs.writeFileSync(folder(), '');
    fs.rmSync(away, { recursive: true });
    await nodeRed.until(() => nodeRed.statuses('webhook').includes('status.notDurable'), 'a status');
    fs.rmSync(folder());
    await isToldOnAll(/removed or renamed/, /^The file of the inbox in remote-monitoring was removed/);
    await eventually(() => nodeRed.statuses('webhook').at(-1) !== 'status.notDurable', 'a better status');
    await send(OPEN);
    await restart('SIGKILL');
    await allArrive();
    assert.equal(nodeRed.at('alarms').length, 2 * OPEN);
  });

  it('is told on output 3 and in the sidebar as what befell its spill folder, where that was removed', async () => {
    const file = path.join(folder(), 'inbox.sqlite');
    await run.pulse();
    await restart('SIGTERM', () => {
      fs.renameSync(file, `${file}-away`);
      fs.mkdirSync(file);
    });
    await send(1);
    await nodeRed.logged(/cannot store: .*go to the flow from memory, but are left unanswered/);
    fs.rmSync(path.join(folder(), 'spill'), { recursive: true });
    const text = /^The file of the inbox in the spill folder of remote-monitoring was removed/;
    await nodeRed.until(() => storeProblems().some((problem) => text.test(String(problem['text']))), 'it');
    assert.match(String((await look(nodeRed, 'overview')).body['incident']), text);
    fs.rmdirSync(file);
    fs.renameSync(`${file}-away`, file);
    await nodeRed.logged(/1 message that was kept beside the inbox in .* is in it now/);
    // Over for the watch.
    await nodeRed.advance(600);
  });

  it('is told on all three where an older copy of its folder was put back while it was off, and is over for the watch', async () => {
    const copy = `${folder()}-copy`;
    // A finding that stands in the copy would not be told again; it ends before a pulse.
    await run.pulse();
    await restart('SIGTERM', () => fs.cpSync(folder(), copy, { recursive: true }));
    await allArrive();
    await send(1);
    await restart('SIGTERM', () => {
      fs.rmSync(folder(), { recursive: true });
      fs.renameSync(copy, folder());
    });
    const since = /is an older copy of itself.*received between \S+Z and \S+Z/;
    await isToldOnAll(/is an older copy of itself/, since);
    await nodeRed.logged(since);
    await nodeRed.advance(600);
    await run.goes('store-failing');
  });

  it('is told on all three where its file was damaged and yields nothing, with the name of what is kept', async () => {
    await restart('SIGTERM', () =>
      fs.writeFileSync(path.join(folder(), 'inbox.sqlite'), 'no database at all\n'.repeat(1000)),
    );
    await isToldOnAll(/kept as inbox\.sqlite\.damaged-/);
  });
});
