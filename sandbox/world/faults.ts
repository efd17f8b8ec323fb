import { randomUUID } from 'node:crypto';
import { badRequest } from '../refusal';
import type { Camera } from './sites';

export const FAULT_KINDS = [
  'latency',
  'status',
  'reset',
  'session-expiry',
  'camera-offline',
  'recording-late',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

interface FaultRequest {
  kind: FaultKind;
  /** Only requests for this camera; absent = all. */
  camera?: Camera | undefined;
  /** Only requests by this relation, such as `rel/rtsp`; absent = all. */
  relation?: string | undefined;
  /** For `status`: the HTTP status of the answer. */
  status?: number | undefined;
  /** For `latency`: milliseconds before the answer. */
  ms?: number | undefined;
  /** For `recording-late`: seconds until a recording is available, and the behaviour until then. */
  seconds?: number | undefined;
  way?: LateWay | undefined;
  /** Number of affected requests; absent = 1 for `session-expiry`, else all until the faults are cleared. */
  count?: number | undefined;
}

/**
 * Behaviour while a recording is not available yet. `code`: the service answers with an error code. `not-found`: the RTSP
 * server answers 404. `ends`: the RTSP server ends the stream before the first picture. `short`: it ends the stream where the
 * recording ends so far.
 */
export const LATE_WAYS = ['code', 'not-found', 'ends', 'short'] as const;
export type LateWay = (typeof LATE_WAYS)[number];

export interface Lateness {
  seconds: number;
  way: LateWay;
}

/** For a camera whose recordings are always late. */
const BY_NATURE: Lateness = { seconds: 4, way: 'not-found' };

interface Fault extends FaultRequest {
  id: string;
  remaining: number;
}

/** The combined effect of the faults on one request. */
export interface Disturbance {
  delayMs: number;
  status: number | undefined;
  reset: boolean;
  expireSession: boolean;
  isOffline: (camera: Camera) => boolean;
}

const MOST_FAULTS = 1000;
/** Fields without which a fault of a kind says nothing. */
const NEEDED: Partial<Record<FaultKind, 'status' | 'ms' | 'seconds'>> = {
  status: 'status',
  latency: 'ms',
  'recording-late': 'seconds',
};
/** Other relations do not check the camera's status, so they do not use up a counted `camera-offline`. */
const LOOKS_AT_STATUS = [
  'rel/devices',
  'rel/self',
  'rel/rtsp',
  'rel/snapshot',
  'rel/ptz_home',
  'rel/trigger',
  'rel/start',
  'rel/stop',
];

/** The faults that are switched on, in the order in which they were added. */
export class ApiFaultInjector {
  #faults: Fault[] = [];

  /**
   * @returns the id of the fault
   * @throws Refusal 400 if a required field is missing, or there are too many faults
   */
  add(request: FaultRequest): string {
    const needed = NEEDED[request.kind];
    if (needed !== undefined && request[needed] === undefined)
      throw badRequest(`${needed} is missing.`, needed);
    if (this.#faults.length >= MOST_FAULTS) throw badRequest('There are too many faults; DELETE them first.');
    const once = request.kind === 'session-expiry' ? 1 : Infinity;
    const id = randomUUID();
    this.#faults.push({ ...request, id, remaining: request.count ?? once });
    return id;
  }

  clear(): void {
    this.#faults = [];
  }

  list(): object[] {
    return this.#faults.map(({ count: _given, camera, remaining, ...fault }) => ({
      ...fault,
      camera: camera?.id,
      remaining: Number.isFinite(remaining) ? remaining : null,
    }));
  }

  /** Delay of the recordings of a camera; undefined = they are available at once. */
  lateness(camera: Camera): Lateness | undefined {
    const fault = this.#faults.find(
      ({ kind, camera: only }) => kind === 'recording-late' && (only === undefined || only === camera),
    );
    if (fault === undefined) return camera.recordsLate ? BY_NATURE : undefined;
    return { seconds: fault.seconds ?? 0, way: fault.way ?? 'code' };
  }

  /** The effect of the faults on a request. Each matching fault uses up one of its `count`. */
  meet(relation: string, camera: Camera | undefined): Disturbance {
    const met = this.#faults.filter((fault) => meets(fault, relation, camera));
    for (const fault of met) fault.remaining--;
    this.#faults = this.#faults.filter((fault) => fault.remaining > 0);
    const offline = met.filter((fault) => fault.kind === 'camera-offline');
    return {
      delayMs: met.reduce((sum, fault) => sum + (fault.kind === 'latency' ? (fault.ms ?? 0) : 0), 0),
      status: met.find((fault) => fault.kind === 'status')?.status,
      reset: met.some((fault) => fault.kind === 'reset'),
      expireSession: met.some((fault) => fault.kind === 'session-expiry'),
      isOffline: (camera) => offline.some((fault) => fault.camera === undefined || fault.camera === camera),
    };
  }
}

function meets(fault: Fault, relation: string, camera: Camera | undefined): boolean {
  if (fault.kind === 'recording-late') return false;
  if (fault.relation !== undefined && fault.relation !== relation) return false;
  if (fault.kind !== 'camera-offline') return fault.camera === undefined || fault.camera === camera;
  if (!LOOKS_AT_STATUS.includes(relation)) return false;
  return fault.camera === undefined || camera === undefined || fault.camera === camera;
}
