import type { NodeAPI, NodeMessage } from 'node-red';
import type { RtspWanted, WhenOffline } from '../../lib/cloud/calls';
import { idsOf } from '../../lib/cloud/cameras/camera-resolver';
import { RvmError } from '../../lib/error';
import type { RvmEvent } from '../../lib/event';
import { isRecord } from '../../lib/json/json';
import { VIEW_SECONDS } from '../../lib/limits';
import type { CloudVideo, JobOptions } from '../../lib/video/cloud-video';
import { startOf } from '../../lib/video/jobs/job';
import type { MediaStream } from '../../lib/video/media';
import type { VideoSource } from '../../lib/video/sessions/session-slots';
import type { TimeSpan, ViewCamera, ViewFacts, ViewRight } from '../../lib/video/view/signed-address';
import type { ViewPart, ViewSource } from '../../lib/video/view/visits';
import { allStations } from '../rvm-central-station/station';

/** Content of a view, and its user. */
interface ViewGrant {
  wanted: RtspWanted;
  msg: NodeMessage;
  station: { key: string; isSandbox: boolean };
  node: string;
  live: boolean;
  /** Validity in milliseconds. */
  lasting: number;
}

/**
 * The right granted by one message.
 * @throws RvmError BAD_INPUT for a time that is unreadable or in the future, EVENT_WITHOUT_CAMERA
 */
export function rightFor({ wanted, msg, station, node, live, lasting }: ViewGrant, now: number): ViewRight {
  const from = startOf(wanted, now);
  const recorded = from === undefined || wanted.mode === 'live' ? undefined : spanOf(from, wanted.preRoll);
  return {
    station: station.key,
    node,
    camera: cameraOf(wanted),
    ...(recorded && { recorded }),
    live: live || recorded === undefined,
    expires: now + lasting,
    facts: factsOf(wanted, msg, { recorded, isSandbox: station.isSandbox }),
  };
}

function spanOf(from: number, preRoll: number): TimeSpan {
  return { from, to: from + (preRoll + VIEW_SECONDS) * 1000 };
}

function cameraOf(wanted: RtspWanted): ViewCamera {
  if (wanted.mode !== 'event') return { id: wanted.camera };
  const { cameraId, remoteId } = idsOf(wanted.event);
  return { ...(cameraId !== undefined && { id: cameraId }), ...(remoteId !== undefined && { remoteId }) };
}

function factsOf(
  wanted: RtspWanted,
  { event }: NodeMessage & { event?: unknown },
  { recorded, isSandbox }: { recorded: TimeSpan | undefined; isSandbox: boolean },
): ViewFacts {
  const said: RvmEvent = wanted.mode === 'event' ? wanted.event : isRecord(event) ? event : {};
  const texts = {
    site: textOf(said.locationName),
    camera: textOf(said.cameraName),
    rule: textOf(said.eventRuleName) ?? textOf(said.eventName),
  };
  return {
    ...(recorded && wanted.mode !== 'live' && { time: recorded.from + wanted.preRoll * 1000 }),
    ...(texts.site !== undefined && { site: texts.site }),
    ...(texts.camera !== undefined && { camera: texts.camera }),
    ...(texts.rule !== undefined && { rule: texts.rule }),
    sandbox: isSandbox,
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

type WriterModule = typeof import('../../lib/video/mp4/clip-writer');
type MemoryModule = typeof import('../../lib/video/mp4/clip-destination');

/** Bytes: about half a minute of the best video. Limited because each viewer may request one. */
const LARGEST_CLIP = 64 * 1024 * 1024;

/** How the video of a view is requested. */
export interface ViewChoice {
  quality: string;
  whenOffline: WhenOffline;
  deadlineMs: number;
  waitForVideoMs: number;
}

/** The video that a right allows, from the cloud of its Central Station. */
export class ViewVideoSource implements ViewSource {
  constructor(
    private readonly RED: NodeAPI,
    private readonly right: ViewRight,
    private readonly choice: ViewChoice,
  ) {}

  async open({ kind }: { kind: ViewPart }, signal: AbortSignal): Promise<MediaStream> {
    const { video, source } = await this.#source(kind);
    return video.open(source, this.#seconds, this.#options(signal));
  }

  /** Picture of the alarm, or the current one where only live video is allowed. */
  async picture(signal: AbortSignal): Promise<Buffer> {
    const { recorded, facts } = this.right;
    const { video, source } = await this.#source(recorded === undefined ? 'live' : 'recorded');
    const alarmAt = recorded === undefined ? 0 : ((facts.time ?? recorded.from) - recorded.from) / 1000;
    const [picture] = await video.pictures(source, { offsets: [alarmAt] }, this.#options(signal));
    if (picture !== undefined) return picture.jpeg;
    throw new RvmError('VIDEO_FAILED', 'There is no picture of this time.');
  }

  async clip(signal: AbortSignal): Promise<Buffer> {
    const { ClipWriter } = require('../../lib/video/mp4/clip-writer') as WriterModule;
    const { ClipMemory } = require('../../lib/video/mp4/clip-destination') as MemoryModule;
    const memory = new ClipMemory(LARGEST_CLIP);
    const writer = new ClipWriter(memory);
    const until = this.right.recorded?.to ?? Date.now();
    try {
      const { video, source } = await this.#source('recorded');
      await video.clip(source, { until: () => until }, writer, this.#options(signal));
      await writer.finish();
      return memory.content;
    } catch (error) {
      await writer.discard();
      throw error;
    }
  }

  get #seconds(): number {
    const { recorded } = this.right;
    return recorded === undefined ? Infinity : (recorded.to - recorded.from) / 1000;
  }

  #options(signal: AbortSignal): JobOptions {
    const { deadlineMs, waitForVideoMs } = this.choice;
    return { signal, deadlineMs, waitForVideoMs };
  }

  /** @throws RvmError CONFIG_MISSING where the station no longer exists, and those of its client */
  async #source(part: ViewPart): Promise<{ video: CloudVideo; source: VideoSource }> {
    const station = allStations(this.RED).find(({ key }) => key === this.right.station);
    if (station === undefined)
      throw new RvmError('CONFIG_MISSING', 'The Central Station of this view is there no more.');
    const [video, client] = await Promise.all([station.video(), station.client()]);
    return { video, source: { client, wanted: this.#wanted(part) } };
  }

  #wanted(part: ViewPart): RtspWanted {
    const { camera, recorded } = this.right;
    const { quality, whenOffline } = this.choice;
    if (part === 'live' || recorded === undefined)
      return { mode: 'live', camera: camera.id ?? camera.remoteId ?? '', quality, whenOffline };
    const event = {
      ...(camera.id !== undefined && { cameraId: camera.id }),
      ...(camera.remoteId !== undefined && { cameraRemoteId: camera.remoteId }),
      // Format of events: UTC without a zone (specification, section 2).
      eventStartTime: new Date(recorded.from).toISOString().slice(0, -1),
    };
    return { mode: 'event', event, preRoll: 0, quality, whenOffline };
  }
}
