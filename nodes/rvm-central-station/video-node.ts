import type { Node, NodeAPI, NodeDef, NodeMessageInFlow, NodeStatus } from 'node-red';
import type { CloudVideo, JobOptions, Progress } from '../../lib/video/cloud-video';
import { VIDEO_DEADLINE_S, VIDEO_WAIT_S } from '../../lib/limits';
import type { StationClient } from '../../lib/cloud/station-client';
import { allInboxes } from '../rvm-inbox/inboxes';
import { holdEvent } from '../support/hold-event';
import type { FailureStatus, Messages } from '../support/input';
import { strictNumberOf, type Properties } from '../support/settings';
import { status } from '../support/status';
import { serviceNode, type ServiceNodeOptions } from './service-node';
import type { Station } from './station';

/** What a video node works with. */
export interface VideoCall {
  station: Station;
  client: StationClient;
  video: CloudVideo;
  options: JobOptions;
}

/** What a video node does with one message: it changes that, or returns those that leave in its place. */
export type VideoWork = (msg: NodeMessageInFlow, call: VideoCall) => Promise<Messages | void>;

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
    const release = holdEvent(allInboxes, msg);
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
