import { randomBytes } from 'node:crypto';

/** Whose clip it is. */
export interface ClipSubject {
  cameraId: string;
  /** None where the clip is of no alarm. */
  alarmId?: string;
  /** When it begins. */
  time: Date;
}

/** Characters of an id: with two of them, a name fits every file system, encrypted ones included (143). */
const LONGEST_ID = 32;
/** What a name of ours looks like; nothing else is ever removed. */
const OURS = /^clip-\d{8}T\d{6}Z-[\w-]{1,66}-[0-9a-f]{8}\.mp4$/;

/** A new name for a clip, such as `clip-20251009T085320Z-camera-7-alarm-3-1f0a9c44.mp4`. Sorted by name is sorted by time. */
export function clipName({ cameraId, alarmId, time }: ClipSubject): string {
  const stamp = time.toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const ids = [cameraId, ...(alarmId === undefined ? [] : [alarmId])].map(safe);
  return `clip-${stamp}-${ids.join('-')}-${randomBytes(4).toString('hex')}.mp4`;
}

export function isClipName(name: string): boolean {
  return OURS.test(name);
}

/** Ids come from outside: none may lead out of the folder, hide a file, or be refused by a file system. */
function safe(id: string): string {
  return id.replaceAll(/[^A-Za-z0-9_-]+/g, '_').slice(0, LONGEST_ID) || '_';
}
