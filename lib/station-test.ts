import type { Device } from './device';
import { RvmError, type RvmErrorCode } from './error';
import { quote } from './cloud/secret-mask';
import { describe } from './video/rtsp/open-stream';
import type { StationClient } from './cloud/station-client';

/** The steps of a test, in the order in which an alarm needs them to get its video. */
const TEST_STEPS = [
  'settings',
  'reachable',
  'key',
  'version',
  'login',
  'cameras',
  'data-sources',
  'rtsp',
  'relay',
  'video',
] as const;
type StepOfAlarm = (typeof TEST_STEPS)[number];
/** `ptz` is reported only where it fails: no alarm needs it. */
type TestStep = StepOfAlarm | 'ptz';

export interface TestResult {
  step: TestStep;
  /** `open`: not tried, because an earlier step failed. */
  outcome: 'ok' | 'failed' | 'open';
  /** The result, such as a version, a number of cameras or a codec; of a failure, what to do. */
  detail: string;
  code?: RvmErrorCode;
  /** The service has chosen this version although it was not requested. */
  isUnasked?: true;
}

/** Milliseconds for the relay to accept a connection, and again to describe its video. */
const RELAY_TIMEOUT = 8_000;
const SESSION_DEADLINE = 15_000;
const PTZ_DEADLINE = 5_000;
/** Cameras queried for presets and tours until one has any: most are fixed, and there may be thousands. */
const ASKED_FOR_PTZ = 10;

/** Step that fails with a code of the service. */
const STEP_OF_CODE: Partial<Record<RvmErrorCode, StepOfAlarm>> = {
  API_KEY_REJECTED: 'key',
  INCOMPATIBLE_VERSION: 'version',
  VERSION_NOT_REQUESTED: 'version',
  LOGIN_FAILED: 'login',
};
/** For other codes: step that follows a relation (specification, sections 2 and 4). */
const STEP_OF_RELATION: readonly [part: RegExp, step: StepOfAlarm][] = [
  [/login/i, 'login'],
  [/device/i, 'cameras'],
  [/data_sources/i, 'data-sources'],
  [/rtsp/i, 'rtsp'],
];

/**
 * Tests the whole path from the settings to a moving picture, with the first camera that is online. No result contains the URL
 * of the session.
 */
export async function testStation(client: StationClient): Promise<TestResult[]> {
  const found = new Map<StepOfAlarm, string>();
  const cameras: Device[] = [];
  const error = await walk(client, found, cameras).catch((reason: unknown) => {
    if (!(reason instanceof RvmError)) throw reason;
    return reason;
  });
  const steps = marked(client, results(found, error ?? undefined));
  const ptz = await ptzFault(client, cameras.slice(0, ASKED_FOR_PTZ));
  if (ptz !== undefined) steps.splice(TEST_STEPS.indexOf('rtsp'), 0, ptz);
  return steps;
}

/** The fault of presets and tours at the first of these cameras that has any. */
async function ptzFault(client: StationClient, cameras: readonly Device[]): Promise<TestResult | undefined> {
  for (const { id, name } of cameras) {
    try {
      if ((await client.checkPtz(id, { deadlineMs: PTZ_DEADLINE, once: true })) > 0) return undefined;
    } catch (error) {
      if (!(error instanceof RvmError)) throw error;
      const { code, message } = error;
      if (code === 'LINK_NOT_OFFERED' || code === 'UNTRUSTED_LINK')
        return { step: 'ptz', outcome: 'failed', detail: `${quote(name || id)}: ${message}`, code };
      // A fixed camera may refuse the query; any other error would occur with each of them.
      if (code !== 'HTTP_ERROR') return undefined;
    }
  }
  return undefined;
}

function marked({ unaskedVersion }: StationClient, steps: TestResult[]): TestResult[] {
  return steps.map((result) =>
    result.step === 'version' && result.outcome === 'ok' && unaskedVersion !== undefined
      ? { ...result, detail: unaskedVersion, isUnasked: true }
      : result,
  );
}

async function walk(
  client: StationClient,
  found: Map<StepOfAlarm, string>,
  cameras: Device[],
): Promise<void> {
  const devices = await client.listDevices({ fresh: true, once: true });
  const { state } = client;
  for (const step of ['settings', 'reachable', 'key', 'login'] as const) found.set(step, '');
  found.set('version', state.kind === 'connected' ? (state.version ?? '') : '');
  const online = devices.filter((device) => device.online);
  found.set('cameras', `${online.length} / ${devices.length}`);
  cameras.push(...online);
  const camera = online[0] ?? devices[0];
  if (camera === undefined) return;
  const session = await client.openRtsp(
    { mode: 'live', camera: camera.id, quality: 'high', whenOffline: 'try' },
    { deadlineMs: SESSION_DEADLINE, once: true },
  );
  const { scheme, host, port } = session.relay;
  found.set('data-sources', camera.name || camera.id);
  found.set('rtsp', `${scheme}://${host}:${port}`);
  const onConnected = (): void => void found.set('relay', '');
  const { codecs } = await describe(session.url, { timeoutMs: RELAY_TIMEOUT, onConnected });
  found.set('video', codecs.join(', '));
}

function results(found: ReadonlyMap<StepOfAlarm, string>, error?: RvmError): TestResult[] {
  const failed = error === undefined ? undefined : failedStep(found, error);
  const failedAt = failed === undefined ? TEST_STEPS.length : TEST_STEPS.indexOf(failed);
  return TEST_STEPS.map((step, index) => {
    if (step === failed && error !== undefined) {
      return { step, outcome: 'failed', detail: error.message, code: error.code };
    }
    const detail = found.get(step);
    const isOk = detail !== undefined || (index < failedAt && failed !== undefined);
    return { step, outcome: isOk ? 'ok' : 'open', detail: detail ?? '' };
  });
}

/** The failed step; all steps before it have worked. */
function failedStep(found: ReadonlyMap<StepOfAlarm, string>, { code, cause }: RvmError): StepOfAlarm {
  if (found.has('rtsp')) return found.has('relay') ? 'video' : 'relay';
  const byCode = STEP_OF_CODE[code];
  if (byCode !== undefined) return byCode;
  if (cause.relation === undefined && (code === 'CONFIG_MISSING' || code === 'BAD_INPUT')) return 'settings';
  const byRelation = STEP_OF_RELATION.find(([part]) => part.test(cause.relation ?? ''))?.[1];
  if (byRelation !== undefined) return byRelation;
  return found.has('cameras') ? 'data-sources' : 'reachable';
}
