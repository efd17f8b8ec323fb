/**
 * `npm run fuzz`: passes mutated messages, answers and requests to the package and compares its results with an oracle that was
 * written from the specification. Exits with code 1 if there is any finding. `-- --seconds 60` runs for 60 seconds, `--
 * --inputs 10000000` until that many inputs, and `-- --seed 7` repeats the inputs of that seed.
 */
import { parseArgs } from 'node:util';
import { everyTarget } from './fuzz/every-target';
import type { Outcome, Target } from './fuzz/runner';

const OPTIONS = {
  seconds: { type: 'string' },
  inputs: { type: 'string' },
  seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
} as const;

const MILLION = 1_000_000;
/** Inputs between two looks at the clock. */
const ROUND = 2_000;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  const seed = whole(values.seed, 'seed');
  const seconds = values.seconds === undefined ? Infinity : whole(values.seconds, 'seconds');
  const inputs = whole(
    values.inputs ?? (values.seconds === undefined ? String(MILLION) : 'Infinity'),
    'inputs',
  );
  console.error(`seed ${seed}`);
  const outcomes = new Map(everyTarget().map((target): [Target, Outcome[]] => [target, []]));
  const end = performance.now() + seconds * 1000;
  for (let round = 0; round * ROUND < inputs && performance.now() < end; round += 1)
    for (const [target, before] of outcomes) {
      if (before.some(({ finding }) => finding !== undefined)) continue;
      const share = (Math.min(ROUND, inputs - round * ROUND) * target.share) / MILLION;
      before.push(await target.run(seed + round, Math.max(1, Math.round(share)), round === 0));
    }
  for (const [target, all] of outcomes) {
    await target.end();
    const count = all.reduce((sum, each) => sum + each.inputs, 0).toLocaleString('en-US');
    const slowest = Math.max(0, ...all.map(({ slowestMs }) => slowestMs)).toFixed(1);
    console.log(`${target.name.padEnd(16)}${count.padStart(12)} inputs, slowest ${slowest} ms`);
  }
  for (const { finding } of [...outcomes.values()].flat()) {
    if (finding === undefined) continue;
    console.log(finding);
    process.exitCode = 1;
  }
}

function whole(text: string, option: string): number {
  const value = Number(text);
  if (!(value >= 0) || !(Number.isInteger(value) || value === Infinity))
    throw new Error(`--${option} takes a whole number.`);
  return value;
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
