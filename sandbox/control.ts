import {
  type Answer,
  type Call,
  jsonBody,
  matchPath,
  onlyFields,
  optionalNumber,
  optionalText,
  requiredText,
} from './api/http-server';
import type { PtzSimulator } from './api/ptz';
import type { LoginSessions } from './api/service';
import { badRequest, Refusal } from './refusal';
import { isLoopback } from './text';
import { type Alarms, MOST_SECONDS } from './webhooks/alarms';
import type { WebhookSender } from './webhooks/sender';
import type { Clock } from './world/clock';
import { FAULT_KINDS, type FaultKind, type ApiFaultInjector, LATE_WAYS, type LateWay } from './world/faults';
import type { Stations } from './world/stations';
import { type Camera, findCamera, type Onboarding, type World } from './world/world';

/**
 * The control calls need no key, so only programs on this machine may use them: no other machine, no web page in a browser
 * here, and no page whose host name resolves to this machine (DNS rebinding).
 * @throws Refusal 403
 */
export function guardControl(call: Call): void {
  const host = URL.parse(`http://${call.headers.host ?? ''}`);
  if (!isLoopback(call.remoteAddress)) throw forbidden('Control calls are for this machine only.');
  if (host === null || !isLoopback(host.hostname)) throw forbidden('Use 127.0.0.1 or localhost as the host.');
  const { origin } = call.headers;
  if (origin !== undefined && origin !== host.origin) throw forbidden('Not for pages of another origin.');
  const site = call.headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw forbidden('Not for pages of another origin.');
  }
}

function forbidden(message: string): Refusal {
  return new Refusal(403, 'Forbidden', message);
}

interface ControlOptions {
  alarms: Alarms;
  clock: Clock;
  faults: ApiFaultInjector;
  onboarding: Onboarding;
  sender: WebhookSender;
  world: World;
  /** Relations of the service; a fault may be limited to one. */
  relations: readonly string[];
  state: () => object;
}

type Body = Readonly<Record<string, unknown>>;

interface ControlRoute {
  method: string;
  path: string;
  answer: (body: Body, parameters: Readonly<Record<string, string>>) => Answer | Promise<Answer>;
}

const LONGEST_ADVANCE_S = 366 * 86_400;

/** The control calls below `/sandbox/`, for tests and demos. */
export class Control {
  readonly #routes: readonly ControlRoute[];

  constructor(options: ControlOptions) {
    this.#routes = [...alarmRoutes(options), ...faultRoutes(options), ...onboardingRoutes(options)];
  }

  static owns(path: string): boolean {
    return path.startsWith('/sandbox/');
  }

  /** @throws Refusal */
  async answer(call: Call): Promise<Answer> {
    guardControl(call);
    const matches = this.#routes.flatMap((route) => {
      const parameters = matchPath(route.path, call.path);
      return parameters === undefined ? [] : [{ route, parameters }];
    });
    if (matches.length === 0) throw new Refusal(404, 'NotFound', 'There is no such control call.');
    const match = matches.find(({ route }) => route.method === call.method);
    if (match !== undefined) return match.route.answer(jsonBody(call.body), match.parameters);
    const allow = matches.map(({ route }) => route.method).join(', ');
    throw new Refusal(405, 'MethodNotAllowed', `Allowed here: ${allow}.`, { headers: { Allow: allow } });
  }
}

function alarmRoutes({ alarms, clock, sender, state }: ControlOptions): ControlRoute[] {
  return [
    {
      method: 'POST',
      path: '/sandbox/alarms',
      answer: (body) => {
        onlyFields(body, ['camera', 'eventClass', 'eventName', 'seconds']);
        const seconds = optionalNumber(body, 'seconds', { low: 0, high: MOST_SECONDS });
        const raised = alarms.raise({
          camera: optionalText(body, 'camera') ?? '',
          eventClass: optionalText(body, 'eventClass') ?? '',
          eventName: optionalText(body, 'eventName') ?? '',
          ...(seconds === undefined ? {} : { seconds }),
        });
        return { status: 200, body: raised };
      },
    },
    {
      method: 'GET',
      path: '/sandbox/deliveries',
      answer: () => ({ status: 200, body: sender.list() }),
    },
    {
      method: 'POST',
      path: '/sandbox/clock',
      answer: async (body) => {
        onlyFields(body, ['advance']);
        const seconds = optionalNumber(body, 'advance', { low: 0, high: LONGEST_ADVANCE_S });
        if (seconds === undefined) throw badRequest('advance is missing: seconds.', 'advance');
        await clock.advance(seconds);
        return { status: 200, body: { now: new Date(clock.now()).toISOString() } };
      },
    },
    { method: 'GET', path: '/sandbox/state', answer: () => ({ status: 200, body: state() }) },
  ];
}

