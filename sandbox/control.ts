import {
  type Answer,
  type Body,
  type Call,
  jsonBody,
  matchPath,
  onlyFields,
  optionalNumber,
  optionalText,
  requiredText,
  withMethod,
} from './api/http-server';
import type { PtzSimulator } from './api/ptz';
import type { LoginSessions } from './api/service';
import { badRequest, Refusal } from './refusal';
import type { RtspServer } from './rtsp/server';
import { isLoopback } from './text';
import { type Alarms, MOST_SECONDS } from './webhooks/alarms';
import type { WebhookSender } from './webhooks/sender';
import { FAULT_KINDS, LATE_WAYS } from './world/faults';
import type { World } from './world/world';

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

/** The parts of the sandbox that control calls use. */
interface ControlParts {
  world: World;
  alarms: Alarms;
  sender: WebhookSender;
  sessions: LoginSessions;
  ptz: PtzSimulator;
  rtsp: RtspServer;
  versions: readonly string[];
  /** Relations of the service; a fault may be limited to one. */
  relations: readonly string[];
  /** Its addresses, once they are known. */
  sandbox: { readonly url: string; readonly rtspUrl: string };
}

interface ControlRoute {
  method: string;
  path: string;
  answer: (body: Body, parameters: Readonly<Record<string, string>>) => Answer | Promise<Answer>;
}

const LONGEST_ADVANCE_S = 366 * 86_400;

/** The control calls below `/sandbox/`, for tests and demos. */
export class Control {
  readonly #routes: readonly ControlRoute[];

  constructor(parts: ControlParts) {
    this.#routes = [...alarmRoutes(parts), ...faultRoutes(parts), ...onboardingRoutes(parts)];
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
    const { route, parameters } = withMethod(matches, call.method, 'There is no such control call.');
    return route.answer(jsonBody(call.body), parameters);
  }
}

function route(method: string, path: string, answer: ControlRoute['answer']): ControlRoute {
  return { method, path: `/sandbox/${path}`, answer };
}

function ok(body: unknown): Answer {
  return { status: 200, body };
}

function alarmRoutes(parts: ControlParts): ControlRoute[] {
  const { alarms, sender } = parts;
  const { clock } = parts.world;
  return [
    route('POST', 'alarms', (body) => {
      onlyFields(body, ['camera', 'eventClass', 'eventName', 'seconds']);
      const raised = alarms.raise({
        camera: optionalText(body, 'camera'),
        eventClass: optionalText(body, 'eventClass'),
        eventName: optionalText(body, 'eventName'),
        seconds: optionalNumber(body, 'seconds', { low: 0, high: MOST_SECONDS }),
      });
      return ok(raised);
    }),
    route('GET', 'deliveries', () => ok(sender.list())),
    route('POST', 'clock', async (body) => {
      onlyFields(body, ['advance']);
      const seconds = optionalNumber(body, 'advance', { low: 0, high: LONGEST_ADVANCE_S });
      if (seconds === undefined) throw badRequest('advance is missing: seconds.', 'advance');
      await clock.advance(seconds);
      return ok({ now: new Date(clock.now()).toISOString() });
    }),
    route('GET', 'state', () => ok(stateReport(parts))),
  ];
}

function onboardingRoutes({ world }: ControlParts): ControlRoute[] {
  return [
    route('POST', 'packages', (body) => {
      onlyFields(body, ['code', 'siteId']);
      return ok(world.applyCode(requiredText(body, 'code'), requiredText(body, 'siteId')));
    }),
    route('GET', 'customers', () => ok(world.customers())),
    route('POST', 'customers/:id/accept', (_, parameters) => ok(world.accept(parameters['id'] ?? ''))),
  ];
}

function faultRoutes({ world, relations }: ControlParts): ControlRoute[] {
  const { faults } = world;
  return [
    route('POST', 'faults', (body) => {
      onlyFields(body, ['kind', 'camera', 'relation', 'status', 'ms', 'seconds', 'way', 'count']);
      // `session expiry` and `session-expiry` are the same.
      const kind = requiredText(body, 'kind').toLowerCase().replaceAll(/[ _]/g, '-');
      const [camera, relation, way] = ['camera', 'relation', 'way'].map((name) => optionalText(body, name));
      const isRelation = (each: string): boolean => each === relation || each === `rel/${relation}`;
      const id = faults.add({
        kind: oneOf('kind', FAULT_KINDS, (each) => each === kind),
        camera: camera === undefined ? undefined : world.camera(camera),
        relation: relation === undefined ? undefined : oneOf('relation', relations, isRelation),
        status: optionalNumber(body, 'status', { low: 200, high: 599, whole: true }),
        ms: optionalNumber(body, 'ms', { low: 0, high: 600_000 }),
        seconds: optionalNumber(body, 'seconds', { low: 0, high: 86_400 }),
        way: way === undefined ? undefined : oneOf('way', LATE_WAYS, (each) => each === way),
        count: optionalNumber(body, 'count', { low: 1, high: 1_000_000, whole: true }),
      });
      return { status: 201, body: { id } };
    }),
    route('GET', 'faults', () => ok(faults.list())),
    route('DELETE', 'faults', () => {
      faults.clear();
      return { status: 204 };
    }),
  ];
}

/** @throws Refusal 400 for a text that means none of those that are known */
function oneOf<Choice extends string>(
  field: string,
  known: readonly Choice[],
  isMeant: (choice: Choice) => boolean,
): Choice {
  const choice = known.find(isMeant);
  if (choice !== undefined) return choice;
  throw badRequest(`${field} must be one of ${known.join(', ')}.`, field);
}

/** The answer to `GET /sandbox/state`: the state of the sandbox, without keys, passwords and phrases. */
function stateReport({ world, sender, sessions, ptz, rtsp, versions, sandbox }: ControlParts): object {
  const targets = sender.targets();
  return {
    url: sandbox.url,
    rtspUrl: sandbox.rtspUrl,
    now: new Date(world.clock.now()).toISOString(),
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
    cameras: world.cameras.map((camera) => {
      const { id, remoteId, name, site, status } = camera;
      return { id, remoteId, name, siteId: site.id, status, ptz: ptz.state(camera) ?? null };
    }),
    stations: world.stations.list().map(({ key, name, scheme, agentUserId, agentUserTenantId }) => {
      const endpoints = targets.filter(({ station }) => station.key === key).length;
      return { key, name, scheme, agentUserId, agentUserTenantId, endpoints };
    }),
    sessions: sessions.count,
    video: { connections: rtsp.connectionCount, sessions: rtsp.sessionCount, opened: rtsp.openedCount },
    faults: world.faults.list(),
    pendingDeliveries: sender.list().filter(({ state }) => state === 'pending').length,
  };
}
