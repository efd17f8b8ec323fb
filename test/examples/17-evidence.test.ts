import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { ExampleRun, eventOf, webhookOf } from '../support/examples/example-run';
import { needs } from '../support/suite/programs';
import { temporaryFolder } from '../support/suite/temporary-folder';
import { complaints, probed } from '../support/video/played-clip';

const CAMERA = 'SANDBOX Gate 1';

describe('example 17, clips as evidence', () => {
  const folder = temporaryFolder();
  const run = ExampleRun.ofGroup('17', () => ({
    beside: { alarm: 'alarm', 'no-clip': 'no clip', 'table-failed-debug': 'not written' },
    behind: { done: 'settled' },
    changes: { clip: { folder, preRoll: 1, seconds: 1 } },
  }));

  const table = (): string => path.join(folder, 'evidence.csv');

  const isSettled = (alarmId: string): boolean => run.at('settled', { alarmId }).length > 0;
  const settles = (alarmId: string): Promise<void> =>
    run.nodeRed.until(() => isSettled(alarmId), 'the settlement');

  /** The cells of the line of an alarm. */
  function cellsOf(alarmId: string): string[] {
    const lines = fs.readFileSync(table(), 'utf8').trimEnd().split('\n');
    const [line = '', ...others] = lines.filter((each) => each.includes(`"${alarmId}"`));
    assert.deepEqual(others, []);
    assert.match(lines[0] ?? '', /^"file","sha256","alarm",/);
    return [...line.matchAll(/"((?:[^"]|"")*)"/g)].map(([, cell = '']) => cell);
  }

  it('keeps a clip to the end of the alarm, writes its hash into the table, and settles the alarm then', async function () {
    needs(this, 'ffmpeg', 'ffprobe');
    const { alarmId } = await run.raise({ camera: CAMERA, eventName: 'Fence climbed', seconds: 2 });
    await settles(alarmId);
    const [file = '', sha256, alarm, , , seconds, whole, site, camera, rule, , proof] = cellsOf(alarmId);
    const bytes = fs.readFileSync(path.join(folder, file));
    assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256);
    assert.deepEqual(
      [alarm, whole, site, camera, rule, proof],
      [alarmId, 'whole', 'SANDBOX Harbour Depot', CAMERA, 'Fence climbed', 'hmac'],
    );
    assert.equal(complaints(bytes), '');
    assert.ok(Math.abs(Number(probed(bytes).format.duration) - Number(seconds)) < 0.1);
    assert.ok(Number(seconds) > 3, 'the end of the alarm is in it');
    assert.equal(fs.statSync(path.join(folder, file)).mode & 0o777, 0o600);
  });

  it('writes a name that would be a formula in a spreadsheet as text', async () => {
    const { alarmId } = await run.raise({ camera: CAMERA, eventName: '=1+1,"\n@x', seconds: 0 });
    await settles(alarmId);
    assert.equal(cellsOf(alarmId)[9], `'=1+1,"" @x`);
  });

  it('lets an alarm come again whose clip could not be made, and sets nothing a second time', async () => {
    const { cameras } = await run.sandbox.state();
    const offline = cameras.find(({ status }) => status !== 'online') ?? assert.fail('all are online');
    const { alarmId } = await run.raise({ camera: offline.name, eventName: 'Without clip' });
    const isAgain = (): boolean => run.at('no clip', { alarmId }).some((msg) => webhookOf(msg).attempt === 2);
    await run.nodeRed.until(isAgain, 'the alarm once more');
    assert.equal(isSettled(alarmId), false);
    assert.equal(run.at('alarm', { alarmId }).length, 1);
  });

  it('lets an alarm come again whose line could not be written', async () => {
    const kept = `${table()}.kept`;
    fs.renameSync(table(), kept);
    fs.mkdirSync(table());
    const { alarmId } = await run.raise({ camera: CAMERA, eventName: 'Without line', seconds: 0 });
    await run.nodeRed.message('not written', (msg) => eventOf(msg).alarmId === alarmId);
    assert.equal(isSettled(alarmId), false);
    fs.rmdirSync(table());
    fs.renameSync(kept, table());
    await settles(alarmId);
    assert.equal(cellsOf(alarmId)[9], 'Without line');
  });
});