function onboardingRoutes({ onboarding }: ControlOptions): ControlRoute[] {
  return [
    {
      method: 'POST',
      path: '/sandbox/packages',
      answer: (body) => {
        onlyFields(body, ['code', 'siteId']);
        const entry = onboarding.applyCode(requiredText(body, 'code'), requiredText(body, 'siteId'));
        return { status: 200, body: entry };
      },
    },
    {
      method: 'GET',
      path: '/sandbox/customers',
      answer: () => ({ status: 200, body: onboarding.customers() }),
    },
    {
      method: 'POST',
      path: '/sandbox/customers/:id/accept',
      answer: (_, parameters) => ({ status: 200, body: onboarding.accept(parameters['id'] ?? '') }),
    },
  ];
}

function faultRoutes({ faults, world, relations }: ControlOptions): ControlRoute[] {
  return [
    {
      method: 'POST',
      path: '/sandbox/faults',
      answer: (body) => {
        onlyFields(body, ['kind', 'camera', 'relation', 'status', 'ms', 'seconds', 'way', 'count']);
        const id = faults.add({
          kind: faultKind(requiredText(body, 'kind')),
          camera: faultCamera(world, optionalText(body, 'camera')),
          relation: faultRelation(relations, optionalText(body, 'relation')),
          status: optionalNumber(body, 'status', { low: 200, high: 599, whole: true }),
          ms: optionalNumber(body, 'ms', { low: 0, high: 600_000 }),
          seconds: optionalNumber(body, 'seconds', { low: 0, high: 86_400 }),
          way: lateWay(optionalText(body, 'way')),
          count: optionalNumber(body, 'count', { low: 1, high: 1_000_000, whole: true }),
        });
        return { status: 201, body: { id } };
      },
    },
    { method: 'GET', path: '/sandbox/faults', answer: () => ({ status: 200, body: faults.list() }) },
    {
      method: 'DELETE',
      path: '/sandbox/faults',
      answer: () => {
        faults.clear();
        return { status: 204 };
      },
    },
  ];
}

/** `session expiry` and `session-expiry` are the same. */
function faultKind(text: string): FaultKind {
  const kind = FAULT_KINDS.find((known) => known === text.toLowerCase().replaceAll(/[ _]/g, '-'));
  if (kind === undefined) throw badRequest(`kind must be one of ${FAULT_KINDS.join(', ')}.`, 'kind');
  return kind;
}

function lateWay(text: string | undefined): LateWay | undefined {
  if (text === undefined) return undefined;
  const way = LATE_WAYS.find((known) => known === text);
  if (way !== undefined) return way;
  throw badRequest(`way must be one of ${LATE_WAYS.join(', ')}.`, 'way');
}

function faultCamera(world: World, key: string | undefined): Camera | undefined {
  if (key === undefined) return undefined;
  const camera = findCamera(world, key);
  if (camera !== undefined) return camera;
  throw new Refusal(404, 'CameraNotFound', 'There is no camera with this id or name.', { field: 'camera' });
}

function faultRelation(relations: readonly string[], text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const relation = relations.find((known) => known === text || known === `rel/${text}`);
  if (relation !== undefined) return relation;
  throw badRequest(`relation must be one of ${relations.join(', ')}.`, 'relation');
}

interface StateSources {
  clock: Clock;
  faults: ApiFaultInjector;
  ptz: PtzSimulator;
  sender: WebhookSender;
  sessions: LoginSessions;
  stations: Stations;
  world: World;
  versions: readonly string[];
  addresses: { url: string; rtspUrl: string };
  /** Counts of the RTSP server; `opened` = sessions since the start. */
  video: { connections: number; sessions: number; opened: number };
}

/** The answer to `GET /sandbox/state`: the state of the sandbox, without keys, passwords and phrases. */
export function stateReport(sources: StateSources): object {
  const { clock, faults, sender, sessions, world, versions, addresses, video } = sources;
  return {
    ...addresses,
    now: new Date(clock.now()).toISOString(),
    versions,
    packageCode: world.packageCode,
    sites: world.sites.map(({ id, name, state, customer, cameras }) => ({
      id,
      name,
      state,
      customerId: customer.id,
      customerName: customer.name,
      cameras: cameras.length,
    })),
    cameras: camerasOf(sources),
    stations: stationsOf(sources),
    sessions: sessions.count,
    video,
    faults: faults.list(),
    pendingDeliveries: sender.list().filter(({ state }) => state === 'pending').length,
  };
}

function camerasOf({ world, ptz }: StateSources): object[] {
  return world.cameras.map((camera) => ({
    id: camera.id,
    remoteId: camera.remoteId,
    name: camera.name,
    siteId: camera.site.id,
    status: camera.status,
    ptz: ptz.state(camera) ?? null,
  }));
}

function stationsOf({ stations, sender }: StateSources): object[] {
  const targets = sender.targets();
  return stations.list().map(({ key, name, scheme, agentUserId, agentUserTenantId }) => ({
    key,
    name,
    scheme,
    agentUserId,
    agentUserTenantId,
    endpoints: targets.filter(({ station }) => station.key === key).length,
  }));
}
