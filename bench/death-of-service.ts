import { setTimeout as pause } from 'node:timers/promises';
import type { Verdict } from '../nodes/rvm-watch/verdict';
import { cloud, station } from '../test/support/node-red/flows';
import { NodeRed, watched } from '../test/support/node-red/node-red';
import { watch } from '../test/support/node-red/watch-run';
import { ScriptedService } from '../test/support/service/scripted-service';
import type { Row, Scale } from './measurement';
import { spreadOf } from './side-by-side';

interface Size {
  /** Services that die of each way. */
  services: number;
  /** Seconds, as the property of the cloud. */
  signOfLife: number;
}
const SIZES: Record<Scale, Size> = {
  full: { services: 8, signOfLife: 60 },
  quick: { services: 1, signOfLife: 1 },
};
/** Seconds that a request may take: the default. */
const TIMEOUT = 10;
/** Seconds after which a finding that has not come is missed. */
const PATIENCE = 300;

/** The process is gone, and its port refuses; or it hangs, and nothing is answered. */
const WAYS = ['dead', 'hangs'] as const;
type Way = (typeof WAYS)[number];

/**
 * B16: how long a service may be dead before *watch* says so, while no message flows: only the sign of life asks. Each service dies at
 * a moment of its own between two of these.
 */
export async function deathOfService(scale: Scale): Promise<Row[]> {
  const size = SIZES[scale];
  const ways = WAYS.flatMap((way) => Array.from({ length: size.services }, () => way));
  const services = await Promise.all(ways.map(() => ScriptedService.start()));
  const nodeRed = await NodeRed.start({ fresh: true });
  try {
    await nodeRed.deploy(flowOf(services, size));
    await nodeRed.until(() => nodeRed.at('pulses').length > 0, 'a pulse');
    await untilLoggedIn(services);
    const seconds = await Promise.all(
      services.map((service, index) =>
        secondsToFinding(nodeRed, index, service, ways[index] ?? 'dead', size),
      ),
    );
    return WAYS.map((way) => ({
      id: 'B16',
      measured: `each of ${size.services} services that ${way === 'dead' ? 'are gone' : 'answer nothing'}: until watch says so`,
      against: `without any message, signOfLife ${size.signOfLife}`,
      figure: spreadOf(seconds.filter((_each, index) => ways[index] === way)),
      unit: 's',
      target: { atMost: 120 },
      seen: {},
    }));
  } finally {
    await nodeRed.stopAndRemove();
    await Promise.all(services.map((service) => service.close()));
  }
}

function flowOf(services: readonly ScriptedService[], { signOfLife }: Size): ReturnType<typeof watched> {
  const nodes = services.flatMap(({ url, apiKey, username, password }, index) => [
    cloud({
      id: `cloud-${index}`,
      url,
      credentials: { apiKey },
      timeout: TIMEOUT,
      deviceRefresh: 0,
      signOfLife,
    }),
    station({
      id: `station-${index}`,
      cloud: `cloud-${index}`,
      name: keyOf(index),
      key: keyOf(index),
      credentials: { username, password, secret: `phrase of the test ${index}` },
    }),
  ]);
  return watched(...nodes, ...watch());
}

function keyOf(index: number): string {
  return `service-${index}`;
}

async function untilLoggedIn(services: readonly ScriptedService[]): Promise<void> {
  while (!services.every(({ sessions }) => sessions.size > 0)) await pause(100);
}

async function secondsToFinding(
  nodeRed: NodeRed,
  index: number,
  service: ScriptedService,
  way: Way,
  { signOfLife }: Size,
): Promise<number> {
  await pause(Math.random() * signOfLife * 1000);
  if (way === 'dead') await service.close();
  else service.behaviour = () => 'silence';
  const died = performance.now();
  const isFound = (msg: Record<string, unknown>): boolean => {
    const { findings } = msg['payload'] as Verdict;
    return findings.some(({ what, station: key }) => what === 'service-unreachable' && key === keyOf(index));
  };
  await nodeRed.message('changes', isFound, PATIENCE);
  return (performance.now() - died) / 1000;
}
