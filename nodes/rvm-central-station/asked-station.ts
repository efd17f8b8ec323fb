import type { NodeAPI } from 'node-red';
import { proxyLogins } from '../../lib/cloud/http/proxy';
import type { StationClient } from '../../lib/cloud/station-client';
import { RvmError } from '../../lib/error';
import { isRecord, type JsonRecord } from '../../lib/json/json';
import type { CloudConnection } from '../rvm-cloud/cloud-node';
import {
  baseUrlOf,
  parseLoginExtra,
  placementOf,
  sandboxConnection,
  sandboxForbidden,
  serviceConnection,
} from '../rvm-cloud/connection';
import { SandboxHost } from '../rvm-cloud/sandbox-host';
import { SANDBOX } from '../support/rules';
import { DRAFT_CREDENTIALS, type StationDraft } from '../support/picker-data';
import { draftVariableError, textOf, unsetVariables } from '../support/settings';
import { storedSecret, withoutKey } from '../support/tls-node';
import { stationById } from './find-station';

type ClientModule = typeof import('../../lib/cloud/station-client');
type Access = Pick<CloudConnection, 'apiKey'> & { username: string; password: string };
type Use<Result> = (client: StationClient) => Promise<Result>;

/** Milliseconds for all that one question of the editor may take. */
const DEADLINE = 30_000;
const TOO_LATE = 'The service did not answer in time: check the base URL, the proxy and the firewall.';

/**
 * Lets a deployed Central Station answer.
 * @throws RvmError CONFIG_MISSING where there is none of this id, and what `use` throws
 */
export async function withStation<Result>(RED: NodeAPI, id: unknown, use: Use<Result>): Promise<Result> {
  const station = typeof id === 'string' ? stationById(RED, id) : undefined;
  if (station === undefined) {
    throw new RvmError('CONFIG_MISSING', 'This Central Station is not deployed yet: deploy the flow first.');
  }
  return use(await station.client());
}

/**
 * Asks the service as a Central Station would that is not deployed. Nothing that is stored goes to the address of a draft: all
 * its secrets come with it, and no variable stands for one.
 * @throws RvmError BAD_INPUT, CONFIG_MISSING, and what `use` throws
 */
export async function withDraft<Result>(RED: NodeAPI, asked: JsonRecord, use: Use<Result>): Promise<Result> {
  const draft = draftIn(asked);
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
  // Its cameras are those that the sandbox has once it is deployed.
  const { liveStyle } = placement;
  const options = { apiKey, port: 0, rtspPort: 0, eventsPerMinute: 0, liveStyle };
  const host = new SandboxHost(options, () => undefined);
  try {
    const sandbox = await host.sandbox();
    const name = textOf(draft.station, 'name');
    const entered = sandbox.setStation('draft', {
      name,
      username,
      password,
      secret: undefined,
      scheme: 'https',
    });
    const loginExtra = parseLoginExtra(draft.credentials.loginExtra);
    return await withClient({ ...sandboxConnection(draft.cloud, loginExtra, sandbox), ...entered }, use);
  } finally {
    await host.close();
  }
}

async function withClient<Result>(connection: CloudConnection & Access, use: Use<Result>): Promise<Result> {
  const { StationClient } = require('../../lib/cloud/station-client') as ClientModule;
  const client = new StationClient({
    ...connection,
    deviceRefreshMs: 0,
    signOfLifeMs: 0,
    quotesNothing: true,
  });
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
