import type { Node, NodeAPI, NodeDef, NodeMessageInFlow, NodeStatus } from 'node-red';
import type { CallOptions } from '../../lib/cloud/calls';
import type { StationClient } from '../../lib/cloud/station-client';
import type { Device } from '../../lib/device';
import { copyOfJson } from '../../lib/json/json';
import { DEADLINE_S, VIDEO_DEADLINE_S, VIDEO_WAIT_S } from '../../lib/limits';
import type { CloudVideo, JobOptions, Progress } from '../../lib/video/cloud-video';
import { allInboxes, extendLease } from '../rvm-inbox/inboxes';
import { FailureStatus, type Messages, onInput } from '../support/input';
import {
  type Properties,
  strictNumberOf,
  textOf,
  unsetTogether,
  unsetVariableError,
  unsetVariables,
} from '../support/settings';
import { showFromStart, status, unsetStatus } from '../support/status';
import { LastStation, type Station, stationById, stationOfMessage } from './station';

/**
 * What a node that calls the service does with one message: it changes that, or returns those that leave in its place.
 * `options` go with each call: they tell how long the message may take, and that the node closes.
 */
export type ServiceWork = (
  msg: NodeMessageInFlow,
  client: StationClient,
  options: CallOptions,
  station: Station,
) => Promise<Messages | void>;

interface ServiceNodeOptions {
  /** Seconds that a message may take where the node does not say. */
  deadlineS?: number;
  /** What this node lacks beyond its station; undefined where it lacks nothing. */
  lack?: () => NodeStatus | undefined;
}

/**
 * What all nodes that call the service share: the station of the message, its status on the node and that of the last failure,
 * the two outputs, the deadline, and the refusal of variables that are not set.
 * @returns what it shows
 */
export function serviceNode(
  RED: NodeAPI,
  node: Node,
  config: NodeDef,
  work: ServiceWork,
  { deadlineS = DEADLINE_S, lack = () => undefined }: ServiceNodeOptions = {},
): FailureStatus {
  const properties: Properties = { ...config };
  const stationId = textOf(properties, 'station');
  const station = stationById(RED, stationId);
  const ofNode = unsetVariables(config);
  const unset = ofNode && unsetTogether(ofNode, station?.unsetVariables);
  const last = stationId === '' && unset === undefined ? new LastStation(RED, node) : undefined;

  const own = (): NodeStatus => {
    if (unset !== undefined) return unsetStatus(RED, unset);
    const lacking = lack();
    if (lacking !== undefined) return lacking;
    if (last !== undefined) return last.status();
    return station?.status() ?? status(RED, 'notConfigured');
  };
  const shown = new FailureStatus(node, own);
  const show = (): void => shown.show();
  if (last !== undefined) last.onChange(show);
  else showFromStart(RED, node, () => shown.current());
  if (unset === undefined) station?.serve(node, show);

  const answer = async (msg: NodeMessageInFlow, signal: AbortSignal): Promise<Messages | void> => {
    if (unset !== undefined) throw unsetVariableError(unset);
    const wanted = stationOfMessage(RED, stationId, msg);
    last?.follow(wanted);
    const deadlineMs = strictNumberOf(properties, 'deadline', deadlineS, 1) * 1000;
    return work(msg, await wanted.client(), { signal, deadlineMs }, wanted);
  };
  onInput(node, answer, (failure) => shown.ended(failure));
  return shown;
}

/** What a video node works with. */
export interface VideoCall {
  station: Station;
  client: StationClient;
  video: CloudVideo;
  options: JobOptions;
}

/** What a video node does with one message: it changes that, or returns those that leave in its place. */
type VideoWork = (msg: NodeMessageInFlow, call: VideoCall) => Promise<Messages | void>;

/**
 * What all nodes share that make something of video: beyond what every node has that calls the service, the time to wait for the
 * recording, the lease of the event while its video is made, and the progress in the status.
 */
export function videoNode(
  RED: NodeAPI,
  node: Node,
  config: NodeDef,
  work: VideoWork,
  lack?: ServiceNodeOptions['lack'],
): FailureStatus {
  const properties: Properties = { ...config };
  let running = 0;

  const answer = async (
    msg: NodeMessageInFlow,
    client: StationClient,
    options: { signal?: AbortSignal; deadlineMs?: number },
    station: Station,
  ): Promise<Messages | void> => {
    const { signal = new AbortController().signal, deadlineMs = VIDEO_DEADLINE_S * 1000 } = options;
    const waitForVideoMs = strictNumberOf(properties, 'waitForVideo', VIDEO_WAIT_S) * 1000;
    const onProgress = (progress: Progress): void => shown.progress(progressStatus(RED, progress));
    const release = extendLease(allInboxes, msg);
    running += 1;
    try {
      const video = await station.video();
      return await work(msg, {
        station,
        client,
        video,
        options: { signal, deadlineMs, waitForVideoMs, onProgress },
      });
    } finally {
      running -= 1;
      release();
      if (running === 0) shown.progress(undefined);
    }
  };
  const shown = serviceNode(RED, node, config, answer, {
    deadlineS: VIDEO_DEADLINE_S,
    ...(lack && { lack }),
  });
  return shown;
}

function progressStatus(RED: NodeAPI, progress: Progress): NodeStatus {
  switch (progress.kind) {
    case 'opening':
      return status(RED, 'openingVideo');
    case 'waiting':
      return status(RED, 'waitingForVideo');
    case 'reading': {
      const seconds = Math.floor(progress.seconds);
      if (progress.of === undefined) return status(RED, 'readingVideo', { seconds });
      return status(RED, 'readingVideoOf', { seconds, of: Math.ceil(progress.of) });
    }
    default:
      return progress satisfies never;
  }
}

/**
 * A device as a flow gets it: a copy, for the records are those of the directory, and a flow may change what it gets.
 * The links of the service only where they are asked for.
 */
export function deviceCopy(device: Device, links = false): Omit<Device, '_links'> {
  if (links) return copyOfJson(device);
  const { _links, ...rest } = device;
  return copyOfJson(rest);
}
