import assert from 'node:assert/strict';
import { alarmMessage, post } from '../../test/support/webhook/alarm-message';
import { cloud, station, webhookIn } from '../../test/support/node-red/flows';
import type { FlowNode } from '../../test/support/node-red/node-red';
import { caller, isOnline, StationFlow, type SandboxCamera } from '../../test/support/node-red/station-flow';
import { functionNode, TAB } from '../counting-node-red';
import type { Row, Scale } from '../measurement';
import { sideBySide } from '../side-by-side';

const ROUNDS: Record<Scale, number> = { full: 21, quick: 1 };
/** How long ago an alarm has begun when its message comes, in milliseconds. */
const AGO = 10_000;

/** How ffmpeg is asked by hand, and how much of its time ours may take. */
const BY_HAND = [
  { id: 'plain', options: [], atMost: 0.25 },
  { id: 'unprobed', options: ['-fpsprobesize', '0'], atMost: 0.6 },
] as const;

/**
 * V1: from the message of an alarm to its picture, in one flow with _get picture_, and in flows with _get RTSP_ and a function node
 * that lets ffmpeg open the address. All of them in one Node-RED, with the sandbox as its service.
 */
export async function timeToPicture(scale: Scale): Promise<Row[]> {
  const flow = await StationFlow.start('5', {}, { settings: SETTINGS });
  try {
    const camera = await flow.camera(isOnline);
    await flow.nodeRed.deploy(flowOf(flow));
    const rows: Row[] = [];
    for (const { id, options, atMost } of BY_HAND) {
      const { ratio, ours, other } = await sideBySide(ROUNDS[scale], {
        ours: () => millisecondsTo('picture', flow, camera),
        other: () => millisecondsTo(id, flow, camera),
      });
      rows.push({
        id: 'V1',
        measured: 'webhook posted until the picture of the alarm leaves get picture',
        against: ['get RTSP, ffmpeg', ...options, '-frames:v 1'].join(' '),
        figure: ratio,
        unit: 'x',
        target: { atMost },
        seen: { oursMs: ours.median, otherMs: other.median },
      });
    }
    return rows;
  } finally {
    await flow.stop();
  }
}

async function millisecondsTo(
  picture: string,
  { nodeRed, credentials }: StationFlow,
  { id, remoteId }: SandboxCamera,
): Promise<number> {
  const before = nodeRed.at(picture).length;
  const eventStartTime = new Date(Date.now() - AGO).toISOString().slice(0, -1);
  const alarm = alarmMessage({ cameraId: id, cameraRemoteId: remoteId, eventStartTime });
  const from = process.hrtime.bigint();
  const { status } = await post(`${nodeRed.url}/${picture}`, alarm, credentials.secret);
  assert.equal(status, 200);
  await nodeRed.until(() => nodeRed.at(picture).length > before, 'the picture', 60);
  const { at, bytes, error } = nodeRed.at(picture)[before] ?? {};
  assert.equal(error, undefined);
  assert.ok(Number(bytes) > 1000, `${String(bytes)} bytes`);
  return Number(BigInt(String(at)) - from) / 1e6;
}

function flowOf({ sandbox, credentials }: StationFlow): FlowNode[] {
  return [
    TAB,
    cloud({ url: sandbox.url, localRelays: true, credentials: { apiKey: sandbox.apiKey } }),
    station({ credentials }),
    webhook('picture', 'get-picture'),
    caller('rvm-get-picture', { id: 'get-picture', mode: 'event', wires: [['made'], ['made']] }),
    functionNode('made', `global.get('told')('picture', msg);`),
    ...BY_HAND.flatMap(({ id, options }) => [
      webhook(id, `${id}-address`),
      caller('rvm-get-rtsp', { id: `${id}-address`, mode: 'event', wires: [[`${id}-decode`], []] }),
      functionNode(`${id}-decode`, decode(id, options), {
        libs: [{ var: 'childProcess', module: 'child_process' }],
      }),
    ]),
  ];
}

function webhook(id: string, target: string): FlowNode {
  return webhookIn({ id: `${id}-in`, path: `/${id}`, wires: [[target], [], []] });
}

function decode(picture: string, options: readonly string[]): string {
  const before = ['-v', 'error', '-nostdin', '-rtsp_transport', 'tcp', ...options, '-i'];
  const behind = ['-frames:v', '1', '-f', 'mjpeg', 'pipe:1'];
  return `const [before, behind] = ${JSON.stringify([before, behind])};
const child = childProcess.spawn('ffmpeg', [...before, msg.payload, ...behind]);
const pieces = [];
child.stdout.on('data', (piece) => pieces.push(piece));
child.on('close', () => global.get('told')('${picture}', { payload: Buffer.concat(pieces) }));`;
}

/** The log of a production, and the way out of the flow. */
const SETTINGS = `logging: { console: { level: 'info', metrics: false, audit: false } },
  functionGlobalContext: {
    told: (probe, { payload, error }) => {
      const at = String(process.hrtime.bigint());
      process.send({ probe, msg: { at, bytes: payload.length, error } });
    },
  },`;
