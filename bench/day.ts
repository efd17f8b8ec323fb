import assert from 'node:assert/strict';
import { alarmMessage, answerTo } from '../test/support/webhook/alarm-message';
import { seededChance } from '../test/support/inbox/broken-files';
import { cloud, PATH, PHRASE, station, webhookIn } from '../test/support/node-red/flows';
import type { FlowNode } from '../test/support/node-red/node-red';
import { walkSequence } from './bare-sequence';
import { CountingNodeRed, COUNTER, TAB } from './counting-node-red';
import type { Row, Scale } from './measurement';
import { spreadOf } from './side-by-side';
import { VideoService, type BenchCamera } from './video-service';

const CAMERAS = 200;
/** Most alarms come alone; of five incidents one sets off several, up to so many at a time. */
const MOST_AT_A_TIME = 8;
const ALONE = 0.8;
/** Events for which the sequence without caching is walked. */
const WALKED = 20;

interface Size {
  events: number;
  /** How often the session is lost. */
  losses: number;
  /** Days, each with another order of cameras and bursts. */
  days: number;
}
const SIZES: Record<Scale, Size> = {
  full: { events: 5000, losses: 20, days: 3 },
  quick: { events: 100, losses: 1, days: 1 },
};

/** B6: what a day of alarms asks of the service, from *webhook in* to the video that *get RTSP* finds. */
export async function requestsOfADay(scale: Scale): Promise<Row[]> {
  const { days, ...size } = SIZES[scale];
  const figures: number[] = [];
  for (let day = 1; day <= days; day += 1) figures.push(await requestsPerEvent(size, seededChance(day)));
  const sequence = await requestsWithoutCaching();
  return [
    {
      id: 'B6',
      measured: `a day of ${CAMERAS} cameras, ${size.events} events, session lost ${size.losses} times: HTTP requests`,
      against: `the specification's sequence without caching, ${sequence} per event`,
      figure: spreadOf(figures),
      unit: 'per event',
      target: { atMost: 1.08 },
      seen: { sequencePerEvent: sequence },
    },
  ];
}

async function requestsPerEvent(
  { events, losses }: Omit<Size, 'days'>,
  chance: () => number,
): Promise<number> {
  const lostAt = Array.from({ length: losses }, (_, loss) => Math.floor(((loss + 0.5) * events) / losses));
  const service = await VideoService.start({ cameras: CAMERAS, lostAt });
  const server = await CountingNodeRed.start(events, videoFlow(service.url));
  try {
    for (let left = events; left > 0;) {
      const burst = chance() < ALONE ? 1 : Math.min(left, 2 + Math.floor(chance() * (MOST_AT_A_TIME - 1)));
      await Promise.all(Array.from({ length: burst }, () => raise(server, service.cameras, chance)));
      left -= burst;
    }
    await server.lastDelivered();
    return (await service.requests()) / events;
  } finally {
    await server.nodeRed.stopAndRemove();
    await service.stop();
  }
}

async function raise(
  { nodeRed }: CountingNodeRed,
  cameras: readonly BenchCamera[],
  chance: () => number,
): Promise<void> {
  const { id, remoteId } = cameras[Math.floor(chance() * cameras.length)] ?? {};
  const message = alarmMessage({ cameraId: id, cameraRemoteId: remoteId });
  assert.equal(await answerTo(`${nodeRed.url}${PATH}`, message, PHRASE), 200);
}

/** Only what has its video is counted; what fails is never delivered, and so fails the benchmark. */
function videoFlow(url: string): FlowNode[] {
  return [
    TAB,
    // The refresh in the background is not counted.
    cloud({ url, deviceRefresh: 0 }),
    station(),
    webhookIn({ wires: [['video'], [], []] }),
    {
      id: 'video',
      type: 'rvm-get-rtsp',
      z: 'tab',
      station: 'station',
      mode: 'event',
      wires: [['counter'], []],
    },
    COUNTER,
  ];
}

/** The sequence as the specification has it (section 4), walked for each event from its beginning. */
async function requestsWithoutCaching(): Promise<number> {
  const service = await VideoService.start({ cameras: CAMERAS });
  try {
    for (const camera of service.cameras.slice(0, WALKED)) await walkSequence(service.url, camera);
    return (await service.requests()) / WALKED;
  } finally {
    await service.stop();
  }
}
