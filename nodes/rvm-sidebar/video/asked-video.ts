import type { NodeAPI } from 'node-red';
import type { RtspWanted } from '../../../lib/cloud/calls';
import { namesCamera } from '../../../lib/cloud/cameras/camera-resolver';
import { RvmError } from '../../../lib/error';
import type { ListedMessage } from '../../../lib/inbox/inbox';
import type { JsonRecord } from '../../../lib/json/json';
import { VIEW_PRE_ROLL_S } from '../../../lib/limits';
import type { ViewRight } from '../../../lib/video/view/signed-address';
import { allStations, type Station } from '../../rvm-central-station/station';
import { rightFor } from '../../rvm-view/view-source';
import { keptEvent } from '../kept-event';

/** Stands in the rights of the sidebar in the place of a node. */
const SIDEBAR = 'rvm-sidebar';
/** Milliseconds. A right of the sidebar is made anew for each request: this bounds what one of them opens. */
const LASTING = 30 * 60_000;

/** A camera that is off line may have recorded the alarm all the same: somebody may have cut its cable for that. */
export const SIDEBAR_VIDEO = { quality: 'high', whenOffline: 'try' } as const;

/** What the sidebar asks to see, and the event that it is of, if it is of one. */
export interface AskedVideo {
  right: ViewRight;
  deliveryId?: string;
}

/**
 * What one may see who asks for an event of an inbox, or for a camera. Of what is asked the ids alone count: the camera and the
 * time of an event are those that the inbox has.
 * @throws RvmError BAD_INPUT, UNKNOWN_DELIVERY, CONFIG_MISSING, EVENT_WITHOUT_CAMERA
 */
export async function askedVideo(RED: NodeAPI, asked: JsonRecord): Promise<AskedVideo> {
  const { delivery, station, camera } = asked;
  if (typeof delivery === 'string') return ofEvent(RED, delivery);
  if (typeof station === 'string' && typeof camera === 'string' && camera !== '')
    return { right: rightTo(stationOf(RED, station), { mode: 'live', camera, ...SIDEBAR_VIDEO }) };
  throw new RvmError('BAD_INPUT', 'Name an event by its delivery, or a Central Station and a camera.');
}

/** Whether there is anything to ask for. */
export function hasVideo(RED: NodeAPI, { event, station }: ListedMessage): boolean {
  return namesCamera(event) && allStations(RED).some(({ key }) => key === station);
}

async function ofEvent(RED: NodeAPI, deliveryId: string): Promise<AskedVideo> {
  const { event, station } = await keptEvent(deliveryId);
  const wanted = { mode: 'event', event, preRoll: VIEW_PRE_ROLL_S, ...SIDEBAR_VIDEO } as const;
  return { right: rightTo(stationOf(RED, station), wanted), deliveryId };
}

function rightTo(station: Station, wanted: RtspWanted): ViewRight {
  const grant = { wanted, msg: {}, station, node: SIDEBAR, live: true, lasting: LASTING };
  return rightFor(grant, Date.now());
}

function stationOf(RED: NodeAPI, key: string): Station {
  const station = allStations(RED).find((each) => each.key === key);
  if (station !== undefined) return station;
  throw new RvmError('CONFIG_MISSING', 'The Central Station of this video is not deployed any more.');
}
