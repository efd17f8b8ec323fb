import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { everyFile, nameOf, planFor, runFiles, runPlan } from '../../scripts/testing/plan';
import { slowIt } from '../support/suite/lanes';

const OPTIONS = { jobs: 2, silence: 60 };

describe('a plan of test files', () => {
  let folder: string;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-run-plan-'));
  });
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  function passing(name: string): string {
    const file = path.join(folder, `${name}.test.js`);
    fs.writeFileSync(file, `it('is right', () => {});`);
    return file;
  }

  slowIt('has its files that run alone wait for the others, and for what runs beside them', async () => {
    const ended: string[] = [];
    const add = ({ file }: { file: string }): void => void ended.push(path.basename(file, '.test.js'));
    // Takes longer than each of the files.
    const check = async (): Promise<void> => {
      for (let turn = 0; turn < 4; turn += 1) await runFiles([passing('beside')], OPTIONS, () => undefined);
      ended.push('the check');
    };
    const plan = { together: [passing('one'), passing('other')], alone: [passing('alone'), passing('last')] };
    await runPlan(plan, OPTIONS, check(), add);
    assert.deepEqual(ended.slice(0, 3).sort(), ['one', 'other', 'the check']);
    assert.deepEqual(ended.slice(3), ['alone', 'last']);
  });

  it('leaves a folder of long files to the nightly lane, where each of them runs alone', () => {
    const ofCluster = (files: readonly string[]): string[] =>
      files.map(nameOf).filter((name) => name.startsWith('test/cluster/'));
    assert.deepEqual(ofCluster(everyFile('quick')), []);
    const { together, alone } = planFor(everyFile('nightly'));
    assert.deepEqual(ofCluster(together), []);
    assert.ok(ofCluster(alone).length > 0);
  });
});
