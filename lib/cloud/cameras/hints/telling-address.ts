import { guidForm } from '../../../text';

/** Words of addresses that say what is done, and to no camera in particular. */
const COMMON: ReadonlySet<string> = new Set([
  'api',
  'camera',
  'cameras',
  'device',
  'devices',
  'live',
  'media',
  'open',
  'play',
  'playback',
  'recorded',
  'relay',
  'rest',
  'rtsp',
  'rtsp-session',
  'rtsp-sessions',
  'rtsp_session',
  'rtsp_sessions',
  'session',
  'sessions',
  'stream',
  'streams',
  'video',
  'videos',
]);
const VERSION = /^v\d+(?:\.\d+)?$/;
/** What is longer may be a session or a token, but for words and ids. */
const PLAIN_STEP = /^(?:[\w-]{1,12}|[A-Za-z_-]{1,24}|v\d+\.\d+)$/;
/** An id that is as short and as plain may be a place in a list, which is another camera's once one is removed. */
const MAY_BE_A_PLACE = /^\d{0,7}$/;

/**
 * Whether an address cannot have become that of another camera: one of its words is an id of this camera, or none of them
 * names any, so that the body of the request alone does. A name is no id, and a number may be a place in a list.
 * @param ids of the camera, as the service and its site know it
 * @param system the one address that is fixed: what leads to it names no camera
 */
export function isTelling(address: URL, ids: readonly string[], system: URL): boolean {
  const words = wordsOf(address.pathname);
  const asked = [...address.searchParams.values()];
  if (words === undefined || !asked.every((value) => isOneOf(value, ids))) return false;
  const fixed = wordsOf(system.pathname) ?? [];
  if (!words.every((word) => isPlainStep(word) || isOneOf(word, ids) || fixed.includes(word))) return false;
  if ([...words, ...asked].some((word) => isOneOf(word, ids))) return true;
  return words.every((word) => fixed.includes(word) || COMMON.has(word.toLowerCase()) || VERSION.test(word));
}

/**
 * Whether no step of a path can be a secret of the service.
 * @param system what leads to it is from the user's own settings
 */
export function isPlainPath(path: string, system: URL): boolean {
  const fixed = wordsOf(system.pathname) ?? [];
  return wordsOf(path)?.every((word) => isPlainStep(word) || fixed.includes(word)) === true;
}

function isPlainStep(word: string): boolean {
  return PLAIN_STEP.test(word) || guidForm(word) !== undefined;
}

/** The steps of a path; undefined for one with parameters of its own, which may be those of a session. */
function wordsOf(path: string): string[] | undefined {
  if (path.includes(';')) return undefined;
  try {
    return path
      .split('/')
      .filter((step) => step !== '')
      .map((step) => decodeURIComponent(step));
  } catch {
    return undefined;
  }
}

function isOneOf(word: string, ids: readonly string[]): boolean {
  return ids.some((id) => !MAY_BE_A_PLACE.test(id) && (word === id || isSameGuid(word, id)));
}

function isSameGuid(one: string, other: string): boolean {
  const form = guidForm(one);
  return form !== undefined && form === guidForm(other);
}
