import { Refusal } from '../refusal';
import type { Camera, PtzTarget } from '../world/sites';
import type { Answer } from './http-server';
import { get, type ServiceRequest, type ServiceRoute } from './service';

/** The state of a PTZ camera after its last command. */
interface PtzState {
  /** `home`, or `preset <id>`. */
  position: string;
  /** Id of the running tour. */
  tour: number | null;
}

/** Presets, tours and the home position of the PTZ cameras. */
export class PtzSimulator {
  readonly #states = new Map<string, PtzState>();

  /** Undefined for a fixed camera. */
  state(camera: Camera): PtzState | undefined {
    if (camera.ptz === undefined) return undefined;
    return this.#states.get(camera.id) ?? { position: 'home', tour: null };
  }

  routes(): ServiceRoute[] {
    return [
      get('devices/:camera/ptz-presets', 'rel/ptz_presets', (request) =>
        targets(request, 'presets', ['trigger']),
      ),
      get('devices/:camera/ptz-tours', 'rel/ptz_tours', (request) =>
        targets(request, 'tours', ['start', 'stop']),
      ),
      this.#command('ptz-home', 'rel/ptz_home', () => ({ position: 'home', tour: null })),
      this.#command('ptz-presets/:target/trigger', 'rel/trigger', (request, camera) => {
        const preset = target(request, ptzOf(camera).presets);
        return { position: `preset ${preset.id}`, tour: null };
      }),
      this.#command('ptz-tours/:target/start', 'rel/start', (request, camera, before) => {
        const tour = target(request, ptzOf(camera).tours);
        return { ...before, tour: tour.id };
      }),
      this.#command('ptz-tours/:target/stop', 'rel/stop', (request, camera, before) => {
        const tour = target(request, ptzOf(camera).tours);
        return { ...before, tour: before.tour === tour.id ? null : before.tour };
      }),
    ];
  }

  #command(
    path: string,
    relation: string,
    next: (request: ServiceRequest, camera: Camera, before: PtzState) => PtzState,
  ): ServiceRoute {
    const answer = (request: ServiceRequest): Answer => {
      const camera = request.camera();
      const before = this.state(camera);
      if (before === undefined) throw noPtz();
      this.#states.set(camera.id, next(request, request.onlineCamera(), before));
      return { status: 204 };
    };
    return { method: 'POST', path: `devices/:camera/${path}`, relation, answer };
  }
}

/** The list of presets or tours, each with a link for each of its commands. */
function targets(request: ServiceRequest, kind: 'presets' | 'tours', commands: readonly string[]): Answer {
  const camera = request.camera();
  const path = `devices/${camera.id}/ptz-${kind}`;
  const list = ptzOf(camera)[kind].map(({ id, name }) => {
    const linkOf = (command: string): string => request.link(`${path}/${id}/${command}`);
    const links: [string, string][] = commands.map((command) => [`rel/${command}`, linkOf(command)]);
    return { id, name, _links: Object.fromEntries(links) };
  });
  const _type = kind === 'presets' ? 'PtzPresets' : 'PtzTours';
  return {
    status: 200,
    body: { [`ptz_${kind}`]: list, _links: { 'rel/self': request.link(path) }, _type },
  };
}

function ptzOf(camera: Camera): NonNullable<Camera['ptz']> {
  if (camera.ptz === undefined) throw noPtz();
  return camera.ptz;
}

function noPtz(): Refusal {
  return new Refusal(404, 'NoPtz', 'This camera is fixed: it has no presets, tours or home position.');
}

function target(request: ServiceRequest, list: readonly PtzTarget[]): PtzTarget {
  const found = list.find(({ id }) => String(id) === request.parameters['target']);
  if (found === undefined) throw new Refusal(404, 'TargetNotFound', 'There is no such preset or tour.');
  return found;
}
