/**
 * `npm run bench`: how fast the package is, each figure measured side by side with what it is compared to. Prints a table
 * and writes bench/results.json. `-- B1 B4` measures those alone, `-- --quick` only shows that all of it works; neither of
 * them writes. Takes about an hour; see bench/README.md.
 */
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { costOfLevel } from '../bench/alarm-level';
import { requestsOfADay } from '../bench/day';
import { deathOfService } from '../bench/death-of-service';
import { refreshBlocks } from '../bench/event-loop';
import { firstAlarmAfterRestart } from '../bench/first-alarm';
import { firstLoad } from '../bench/first-load';
import { bytesOfAnEvent } from '../bench/disk-writes';
import { footprint } from '../bench/footprint';
import type { Measurement, Row } from '../bench/measurement';
import { costOfProof } from '../bench/proof-cost';
import { deliveryElsewhere } from '../bench/postgres/delivery-elsewhere';
import { drainOfMany } from '../bench/postgres/drain';
import { rateToBareTable, rateToSqlite } from '../bench/postgres/settled-rate';
import { rateInPostgres } from '../bench/postgres/webhook-rate';
import { resultsOf, tableOf } from '../bench/report';
import { rateManyAtATime, timeOneAtATime } from '../bench/rtsp-rate';
import { restartWithManyWaiting } from '../bench/restart';
import { rateWithManyStored } from '../bench/stored-events';
import { latencyOnNodeRed } from '../bench/webhook-latency';
import { fileSystemWarning } from '../lib/inbox/file-system';
import { timeToPicture } from '../bench/video/alarm-picture';
import { cpuOfClip } from '../bench/video/clip-cpu';
import { memoryOfClip } from '../bench/video/clip-memory';
import { liveView } from '../bench/video/live-view';
import { manyClips } from '../bench/video/many-clips';
import { rateOfKeeping, rateOnListener, rateOnNodeRed, rateWithHistory } from '../bench/webhook-rate';
import { buildIfStale, ROOT } from './build';

const MEASUREMENTS: Readonly<Record<string, Measurement>> = {
  B1: rateOnNodeRed,
  B1b: rateOfKeeping,
  B1c: bytesOfAnEvent,
  B2: rateOnListener,
  B3: latencyOnNodeRed,
  B4: timeOneAtATime,
  B5: rateManyAtATime,
  B6: requestsOfADay,
  B7: firstLoad,
  B8: refreshBlocks,
  B9: rateWithManyStored,
  B10: restartWithManyWaiting,
  B11: footprint,
  B12: firstAlarmAfterRestart,
  B13: costOfProof,
  B14: rateWithHistory,
  B16: deathOfService,
  B15: costOfLevel,
  P1: rateToBareTable,
  P2: rateToSqlite,
  P3: rateInPostgres,
  P4: deliveryElsewhere,
  P5: drainOfMany,
  V1: timeToPicture,
  V2: cpuOfClip,
  V3: manyClips,
  V4: liveView,
  V5: memoryOfClip,
};

const RESULTS = path.join(ROOT, 'bench', 'results.json');

function circumstances(): Record<string, unknown> {
  const nodeRed = JSON.parse(
    fs.readFileSync(path.join(ROOT, 'node_modules', 'node-red', 'package.json'), 'utf8'),
  ) as { version: string };
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.versions.node,
    nodeRed: nodeRed.version,
    platform: `${process.platform} ${process.arch}`,
    cores: os.availableParallelism(),
  };
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { quick: { type: 'boolean' } },
    allowPositionals: true,
  });
  const unknown = positionals.filter((id) => MEASUREMENTS[id] === undefined);
  if (unknown.length > 0)
    throw new Error(
      `There is no ${unknown.join(', ')}: choose among ${Object.keys(MEASUREMENTS).join(', ')}.`,
    );
  buildIfStale();
  const warning = fileSystemWarning(os.tmpdir());
  if (warning !== undefined && 'fileSystem' in warning)
    console.error(
      `${os.tmpdir()} is on ${warning.fileSystem}, where a sync costs nothing: set TMPDIR to a folder on a disk.`,
    );
  const scale = values.quick === true ? 'quick' : 'full';
  const rows: Row[] = [];
  for (const [id, measure] of Object.entries(MEASUREMENTS)) {
    if (positionals.length > 0 && !positionals.includes(id)) continue;
    console.error(`${id} …`);
    const measured = await measure(scale);
    console.error(tableOf(measured));
    rows.push(...measured);
    // After each, so that a run that is broken off leaves what it has measured.
    if (scale === 'full' && positionals.length === 0)
      fs.writeFileSync(RESULTS, resultsOf(rows, circumstances()));
  }
  console.log(tableOf(rows));
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
