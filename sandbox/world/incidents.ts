import { randomUUID } from 'node:crypto';
import { visitOf } from '../scene/packs';
import type { View } from '../scene/scenes';
import type { Camera } from './sites';

/** Beyond this number the oldest are deleted. */
const MOST_INCIDENTS = 5000;
/** Every picture shows this word already, so the caption omits it. */
const MARK = /^SANDBOX /;

/** The epoch seconds at which alarms began, per camera and in order of arrival. */
export class Incidents {
  readonly #seconds = new Map<string, number[]>();
  #count = 0;

  /** `at` in epoch milliseconds. */
  add(cameraId: string, at: number): void {
    const list = this.#seconds.get(cameraId) ?? [];
    this.#seconds.delete(cameraId);
    list.push(Math.floor(at / 1000));
    // Inserted again, at the end: the camera with the oldest last alarm comes first.
    this.#seconds.set(cameraId, list);
    this.#count++;
    if (this.#count > MOST_INCIDENTS) this.#forgetOldest();
  }

  /** Epoch seconds of the alarms of a camera, latest first. */
  of(cameraId: string): readonly number[] {
    return this.#seconds.get(cameraId)?.toReversed() ?? [];
  }

  /** What a camera shows: its scene, with an intruder at the start of each of its alarms. */
  viewOf({ id, name, scene, sound }: Camera): View {
    const intruder = (second: number): number | undefined =>
      this.of(id)
        .map((alarm) => visitOf(alarm, second))
        .find((visit) => visit !== undefined);
    return { scene, sound, label: name.replace(MARK, ''), intruder };
  }

  #forgetOldest(): void {
    const [oldest] = this.#seconds;
    if (oldest === undefined) return;
    const [cameraId, seconds] = oldest;
    seconds.shift();
    this.#count--;
    if (seconds.length === 0) this.#seconds.delete(cameraId);
  }
}

/** Beyond this number the oldest are deleted. */
const MOST_CLIPS = 2000;

interface Clip {
  camera: Camera;
  /** Of the alarm, in epoch milliseconds. */
  startedAt: number;
}

/** The clips of alarms by their unguessable ids. */
export class Clips {
  /** Where they are served, once that is known. */
  origin = '';
  readonly #clips = new Map<string, Clip>();

  add(clip: Clip): { clipId: string; clipUri: string } {
    const clipId = randomUUID();
    this.#clips.set(clipId, clip);
    const [oldest] = this.#clips.keys();
    if (this.#clips.size > MOST_CLIPS && oldest !== undefined) this.#clips.delete(oldest);
    return { clipId, clipUri: `${this.origin}/clips/${clipId}` };
  }

  find(id: string): Clip | undefined {
    return this.#clips.get(id);
  }
}
