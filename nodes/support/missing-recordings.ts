import { cutText, MOST_OF_NAME } from '../../lib/inbox/history';
import { isRecord } from '../../lib/json/json';
import { type VideoSource, cameraOf } from '../../lib/video/sessions/session-slots';
import type { RvmErrorCode } from '../../lib/error';
import type { VideoFacts } from '../../lib/watch/findings';

export type MissingRecording = Omit<VideoFacts, 'id'>;

/** Nobody may ever ask again: a day later it says nothing of now. Milliseconds. */
const LASTS = 24 * 60 * 60 * 1000;
const MOST = 1000;

/** Short names of stations by their clients. */
const keys = new WeakMap<object, string>();
/** By station and camera, oldest first: a deploy cures none. */
const missing = new Map<string, MissingRecording>();

/** The client of a station: what is asked of it is asked of the station. */
export function nameClient(client: object, key: string): void {
  keys.set(client, key);
}

/** What came of a recording that was asked for, by whichever node or page; undefined where it was had. */
export function noteRecording({ client, wanted }: VideoSource, failure: RvmErrorCode | undefined): void {
  const station = keys.get(client);
  if (station === undefined || wanted.mode === 'live') return;
  const id = cutText(cameraOf(wanted), MOST_OF_NAME);
  if (failure === undefined) missing.delete(`${station}/${id}`);
  if (failure !== 'VIDEO_NOT_YET') return;
  const name = wanted.mode === 'event' && isRecord(wanted.event) ? wanted.event.cameraName : undefined;
  const camera = typeof name === 'string' && name !== '' ? name : id;
  keep(`${station}/${id}`, {
    station,
    camera: cutText(camera, MOST_OF_NAME),
    since: new Date().toISOString(),
  });
}

/** One that the last run of Node-RED has found. */
export function rememberRecording(id: string, found: MissingRecording): void {
  keep(id, found);
}

/** By an id that is the same from one run to the next. */
export function missingRecordings(): ReadonlyMap<string, MissingRecording> {
  for (const [id, { since }] of missing) if (Date.now() - Date.parse(since) > LASTS) missing.delete(id);
  return missing;
}

function keep(id: string, found: MissingRecording): void {
  if (missing.has(id)) return;
  missing.set(id, found);
  const [oldest] = missing.keys();
  if (missing.size > MOST && oldest !== undefined) missing.delete(oldest);
}
