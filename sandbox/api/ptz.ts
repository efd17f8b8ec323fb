import type { Answer } from './http-server';
import { Refusal } from '../refusal';
import type { ServiceRequest, ServiceRoute } from './service';
import type { Camera, PtzTarget } from '../world/world';

/** The state of a PTZ camera after its last command. */
interface PtzState {
  /** `home`, or `preset <id>`. */
  position: string;
  /** Id of the running tour. */
  tour: number | null;
}

const ACCEPTED: Answer = { status: 204 };

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
      { method: 'GET', path: 'devices/:camera/ptz-presets', relation: 'rel/ptz_presets', answer: presets },
      { method: 'GET', path: 'devices/:camera/ptz-tours', relation: 'rel/ptz_tours', answer: tours },
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
    return {
      method: 'POST',
      path: `devices/:camera/${path}`,
      relation,
      answer: (request) => {
        const camera = request.camera();
        const before = this.state(camera);
        if (before === undefined) throw noPtz();
        this.#states.set(camera.id, next(request, request.onlineCamera(), before));
        return ACCEPTED;
      },
    };
  }
}

function presets(request: ServiceRequest): Answer {
  const camera = request.camera();
  const path = `devices/${camera.id}/ptz-presets`;
  const list = ptzOf(camera).presets.map(({ id, name }) => ({
    id,
    name,
    _links: { 'rel/trigger': request.link(`${path}/${id}/trigger`) },
  }));
  const body = { ptz_presets: list, _links: { 'rel/self': request.link(path) }, _type: 'PtzPresets' };
  return { status: 200, body };
}

function tours(request: ServiceRequest): Answer {
  const camera = request.camera();
  const path = `devices/${camera.id}/ptz-tours`;
  const list = ptzOf(camera).tours.map(({ id, name }) => ({
    id,
    name,
    _links: {
      'rel/start': request.link(`${path}/${id}/start`),
      'rel/stop': request.link(`${path}/${id}/stop`),
    },
  }));
  const body = { ptz_tours: list, _links: { 'rel/self': request.link(path) }, _type: 'PtzTours' };
  return { status: 200, body };
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
