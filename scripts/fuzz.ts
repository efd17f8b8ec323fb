/**
 * `npm run fuzz`: passes mutated messages, answers and requests to the package and compares its results with
 * an oracle that was written from the specification. Exits with code 1 if there is any finding.
 * `-- --seconds 60` runs for 60 seconds, `-- --inputs 10000000` until that many inputs, and `-- --seed 7`
 * repeats the inputs of that seed.
 */
import { parseArgs } from 'node:util';
import { Fuzzer } from './fuzz/fuzzer';
import { findingText, isClean, tableOf } from './fuzz/report';
import { everyTarget } from './fuzz/every-target';

const OPTIONS = {
  seconds: { type: 'string' },
  inputs: { type: 'string' },
  seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
} as const;

/** Inputs between two checks of the time. */
const ROUND = 2_000;
const MILLION = 1_000_000;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  const seed = whole(values.seed, 'seed');
  const seconds = values.seconds === undefined ? Infinity : whole(values.seconds, 'seconds');
  const inputs = whole(
    values.inputs ?? (values.seconds === undefined ? String(MILLION) : 'Infinity'),
    'inputs',
  );
  console.error(`seed ${seed}`);
  const fuzzer = new Fuzzer(everyTarget(), seed);
  const end = performance.now() + seconds * 1000;
  for (let wanted = 0; wanted < inputs && performance.now() < end;)
    await fuzzer.runTo((wanted = Math.min(inputs, wanted + ROUND)));
  await fuzzer.end();
  console.log(tableOf(fuzzer.tallies));
  for (const { findings } of fuzzer.tallies)
    for (const finding of findings) console.log(findingText(finding));
  if (!isClean(fuzzer.tallies)) process.exitCode = 1;
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
