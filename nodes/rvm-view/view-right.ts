import type { NodeMessage } from 'node-red';
import type { RtspWanted } from '../../lib/cloud/calls';
import { idsOf } from '../../lib/cloud/cameras/camera-resolver';
import type { RvmEvent } from '../../lib/event';
import { isRecord } from '../../lib/json/json';
import { VIEW_SECONDS } from '../../lib/limits';
import { startOf } from '../../lib/video/jobs/job';
import type { TimeSpan, ViewCamera, ViewFacts, ViewRight } from '../../lib/video/view/signed-address';

/** What a view is of, and for whom. */
export interface ViewGrant {
  wanted: RtspWanted;
  msg: NodeMessage;
  station: { key: string; isSandbox: boolean };
  node: string;
  live: boolean;
  /** Milliseconds. */
  lasting: number;
}

/**
 * The right that one message gives.
 * @throws RvmError BAD_INPUT for a time that cannot be read or lies in the future, EVENT_WITHOUT_CAMERA
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
