import assert from 'node:assert/strict';
import path from 'node:path';
import { cloud, PATH, PHRASE, station, webhookIn } from '../../test/support/node-red/flows';
import { entrance, inject, NodeRed, type FlowNode } from '../../test/support/node-red/node-red';
import { caller } from '../../test/support/node-red/station-flow';
import { functionNode, TAB } from '../counting-node-red';
import { Load } from '../load/load';
import type { Row, Scale } from '../measurement';
import { percentile, spreadOf } from '../side-by-side';
import { VideoService, type BenchCamera } from '../video-service';
import { makeRecording, RATE, removeRecording } from './recording';
import { RecordingRelay } from './recording-relay';

interface Size {
  /** Of a clip. */
  seconds: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { seconds: 10, rounds: 7 },
  quick: { seconds: 2, rounds: 1 },
};
const CLIPS = 50;
const BITS_PER_SECOND = 1_000_000;
const EVENTS_PER_SECOND = 50;
/** Seconds that events go on behind the last picture: the clips are put together meanwhile. */
const MORE = 2;
/** How long ago the alarms began that are recorded, in milliseconds: their recordings are there. */
const AGO = 10 * 60_000;

/** As long with clips as without, and the same events meanwhile; in milliseconds. */
interface Window {
  turns: number[];
  /** What the thread has worked in them; the rest had others who use the machine. */
  work: number[];
  answers: number[];
}

/**
 * V3: fifty clips at once in Node-RED, while events arrive. How long the turns of its event loop take, and how long the events wait
 * for their answers; beside it the same events alone.
 */
export async function manyClips(scale: Scale): Promise<Row[]> {
  const { seconds, rounds } = SIZES[scale];
  const file = makeRecording({ seconds: seconds + MORE, bitsPerSecond: BITS_PER_SECOND });
  const relay = await RecordingRelay.start(file);
  const service = await VideoService.start({ cameras: CLIPS, relay: relay.url });
  const load = new Load();
  const nodeRed = await started(service, seconds);
  const alone: Window[] = [];
  const beside: Window[] = [];
  const measured = (work: () => Promise<void>): Promise<Window> => underLoad(load, nodeRed, seconds, work);
  try {
    // In the first one code is compiled.
    for (let round = 0; round <= rounds; round += 1) {
      const without = await measured(async () => undefined);
      const withClips = await measured(() => record(nodeRed, service.cameras, seconds));
      if (round === 0) continue;
      alone.push(without);
      beside.push(withClips);
    }
    return rowsOf(alone, beside);
  } finally {
    await load.stop();
    await nodeRed.stopAndRemove();
    await service.stop();
    await relay.stop();
    removeRecording(file);
  }
}

async function started({ url }: VideoService, seconds: number): Promise<NodeRed> {
  const nodeRed = await NodeRed.start({ settings: SETTINGS });
  const clip = { id: 'clip', mode: 'event', preRoll: 0, seconds, wires: [['done'], ['done']] };
  await nodeRed.deploy([
    TAB,
    cloud({ url, deviceRefresh: 0, videoSessions: CLIPS, localRelays: true }),
    station(),
    webhookIn({ wires: [[], [], []] }),
    ...entrance('clips', 'each'),
    functionNode('each', 'for (const event of msg.events) node.send({ event });', { wires: [['clip']] }),
    caller('rvm-get-clip', clip),
    functionNode('done', `global.get('told')('clip', { clip: msg.clip, error: msg.error });`),
    ...entrance('tell', 'report'),
    functionNode('report', `global.get('driver').report();`),
  ] satisfies FlowNode[]);
  return nodeRed;
}

const DRIVER = JSON.stringify(path.join(__dirname, '..', 'turn-driver.js'));

/** The log of a production, the clock of the event loop, and the way out of the flow. */
const SETTINGS = `logging: { console: { level: 'info', metrics: false, audit: false } },
  functionGlobalContext: {
    driver: require(${DRIVER})(),
    told: (probe, msg) => process.send({ probe, msg }),
  },`;

async function underLoad(
  load: Load,
  nodeRed: NodeRed,
  seconds: number,
  work: () => Promise<void>,
): Promise<Window> {
  await load.prepare({ count: EVENTS_PER_SECOND * (seconds + MORE), path: PATH, phrase: PHRASE });
  // What came before is not measured.
  await turns(nodeRed);
  const [{ times }] = await Promise.all([load.pace({ port: nodeRed.port, rate: EVENTS_PER_SECOND }), work()]);
  const { wall, cpu } = await turns(nodeRed);
  return { turns: wall, work: cpu, answers: times };
}

/** All since the last time. */
async function turns(nodeRed: NodeRed): Promise<{ wall: number[]; cpu: number[] }> {
  const before = nodeRed.at('turns').length;
  await inject(nodeRed, 'tell', {});
  await nodeRed.until(() => nodeRed.at('turns').length > before, 'the turns', 60);
  return nodeRed.at('turns')[before] as { wall: number[]; cpu: number[] };
}

/** A clip of each camera, all at once. */
async function record(nodeRed: NodeRed, cameras: readonly BenchCamera[], seconds: number): Promise<void> {
  const before = nodeRed.at('clip').length;
  const start = new Date(Date.now() - AGO).toISOString().slice(0, -1);
  const events = cameras.map(({ id, remoteId }) => ({
    cameraId: id,
    cameraRemoteId: remoteId,
    eventStartTime: start,
  }));
  await inject(nodeRed, 'clips', { events });
  await nodeRed.until(() => nodeRed.at('clip').length >= before + cameras.length, 'the clips', 90);
  for (const { clip, error } of nodeRed.at('clip').slice(before)) {
    assert.equal(error, undefined);
    const { partial, frames } = clip as { partial: boolean; frames: number };
    assert.ok(!partial && frames >= seconds * RATE - 1, `${frames} pictures`);
  }
}

function rowsOf(alone: readonly Window[], beside: readonly Window[]): Row[] {
  const p99 = (kind: keyof Window, windows: readonly Window[]): number[] =>
    windows.map((window) => percentile(window[kind], 0.99));
  const longest = (kind: keyof Window, windows: readonly Window[]): number =>
    spreadOf(windows.map((window) => Math.max(...window[kind]))).median;
  const [answers, answersAlone] = [p99('answers', beside), p99('answers', alone)];
  const ratios = answers.map((figure, round) => figure / (answersAlone[round] ?? NaN));
  const what = `${CLIPS} clips at once while ${EVENTS_PER_SECOND} events/s arrive`;
  return [
    {
      id: 'V3',
      measured: `${what}: turns of the event loop, p99`,
      against: '-',
      figure: spreadOf(p99('turns', beside)),
      unit: 'ms',
      target: { atMost: 20 },
      seen: {
        workMs: spreadOf(p99('work', beside)).median,
        longestMs: longest('turns', beside),
        longestWorkMs: longest('work', beside),
        withoutClipsMs: spreadOf(p99('turns', alone)).median,
        withoutClipsLongestMs: longest('turns', alone),
      },
    },
    {
      id: 'V3',
      measured: `${what}: answers to the events, all of them there, p99`,
      against: 'the same events without clips',
      figure: spreadOf(ratios),
      unit: 'x',
      target: { atMost: 2 },
      seen: { withClipsMs: spreadOf(answers).median, withoutClipsMs: spreadOf(answersAlone).median },
    },
  ];
}
