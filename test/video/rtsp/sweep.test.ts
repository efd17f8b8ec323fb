import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Random, seedOfInput } from '../../support/video/sweep/random';
import { needs } from '../../support/suite/programs';
import { baseStreams, type BaseStream } from '../../support/video/sweep/base-streams';
import { cameraStream } from '../../support/video/sweep/camera-stream';
import { DAMAGES, type Damage } from '../../support/video/sweep/damages';
import { served, shownByFfmpeg, shownHere, type ShownHere } from '../../support/video/sweep/shown-by';

/** Another one makes other streams. */
const SEED = Number(process.env['RVM_SWEEP_SEED'] ?? 29);
const STREAMS = 200;
/** How many times faster than its camera a stream is served whose clock is a good one. */
const FAST = 8;

const AT_A_TIME = 8;

interface Stream {
  base: BaseStream;
  damage: Damage;
  random: Random;
}

interface Row extends Stream {
  /** That its camera sends. */
  seconds: number;
  /** Pictures that ffmpeg shows of it. */
  ffmpeg: number;
  here: ShownHere;
}

describe('video as cameras of the field send it', () => {
  let rows: readonly Row[] = [];
  let folder: string;

  before(async function () {
    // Three on a quiet machine.
    this.timeout(20 * 60_000);
    needs(this, 'ffmpeg', 'ffprobe', 'gst-launch-1.0');
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-sweep-'));
    rows = await sweep(streamsOf(await baseStreams(folder)), folder);
  });
  after(() => {
    if (folder !== undefined) fs.rmSync(folder, { recursive: true });
    process.stdout.write(`${tableOf(rows)}\n`);
  });

  for (const { title } of DAMAGES)
    it(`has pictures where ffmpeg has, with ${title}`, () => {
      const all = rows.filter(({ damage }) => damage.title === title);
      assert.ok(all.length > 0);
      assert.deepEqual(all.filter((row) => faultOf(row) !== undefined).map(textOf), []);
    });
});

/** All streams, several at a time: most of the time they wait for their cameras. */
async function sweep(streams: readonly Stream[], folder: string): Promise<Row[]> {
  const waiting = [...streams.entries()];
  const rows: Row[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [place, stream] = next;
      rows[place] = { ...stream, ...(await played(stream, path.join(folder, `clip-${place}.mp4`))) };
    }
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return rows;
}

async function played({ base, damage, random }: Stream, file: string): Promise<Omit<Row, keyof Stream>> {
  const stream = cameraStream(base, damage.on(base, random));
  const source = await served(stream, damage.isTimed === true ? 1 : FAST);
  const { url } = source.relay;
  try {
    const other = damage.isBeyondFfmpeg === true ? base.pictures.length : shownByFfmpeg(url);
    const [ffmpeg, here] = await Promise.all([other, shownHere(url, file)]);
    return { seconds: Math.max((stream.due.at(-1)?.at ?? 0) / 1000, source.sentFor), ffmpeg, here };
  } finally {
    await source.relay.close();
  }
}

/** As many of each damage, each time another way of coding while there are any left. */
function streamsOf(bases: readonly BaseStream[]): Stream[] {
  return Array.from({ length: STREAMS }, (_, place) => {
    const damage = DAMAGES[place % DAMAGES.length];
    assert.ok(damage);
    const turn = Math.floor(place / DAMAGES.length);
    const fitting = bases.filter((base) => damage.fits?.(base) !== false);
    const order = shuffled(fitting, randomOf(damage, -1));
    const base = order[turn % order.length];
    assert.ok(base);
    return { base, damage, random: randomOf(damage, turn) };
  });
}

function shuffled<Kind>(list: readonly Kind[], random: Random): Kind[] {
  return list
    .map((kind) => ({ kind, at: random.fraction() }))
    .sort((a, b) => a.at - b.at)
    .map(({ kind }) => kind);
}

function randomOf(damage: Damage, turn: number): Random {
  return new Random(seedOfInput(SEED, damage.title, turn));
}
/**
 * What is wrong: nothing here of what ffmpeg shows, an end before that of the stream, or a clip of another length where only times
 * are odd.
 */
function faultOf({ damage, seconds, ffmpeg, here }: Row): string | undefined {
  if (ffmpeg === 0) return undefined;
  if (here.trouble !== undefined) return here.trouble;
  if (here.pictures === 0) return 'no pictures';
  const isAsLong = here.seconds > seconds / 2 && here.seconds < seconds * 1.5;
  return damage.isTimed === true && !isAsLong ? 'length' : undefined;
}

function textOf(row: Row): string {
  const { base, damage, ffmpeg, here } = row;
  return `${base.name}, ${damage.title}: ${faultOf(row)}; ffmpeg ${ffmpeg}, here ${here.pictures} in ${here.seconds.toFixed(1)} s`;
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const { base, damage, seconds, ffmpeg, here } = row;
    const fault = faultOf(row);
    const few = here.pictures < ffmpeg / 2 ? 'ok, few' : 'ok';
    const counts = [`${ffmpeg}`, `${here.pictures}`, `${here.seconds.toFixed(1)} of ${seconds.toFixed(1)}`];
    return [base.name, damage.title, ...counts, fault === undefined ? few : `FAIL: ${fault}`];
  });
  const all = [['stream', 'damage', 'ffmpeg', 'here', 'seconds', ''], ...lines];
  const widths = all[0]?.map((_, column) => Math.max(...all.map((line) => line[column]?.length ?? 0))) ?? [];
  const padded = all.map((line) => line.map((text, column) => text.padEnd(widths[column] ?? 0)));
  return padded.map((line) => line.join('  ').trimEnd()).join('\n');
}
