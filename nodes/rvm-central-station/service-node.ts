import type { Node, NodeAPI, NodeDef, NodeMessageInFlow, NodeStatus } from 'node-red';
import type { CallOptions } from '../../lib/cloud/calls';
import type { StationClient } from '../../lib/cloud/station-client';
import type { Device } from '../../lib/device';
import { copyOfJson } from '../../lib/json/json';
import { DEADLINE_S, VIDEO_DEADLINE_S, VIDEO_WAIT_S } from '../../lib/limits';
import type { CloudVideo, JobOptions, Progress } from '../../lib/video/cloud-video';
import { allInboxes, extendLease } from '../rvm-inbox/inboxes';
import { FailureStatus, type Messages, onInput } from '../support/input';
import { onFlowsState } from '../support/flows';
import {
  type Properties,
  strictNumberOf,
  textOf,
  unsetTogether,
  unsetVariableError,
  unsetVariables,
} from '../support/settings';
import { showFromStart, status, unsetStatus } from '../support/status';
import { allStations, type Station, stationById, stationOfMessage } from './station';

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
  const show = (): void => shown.show();
  const last = stationId === '' && unset === undefined ? new LastStation(RED, node, show) : undefined;

  const own = (): NodeStatus => {
    if (unset !== undefined) return unsetStatus(RED, unset);
    const lacking = lack();
    if (lacking !== undefined) return lacking;
    if (last !== undefined) return last.status();
    return station?.status() ?? status(RED, 'notConfigured');
  };
  const shown = new FailureStatus(node, own);
  if (last === undefined) showFromStart(RED, node, () => shown.current());
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

  const answer: ServiceWork = async (msg, client, options, station) => {
    const { signal = new AbortController().signal, deadlineMs = VIDEO_DEADLINE_S * 1000 } = options;
    const waitForVideoMs = strictNumberOf(properties, 'waitForVideo', VIDEO_WAIT_S) * 1000;
    const onProgress = (progress: Progress): void => shown.progress(progressStatus(RED, progress));
    const release = extendLease(allInboxes, msg);
    running += 1;
    try {
      const video = await station.video();
      const job = { signal, deadlineMs, waitForVideoMs, onProgress };
      return await work(msg, { station, client, video, options: job });
    } finally {
      running -= 1;
      release();
      if (running === 0) shown.progress(undefined);
    }
  };
  const shown = serviceNode(RED, node, config, answer, { deadlineS: VIDEO_DEADLINE_S, lack });
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

/**
 * Status source of a node without a station of its own: it follows the station of the last message, so that a service that
 * recovers shows without another message. Before the first message it shows the only station, if there is exactly one. A deploy
 * that does not touch the node may replace or remove the station.
 */
class LastStation {
  #station: Station | undefined;
  #unwatch: (() => void) | undefined;

  /** @param changed called when the status may have changed */
  constructor(
    private readonly RED: NodeAPI,
    node: Node,
    private readonly changed: () => void,
  ) {
    node.on(
      'close',
      onFlowsState(RED, 'started', () => this.#lookAgain()),
    );
    node.on('close', () => this.#unwatch?.());
  }

  /** Status of the station; empty where there is none. */
  status(): NodeStatus {
    return this.#station?.status() ?? {};
  }

  follow(station: Station | undefined): void {
    if (station !== undefined && station === this.#station) return;
    this.#unwatch?.();
    this.#station = station;
    this.#unwatch = station?.watch(this.changed);
    this.changed();
  }

  #lookAgain(): void {
    const all = allStations(this.RED);
    const key = this.#station?.key;
    this.follow(key === undefined && all.length === 1 ? all[0] : all.find((each) => each.key === key));
  }
}
