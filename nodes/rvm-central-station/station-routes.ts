import type { NodeAPI } from 'node-red';
import type { PtzList } from '../../lib/cloud/calls';
import { listedCamera } from '../../lib/cloud/cameras/device-directory';
import { proxyLogins } from '../../lib/cloud/http/proxy';
import type { StationClient } from '../../lib/cloud/station-client';
import { RvmError } from '../../lib/error';
import { isRecord, type JsonRecord } from '../../lib/json/json';
import {
  baseUrlOf,
  type CloudConnection,
  parseLoginExtra,
  placementOf,
  sandboxConnection,
  sandboxForbidden,
  serviceConnection,
} from '../rvm-cloud/connection';
import { SandboxHost } from '../rvm-cloud/sandbox-host';
import { readRoute, TO_DEPLOY, writeRoute } from '../support/admin-routes';
import {
  DRAFT_CREDENTIALS,
  type PickedDevice,
  type PickedTarget,
  type StationDraft,
} from '../support/picker-data';
import { lastPictureOf } from '../support/recent-video';
import { SANDBOX } from '../support/rules';
import { draftVariableError, textOf, unsetVariables } from '../support/settings';
import { storedSecret, withoutKey } from '../support/tls-node';
import { stationById } from './station';

type TestModule = typeof import('../../lib/station-test');

/**
 * Routes for the dialogs: cameras of a Central Station, presets and tours of one camera. A deployed station is named by its id.
 * For one that is not deployed, the request carries all settings including the address, so only users who may deploy can send
 * it.
 */
export function addStationRoutes(RED: NodeAPI): void {
  const both = (
    path: string,
    answer: (client: StationClient, input: JsonRecord) => Promise<object>,
  ): void => {
    readRoute(RED, path, (input) => withStation(RED, input.station, (client) => answer(client, input)));
    const ofDraft = (input: JsonRecord): Promise<object> =>
      withDraft(RED, input, (client) => answer(client, input));
    writeRoute(RED, path, ofDraft, () => TO_DEPLOY);
  };
  both('devices', devicesOf);
  both('targets', targetsOf);
  readRoute(RED, 'camera-picture', (input) => pictureOf(RED, input));
  writeRoute(
    RED,
    'station-test',
    async (input) => {
      const { testStation } = require('../../lib/station-test') as TestModule;
      const steps = async (client: StationClient): Promise<object> => ({ steps: await testStation(client) });
      return isDeployed(input) ? withStation(RED, input.station, steps) : withDraft(RED, input, steps);
    },
    (input) => (isDeployed(input) ? undefined : TO_DEPLOY),
  );
}

function isDeployed({ station }: JsonRecord): boolean {
  return typeof station === 'string';
}

async function devicesOf(client: StationClient, input: JsonRecord): Promise<{ devices: PickedDevice[] }> {
  const devices = await client.listDevices({ fresh: input.fresh === 'true', once: true });
  const picked = devices.map((device) => {
    const { name, status, online } = device;
    return { ...listedCamera(device), name, status, online };
  });
  return { devices: picked };
}

async function targetsOf(client: StationClient, input: JsonRecord): Promise<{ targets: PickedTarget[] }> {
  const targets = await client.ptzTargets(textOf(input, 'camera'), listIn(input), { once: true });
  return { targets: targets.map(({ id, name }) => ({ id: String(id), name })) };
}

/** The last picture of a camera, if one is cached; the service is not called. */
function pictureOf(RED: NodeAPI, input: JsonRecord): { jpeg: string | null } {
  const station = stationById(RED, textOf(input, 'station'));
  const jpeg = station && lastPictureOf({ station: station.key, camera: textOf(input, 'camera') });
  return { jpeg: jpeg?.toString('base64') ?? null };
}

function listIn({ list }: JsonRecord): PtzList {
  if (list === 'presets' || list === 'tours') return list;
  throw new RvmError('BAD_INPUT', 'A camera has lists of presets and of tours.');
}

