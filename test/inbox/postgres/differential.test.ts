import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import * as fc from 'fast-check';
import { Comparison, deed } from '../../support/inbox/twin-comparison';
import { SharedServer } from '../../support/postgres/shared-server';
import { runsOf } from '../../support/suite/lanes';
import { needs } from '../../support/suite/programs';

/** For a hunt: `RVM_DIFFERENTIAL_RUNS=1000`. */
const RUNS = Number(process.env['RVM_DIFFERENTIAL_RUNS'] ?? runsOf(40));
/** What a hunt finds takes long to be made smaller. */
const isHunt = process.env['RVM_DIFFERENTIAL_RUNS'] !== undefined;

describe('PostgreSQL and SQLite', () => {
  let folder: string;
  let server: SharedServer;
  let runs = 0;
  before(async function () {
    needs(this, 'postgres', 'initdb');
    server = await SharedServer.use();
    folder = fs.mkdtempSync(path.join(fs.existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'rvm-twins-'));
  });
  after(async () => {
    await server.remove();
    fs.rmSync(folder, { recursive: true });
  });

  it('answer alike, whatever they are asked', async function () {
    this.timeout(600_000 + RUNS * 3000);
    await fc.assert(
      fc.asyncProperty(fc.array(deed, { minLength: 10, maxLength: 80, size: 'max' }), async (deeds) => {
        runs += 1;
        const comparison = await Comparison.open(path.join(folder, `${runs}.sqlite`), server.url());
        try {
          for (const one of deeds) await comparison.act(one);
          await comparison.compareAll();
        } finally {
          await comparison.close();
        }
      }),
      { numRuns: RUNS, endOnFailure: isHunt },
    );
  });
});
