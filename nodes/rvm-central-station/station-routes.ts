import type { NodeAPI } from 'node-red';
import { listedCamera } from '../../lib/cloud/cameras/device-directory';
import type { PtzList } from '../../lib/cloud/calls';
import type { StationClient } from '../../lib/cloud/station-client';
import type { TestResult } from '../../lib/station-test';
import { RvmError } from '../../lib/error';
import type { JsonRecord } from '../../lib/json/json';
import { readRoute, TO_DEPLOY, writeRoute } from '../support/admin-routes';
import { lastPictureOf } from '../support/recent-video';
import type { PickedDevice, PickedTarget } from '../support/picker-data';
import { textOf } from '../support/settings';
import { withDraft, withStation } from './asked-station';
import { stationById } from './find-station';

type TestModule = typeof import('../../lib/station-test');

/**
 * What the dialogs ask of a Central Station: its cameras, and the presets and tours of one. A deployed station is asked by its
 * id; for one that is not, all that is needed comes with the question, the address too: only those may ask it who may deploy.
 */
export function addStationRoutes(RED: NodeAPI): void {
  const both = (
    path: string,
    answer: (client: StationClient, asked: JsonRecord) => Promise<object>,
  ): void => {
    readRoute(RED, path, (asked) => withStation(RED, asked.station, (client) => answer(client, asked)));
    writeRoute(
      RED,
      path,
      (asked) => withDraft(RED, asked, (client) => answer(client, asked)),
      () => TO_DEPLOY,
    );
  };
  both('devices', devicesOf);
  both('targets', targetsOf);
  readRoute(RED, 'camera-picture', (asked) => pictureOf(RED, asked));
  writeRoute(
    RED,
    'station-test',
    async (asked) => {
      const { testStation } = require('../../lib/station-test') as TestModule;
      const steps = (client: StationClient): Promise<TestResult[]> => testStation(client);
      return {
        steps: await (isDeployed(asked)
          ? withStation(RED, asked.station, steps)
          : withDraft(RED, asked, steps)),
      };
    },
    (asked) => (isDeployed(asked) ? undefined : TO_DEPLOY),
  );
}

function isDeployed({ station }: JsonRecord): boolean {
  return typeof station === 'string';
}

async function devicesOf(client: StationClient, asked: JsonRecord): Promise<{ devices: PickedDevice[] }> {
  const devices = await client.listDevices({ fresh: asked.fresh === 'true', once: true });
  return {
    devices: devices.map((device) => {
      const { name, status, online } = device;
      return { ...listedCamera(device), name, status, online };
    }),
  };
}

async function targetsOf(client: StationClient, asked: JsonRecord): Promise<{ targets: PickedTarget[] }> {
  const targets = await client.ptzTargets(textOf(asked, 'camera'), listIn(asked), { once: true });
  return { targets: targets.map(({ id, name }) => ({ id: String(id), name })) };
}

/** The last picture that was taken of a camera, if one is kept: the service is not asked. */
function pictureOf(RED: NodeAPI, asked: JsonRecord): { jpeg: string | null } {
  const station = stationById(RED, textOf(asked, 'station'));
  const jpeg = station && lastPictureOf({ station: station.key, camera: textOf(asked, 'camera') });
  return { jpeg: jpeg?.toString('base64') ?? null };
}

function listIn({ list }: JsonRecord): PtzList {
  if (list === 'presets' || list === 'tours') return list;
  throw new RvmError('BAD_INPUT', 'A camera has lists of presets and of tours.');
}
