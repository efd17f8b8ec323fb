import { Refusal } from '../refusal';
import { clipOf } from '../scene/clip';
import type { World } from '../world/world';
import { type Answer, type Call, matchPath, notAllowed } from './http-server';

/** Seconds of a clip before and after the start of its alarm. */
const BEFORE = 3;
const AFTER = 12;
const PREFIX = '/clips/';

/** Serves the clips of alarms as MP4. The link is enough: no key, no login. */
export class ClipPages {
  constructor(private readonly world: World) {}

  static owns(path: string): boolean {
    return path.startsWith(PREFIX);
  }

  /** @throws Refusal 404 for an unknown clip, 405 unless GET or HEAD, 416 for a range outside the clip */
  async answer(call: Call): Promise<Answer> {
    if (call.method !== 'GET' && call.method !== 'HEAD') throw notAllowed('GET, HEAD');
    const { id = '' } = matchPath(`${PREFIX}:id`, call.path) ?? {};
    return partOf(await this.#bytes(id), call.headers.range);
  }

  async #bytes(id: string): Promise<Buffer> {
    const { clips, clock, incidents, scenes } = this.world;
    const clip = clips.find(id);
    if (clip === undefined)
      throw new Refusal(404, 'ClipNotFound', 'There is no such clip, or it is too old.');
    const { camera, startedAt } = clip;
    const start = Math.floor(startedAt / 1000);
    // For an alarm that has just begun, the clip ends now.
    const end = Math.max(start + 1, Math.min(start + AFTER, Math.floor(clock.now() / 1000)));
    return clipOf(await scenes.footage(camera.scene), incidents.viewOf(camera), start - BEFORE, end);
  }
}

/** The whole clip or one requested range (RFC 9110, section 14); players request ranges. */
function partOf(bytes: Buffer, range: string | undefined): Answer {
  const headers = { 'Content-Type': 'video/mp4', 'Accept-Ranges': 'bytes' };
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range ?? '');
  const [first = '', last = ''] = match?.slice(1) ?? [];
  if (first === '' && last === '') return { status: 200, headers, body: bytes };
  const begin = first === '' ? Math.max(0, bytes.length - Number(last)) : Number(first);
  const end = first === '' || last === '' ? bytes.length : Math.min(bytes.length, Number(last) + 1);
  if (begin >= end) {
    throw new Refusal(416, 'RangeNotSatisfiable', 'The clip has no such range.', {
      headers: { 'Content-Range': `bytes */${bytes.length}` },
    });
  }
  const contentRange = { 'Content-Range': `bytes ${begin}-${end - 1}/${bytes.length}` };
  return { status: 206, headers: { ...headers, ...contentRange }, body: bytes.subarray(begin, end) };
}
