import type { CallOptions, RtspSession, RtspWanted } from '../../cloud/calls';
import { asText, firstField } from '../../cloud/http/answer';

/** Who opens RTSP sessions: the client of a Central Station. */
export interface SessionOpener {
  openRtsp(wanted: RtspWanted, options: CallOptions): Promise<RtspSession>;
}

/** Video of one camera, live or from a time on. */
export interface VideoSource {
  client: SessionOpener;
  wanted: RtspWanted;
}

/** The words that a camera goes by in what is wanted; the same for all that is wanted of one alarm. */
export function cameraOf(wanted: RtspWanted): string {
  if (wanted.mode !== 'event') return wanted.camera;
  const { event } = wanted;
  return asText(firstField(event, ['cameraId'])) ?? asText(firstField(event, ['cameraRemoteId'])) ?? '';
}
