import { randomUUID } from 'node:crypto';
import { badRequest, Refusal } from '../refusal';
import { SeededChoice } from '../world/seeded';
import type { Camera, Site } from '../world/sites';
import type { World } from '../world/world';
import { type Occurrence, payloadOf } from './message';
import type { WebhookSender } from './sender';

export interface AlarmRequest {
  /** Id, remote id or exact name; absent = any camera that is online, or none for a `health` event. */
  camera?: string;
  /** `security` (default) or `health`. */
  eventClass?: string;
  eventName?: string;
  /** Seconds until the alarm ends, which a second message reports; default 20. */
  seconds?: number;
}

const DEFAULT_SECONDS = 20;
/** Longest duration of an alarm: one day. */
export const MOST_SECONDS = 86_400;
const SECURITY_RULES = [
  { eventName: 'Person at the fence', eventType: 'ObjectEntered' },
  { eventName: 'Vehicle in the yard', eventType: 'ObjectPresent' },
  { eventName: 'Loitering at night', eventType: 'ObjectLoitering' },
  { eventName: 'Wrong direction', eventType: 'WrongDirection' },
];
const CAMERA_HEALTH = [
  { eventName: 'Video signal lost', eventType: 'VideoSignalLost' },
  { eventName: 'Camera disconnected', eventType: 'DeviceDisconnected' },
];
const SERVER_HEALTH = [{ eventName: 'Server storage low', eventType: 'ServerStorageLow' }];

/** Raises alarms and sends them to every endpoint. Each alarm ends after a time, by the sandbox's clock. */
export class Alarms {
  readonly #choice: SeededChoice;

  constructor(
    private readonly world: World,
    private readonly sender: WebhookSender,
    seed: number,
  ) {
    this.#choice = new SeededChoice(seed);
  }

  /**
   * Raises one alarm. Every endpoint gets a message of its own.
   * @returns `messageId` is that of the start message to the first endpoint
   * @throws Refusal 400, 404 or 409
   */
  raise(request: AlarmRequest): { alarmId: string; messageId: string } {
    const { clock } = this.world;
    const eventClass = eventClassOf(request.eventClass);
    const seconds = secondsOf(request.seconds);
    const camera = this.#cameraFor(request.camera, eventClass);
    const startedAt = clock.now();
    const rule = this.#choice.pick(rulesFor(eventClass, camera));
    const occurrence: Occurrence = {
      alarmId: randomUUID(),
      eventClass,
      eventName: request.eventName || (rule?.eventName ?? ''),
      eventType: rule?.eventType ?? '',
      site: camera?.site ?? this.#anySite(),
      camera,
      clip: eventClass === 'security' ? this.#record(camera, startedAt) : undefined,
      startedAt,
    };
    const messageId = this.#eventText(occurrence, undefined);
    clock.schedule(seconds * 1000, () => void this.#eventText(occurrence, clock.now()));
    return { alarmId: occurrence.alarmId, messageId };
  }

  /** Registers the alarm, so that the recording and the clip show an intruder. */
  #record(camera: Camera | undefined, startedAt: number): Occurrence['clip'] {
    if (camera === undefined) return undefined;
    this.world.incidents.add(camera.id, startedAt);
    return this.world.clips.add({ camera, startedAt });
  }

  /** True while there is an endpoint to send them to. */
  get areHeard(): boolean {
    return this.sender.targets().length > 0;
  }

  /** Raises a random alarm: four of five are security alarms of a camera, the others are health events. */
  raiseAny(): void {
    if (this.#onlineCameras().length === 0) return;
    const kind = this.#choice.below(10);
    if (kind > 1) this.raise({});
    else if (kind === 1) this.raise({ eventClass: 'health' });
    else this.raise({ eventClass: 'health', camera: this.#anyCamera().id });
  }

  #eventText(occurrence: Occurrence, endedAt: number | undefined): string {
    const messageIds = this.sender.targets().map((target) => {
      const message = {
        messageId: randomUUID(),
        logCorrelationId: randomUUID(),
        payload: payloadOf(occurrence, target.station, endedAt),
      };
      const occurredAt = endedAt ?? occurrence.startedAt;
      this.sender.send(target, { alarmId: occurrence.alarmId, occurredAt, message });
      return message.messageId;
    });
    return messageIds[0] ?? randomUUID();
  }

  #cameraFor(key: string | undefined, eventClass: 'security' | 'health'): Camera | undefined {
    if (key === undefined || key === '') return eventClass === 'health' ? undefined : this.#anyCamera();
    const camera = this.world.camera(key);
    if (camera.site.state === 'accepted') return camera;
    const message = 'The site of this camera is not accepted yet: it sends nothing.';
    throw new Refusal(409, 'SiteNotAccepted', message, { field: 'camera' });
  }

  #anyCamera(): Camera {
    const camera = this.#choice.pick(this.#onlineCameras());
    if (camera !== undefined) return camera;
    throw new Refusal(409, 'NoCamera', 'No accepted site has a camera that is online.');
  }

  #onlineCameras(): Camera[] {
    return this.world.accessibleCameras().filter(({ status }) => status === 'online');
  }

  #anySite(): Site {
    const site = this.#choice.pick(this.world.sites.filter(({ state }) => state === 'accepted'));
    if (site !== undefined) return site;
    throw new Refusal(409, 'NoSite', 'No site is accepted yet: none sends anything.');
  }
}

function eventClassOf(text: string | undefined): 'security' | 'health' {
  if (text === undefined || text === '') return 'security';
  if (text === 'security' || text === 'health') return text;
  throw badRequest('eventClass must be security or health.', 'eventClass');
}

function secondsOf(seconds: number | undefined): number {
  if (seconds === undefined) return DEFAULT_SECONDS;
  if (seconds >= 0 && seconds <= MOST_SECONDS) return seconds;
  throw badRequest(`seconds must be a number from 0 to ${MOST_SECONDS}.`, 'seconds');
}

function rulesFor(eventClass: 'security' | 'health', camera: Camera | undefined): typeof SECURITY_RULES {
  if (eventClass === 'security') return SECURITY_RULES;
  return camera === undefined ? SERVER_HEALTH : CAMERA_HEALTH;
}

/** The first alarm comes soon, so that a newly deployed flow shows activity. */
const FIRST_AFTER_MS = 2000;
const LONGEST_INTERVAL_MS = 24 * 3_600_000;

/**
 * Raises alarms at a constant rate while there is an endpoint. It uses real time, not the sandbox's clock: advancing the clock
 * by a day must not raise a day's alarms.
 */
export class AlarmRhythm {
  readonly #intervalMs: number;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  /** `perMinute` 0 = never. */
  constructor(
    perMinute: number,
    private readonly alarms: Alarms,
  ) {
    this.#intervalMs = perMinute > 0 ? Math.min(60_000 / perMinute, LONGEST_INTERVAL_MS) : 0;
  }

  /** Starts, unless already running. Stops by itself when there is no endpoint. */
  begin(): void {
    if (this.#intervalMs === 0 || this.#timer !== undefined || this.#stopped) return;
    this.#after(Math.min(this.#intervalMs, FIRST_AFTER_MS));
  }

  /** Stops permanently; `begin` has no effect afterwards. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #after(milliseconds: number): void {
    this.#timer = setTimeout(() => this.#beat(), milliseconds);
  }

  #beat(): void {
    this.#timer = undefined;
    if (!this.alarms.areHeard) return;
    this.#after(this.#intervalMs);
    this.alarms.raiseAny();
  }
}
