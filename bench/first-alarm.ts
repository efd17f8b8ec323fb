import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { entrance, inject, NodeRed, probe, ROOT } from '../test/support/node-red/node-red';
import { caller } from '../test/support/node-red/station-flow';
import { idOf, remoteIdOf } from '../test/support/service/paged-devices';
import { walkSequence } from './bare-sequence';
import { functionNode } from './counting-node-red';
import { deviceFlow } from './device-flow';
import type { Row, Scale } from './measurement';
import { PagedService } from './paged-service';
import { sideBySide, spreadOf } from './side-by-side';

interface Size {
  devices: number;
  rounds: number;
}
const SIZES: Record<Scale, Size> = {
  full: { devices: 20_000, rounds: 9 },
  quick: { devices: 1_000, rounds: 1 },
};
const PAGE_SIZE = 100;
/** Milliseconds that the service takes for a page. */
const PAGE_MS = 20;

interface FirstAlarm {
  ms: number;
  requests: number;
}

/**
 * B12: the first alarm after a restart, of a camera on the last page whose video the run before had asked for once. From the
 * message into *get RTSP* to the one out of it: the client logs in and opens the session. No node names the station before, so
 * that no login at the start spares anything; but the code of the client is loaded, as it is wherever a node names one.
 */
export async function firstAlarmAfterRestart(scale: Scale): Promise<Row[]> {
  const { devices, rounds } = SIZES[scale];
  const service = await PagedService.start({ devices, pageSize: PAGE_SIZE, pageMs: PAGE_MS });
  const camera = { id: idOf(devices - 1), remoteId: remoteIdOf(devices - 1) };
  const alarms: FirstAlarm[] = [];
  const walked: number[] = [];
  const userDir = await runBefore(service, camera);
  try {
    const { ratio, ours, other } = await sideBySide(rounds, {
      ours: async () => {
        const alarm = await afterRestart(userDir, camera);
        alarms.push(alarm);
        return alarm.ms;
      },
      other: async () => {
        const from = performance.now();
        walked.push(await walkSequence(service.url, camera));
        return performance.now() - from;
      },
    });
    const measured = `first alarm after a restart, camera ${devices} of ${devices}`;
    const sequence = spreadOf(walked).median;
    const against = `the specification's sequence, ${sequence} requests`;
    return [
      {
        id: 'B12',
        measured: `${measured}: requests`,
        against,
        figure: spreadOf(alarms.map(({ requests }) => requests)),
        unit: 'requests',
        target: { atMost: 4 },
        seen: { sequenceRequests: sequence },
      },
      {
        id: 'B12',
        measured: `${measured}: time`,
        against,
        figure: ratio,
        unit: 'x',
        target: { atMost: 0.05 },
        seen: { oursMs: ours.median, otherMs: other.median },
      },
    ];
  } finally {
    fs.rmSync(userDir, { recursive: true, force: true });
    await service.stop();
  }
}

interface Camera {
  id: string;
  remoteId: string;
}

/** @returns the user directory of a run that has had the video of the camera */
async function runBefore(service: PagedService, camera: Camera): Promise<string> {
  const nodeRed = await NodeRed.start({ settings: SETTINGS });
  await nodeRed.deploy(
    deviceFlow(
      service,
      ...entrance('alarm', 'begin'),
      functionNode('begin', `msg.from = global.get('now')();\nreturn msg;`, { wires: [['video']] }),
      // It waits for a message that names its station: nodes in which one is chosen log in at their start.
      caller('rvm-get-rtsp', { id: 'video', station: '', mode: 'event', wires: [['end'], ['failed']] }),
      functionNode('end', `msg.ms = global.get('now')() - msg.from;\nreturn msg;`, { wires: [['ended']] }),
      probe('ended'),
      probe('failed'),
    ),
  );
  await videoOf(nodeRed, camera);
  return nodeRed.userDir;
}

async function afterRestart(userDir: string, camera: Camera): Promise<FirstAlarm> {
  return videoOf(await NodeRed.start({ userDir, settings: SETTINGS }), camera);
}

/** The video of one alarm, and the end of Node-RED. */
async function videoOf(nodeRed: NodeRed, { id, remoteId }: Camera): Promise<FirstAlarm> {
  try {
    const event = { cameraId: id, cameraRemoteId: remoteId, eventStartTime: '2026-11-21T10:00:00' };
    await inject(nodeRed, 'alarm', { station: 'north', event });
    const { payload, ms, rtsp } = await nodeRed.message('ended', () => true, 60);
    assert.ok(String(payload).endsWith(id), nodeRed.log.slice(-3000));
    return { ms: Number(ms), requests: (rtsp as { requests: number }).requests };
  } finally {
    await nodeRed.stop();
  }
}

const CLIENT = JSON.stringify(path.join(ROOT, 'dist', 'lib', 'cloud', 'station-client'));

/** The log of a production, the clock of the measurement, and the way out of the flow. */
const SETTINGS = `logging: { console: { level: 'info', metrics: false, audit: false } },
  functionGlobalContext: {
    client: require(${CLIENT}),
    now: () => performance.now(),
    probe: (probe, { req, res, ...msg }) => process.send({ probe, msg }),
  },`;