type ClientModule = typeof import('../../lib/cloud/station-client');
type Access = Pick<CloudConnection, 'apiKey'> & { username: string; password: string };
type Use<Result> = (client: StationClient) => Promise<Result>;

/** Milliseconds for one whole request of the editor. */
const DEADLINE = 30_000;
const TOO_LATE = 'The service did not answer in time: check the base URL, the proxy and the firewall.';

/**
 * Runs `use` with a deployed Central Station.
 * @throws RvmError CONFIG_MISSING where no station has this id, and what `use` throws
 */
async function withStation<Result>(RED: NodeAPI, id: unknown, use: Use<Result>): Promise<Result> {
  const station = typeof id === 'string' ? stationById(RED, id) : undefined;
  if (station === undefined) {
    throw new RvmError('CONFIG_MISSING', 'This Central Station is not deployed yet: deploy the flow first.');
  }
  return use(await station.client());
}

/**
 * Calls the service for a Central Station that is not deployed. No stored secret may go to the address of a draft: the request
 * carries all secrets, and none may come from a variable.
 * @throws RvmError BAD_INPUT, CONFIG_MISSING, and what `use` throws
 */
async function withDraft<Result>(RED: NodeAPI, input: JsonRecord, use: Use<Result>): Promise<Result> {
  const draft = draftIn(input);
  const unset = unsetVariables(draft.station, draft.cloud, draft.credentials);
  if (unset !== undefined) throw draftVariableError(unset);
  if (baseUrlOf(draft.cloud) !== SANDBOX) {
    const { apiKey = '', username = '', password = '' } = draft.credentials;
    const loginExtra = parseLoginExtra(draft.credentials.loginExtra);
    const { tls, proxy, ...connection } = serviceConnection(RED, draft.cloud, { apiKey, loginExtra });
    if (proxyLogins(proxy).length > 0) throw storedSecret('The login of the proxy');
    const access = { tls: withoutKey(tls), proxy, username, password };
    return withClient({ ...connection, ...access }, use);
  }
  return withSandbox(RED, draft, use);
}

async function withSandbox<Result>(RED: NodeAPI, draft: StationDraft, use: Use<Result>): Promise<Result> {
  const placement = placementOf(RED.settings.get('rvmSandbox'));
  if (placement === false) throw sandboxForbidden();
  const { apiKey = '', username, password } = draft.credentials;
  // Without host and ports of the deployed sandbox; the cameras are the same.
  const { liveStyle } = placement;
  const options = { apiKey, port: 0, rtspPort: 0, eventsPerMinute: 0, liveStyle };
  const host = new SandboxHost(options);
  try {
    const sandbox = await host.sandbox();
    const name = textOf(draft.station, 'name');
    const entered = sandbox.setStation('draft', { name, username, password, scheme: 'https' });
    const loginExtra = parseLoginExtra(draft.credentials.loginExtra);
    return await withClient({ ...sandboxConnection(draft.cloud, loginExtra, sandbox), ...entered }, use);
  } finally {
    await host.close();
  }
}

async function withClient<Result>(connection: CloudConnection & Access, use: Use<Result>): Promise<Result> {
  const { StationClient } = require('../../lib/cloud/station-client') as ClientModule;
  const quiet = { deviceRefreshMs: 0, signOfLifeMs: 0, quotesNothing: true };
  const client = new StationClient({ ...connection, ...quiet });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new RvmError('TIMEOUT', TOO_LATE)), DEADLINE);
  });
  try {
    return await Promise.race([use(client), late]);
  } finally {
    clearTimeout(timer);
    await client.close();
  }
}

function draftIn({ station, cloud, credentials }: JsonRecord): StationDraft {
  if (!isRecord(station) || !isRecord(cloud)) {
    throw new RvmError('CONFIG_MISSING', 'This Central Station has no cloud: choose one in its settings.');
  }
  const typed = isRecord(credentials) ? credentials : {};
  const texts = DRAFT_CREDENTIALS.map((name) => [name, textOf(typed, name)] as const);
  return { station, cloud, credentials: Object.fromEntries(texts) };
}
