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
 * Handles one message of a node that calls the service: changes the message, or returns the messages to send instead. `options`
 * belong to each call: deadline of the message, and the signal that the node closes.
 */
export type ServiceWork = (
  msg: NodeMessageInFlow,
  client: StationClient,
  options: CallOptions,
  station: Station,
) => Promise<Messages | void>;

interface ServiceNodeOptions {
  /** Default deadline of a message in seconds, where the node sets none. */
  deadlineS?: number;
  /** Status for settings that the node itself lacks; undefined where nothing is missing. */
  lack?: () => NodeStatus | undefined;
}

/**
 * Common part of all nodes that call the service: the station of the message, the status on the node and of the last failure,
 * the two outputs, the deadline, and the error for variables that are not set.
 * @returns the status that the node shows
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

export interface VideoCall {
  station: Station;
  client: StationClient;
  video: CloudVideo;
  options: JobOptions;
}

/** Handles one message of a video node: changes the message, or returns the messages to send instead. */
type VideoWork = (msg: NodeMessageInFlow, call: VideoCall) => Promise<Messages | void>;

/**
 * Common part of all video nodes. Adds to `serviceNode` the time to wait for the recording, the lease of the event while its
 * video is made, and the progress in the status.
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
 * Copies a device for a flow: a flow may change its copy, and the records belong to the device directory. Links of the service
 * are included only on request.
 */
export function deviceCopy(device: Device, links = false): Omit<Device, '_links'> {
  if (links) return copyOfJson(device);
  const { _links, ...rest } = device;
  return copyOfJson(rest);
}
