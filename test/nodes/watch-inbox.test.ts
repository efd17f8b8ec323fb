import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileInbox, PATH, PHRASE, webhookFlow } from '../support/node-red/flows';
import { MOVABLE_CLOCK, NodeRed } from '../support/node-red/node-red';
import { MOVABLE_INTERVALS } from '../support/node-red/node-red-time';
import { watch, WatchRun } from '../support/node-red/watch-run';
import { cannotRun } from '../support/suite/programs';
import { eventually } from '../support/time/patience';
import { alarmMessage, answerTo } from '../support/webhook/alarm-message';
import { answered, node, shows } from '../support/node-red/alarms-through';

const SETTINGS = { settings: MOVABLE_CLOCK + MOVABLE_INTERVALS };

describe('a watch over an inbox', () => {
  let disk: string;
  let isMounted = false;
  after(async () => {
    await nodeRed.stop();
    if (isMounted) execFileSync('umount', [disk]);
  });
  const nodeRed = NodeRed.ofGroup(SETTINGS);
  const run = new WatchRun(nodeRed);
  before(() => {
    disk = path.join(nodeRed.userDir, 'disk');
    fs.mkdirSync(disk);
  });

  const alarm = (): Promise<number | 'cut'> => answerTo(nodeRed.url + PATH, alarmMessage(), PHRASE);

  it('finds that its disk is full and that the spill folder is in use, and that both are over', async function () {
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk], { stdio: 'pipe' });
      isMounted = true;
    } catch {
      cannotRun(this, 'a small disk cannot be mounted');
    }
    const spillFolder = path.join(nodeRed.userDir, 'spill');
    const inbox = fileInbox(disk, { spillFolder });
    await run.deploy(webhookFlow({ webhook: { inbox: 'inbox' } }, inbox, ...watch()));
    await nodeRed.logged(/The disk of the inbox in .* has only \d+ MB left/);
    await run.pulse();
    const filler = path.join(disk, 'filler');
    fill(filler);
    // What the store keeps back for itself is used up first.
    await eventually(async () => {
      assert.equal(await alarm(), 200);
      fill(filler);
      return nodeRed.statuses('webhook').at(-1) === 'status.notDurable';
    }, 'the disk to be full');
    const { severity, text } = await run.comes('store-failing');
    assert.equal(severity, 'fault');
    assert.match(text, /The inbox disk cannot store \(.*full.*\)/);
    assert.match((await run.comes('spill-in-use')).text, /has \d+ messages? in its spill folder/);
    fs.rmSync(filler);
    await run.goes('store-failing');
    await run.goes('spill-in-use');
    assert.equal(run.pulsesBeside('store-failing'), 0);
    await run.pulse();
  });

  it('finds events that have waited for long, by the clock of the inbox, until they have left', async () => {
    const settled = { handledWhen: 'settled', maxInFlight: 1 };
    await run.deploy(webhookFlow({ webhook: settled }, node('rvm-settle'), ...watch()));
    await alarm();
    await alarm();
    await nodeRed.stop();
    age(path.join(nodeRed.userDir, 'remote-monitoring', 'inbox.sqlite'), 6 * 60_000);
    await nodeRed.restart();
    run.begin(0);
    const { severity, text } = await run.comes('backlog');
    assert.equal(severity, 'warning');
    const [, minutes] = /have waited for the flow for over (\d+) minutes/.exec(text) ?? [];
    assert.ok(Number(minutes) >= 5, text);
    await run.pulse();
    await run.deploy(webhookFlow({}, ...watch()));
    await run.goes('backlog');
  });

  it('leaves nothing behind once it is deleted, also while Node-RED does not run', async () => {
    const flows = webhookFlow({}, ...watch());
    const { userDir } = nodeRed;
    const refused = webhookFlow({}, ...watch(), ...watch({ id: 'other' }).slice(0, 1));
    await run.deploy(refused);
    assert.equal(await answered(nodeRed, alarmMessage(), 'another phrase'), 401);
    await run.comes('not-proven');
    // Both have written it down.
    await shows(nodeRed, 'not proven', 'other');
    await run.deploy(flows);
    await run.pulse();
    await nodeRed.stop();
    assert.deepEqual(ownersIn(userDir), ['watch:watch']);
    const changed = webhookFlow({}, ...watch({ id: 'new' })).map(({ credentials: _kept, ...node }) => node);
    await nodeRed.restart('SIGTERM', { flows: changed });
    run.begin(0);
    await run.comes('not-proven');
    // By then it has looked for those that are gone.
    await run.pulse();
    await nodeRed.stop();
    assert.deepEqual(ownersIn(userDir), ['watch:new']);
  });
});

function fill(file: string): void {
  try {
    for (;;) fs.appendFileSync(file, Buffer.alloc(4096));
  } catch {
    // It is full.
  }
}

function ownersIn(userDir: string): string[] {
  const file = path.join(userDir, 'remote-monitoring', 'inbox.sqlite');
  const database = new DatabaseSync(file, { readOnly: true });
  const owners =
    "SELECT DISTINCT owner FROM slot WHERE value IS NOT NULL AND owner LIKE 'watch:%' ORDER BY owner";
  const rows = database.prepare(owners).all();
  database.close();
  return rows.map(({ owner }) => String(owner));
}

/** As if the file had been open for so much longer. */
function age(file: string, ms: number): void {
  const database = new DatabaseSync(file);
  database.exec(`UPDATE meta SET value = CAST(CAST(value AS INTEGER) + ${ms} AS TEXT) WHERE name = 'clock'`);
  database.close();
}
