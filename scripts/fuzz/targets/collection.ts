import { remoteIdOf, tellsStatus, toDevice, withStatusOf } from '../../../lib/cloud/cameras/device-directory';
import {
  readPage,
  unwrapRecord,
  wrappedLinks,
  type Page,
  findAnyLink,
  findLink,
} from '../../../lib/cloud/http/records';
import { parseSafely, isRecord } from '../../../lib/json/json';
import type { Device } from '../../../lib/device';
import { jsonText, nestedText, recordText } from '../inputs/json-text';
import type { Random } from '../random';
import { targetOf, type Complaint, type Target } from '../target';

interface Input {
  text: string;
  /** Ids of the cameras of a page in the form of the specification; undefined for any other JSON. */
  ids?: string[];
  /** Whether each is usable; undefined where it does not say so in its status. */
  online?: (boolean | undefined)[];
}

interface Answer {
  page: Page;
  devices: Device[];
}

const RELATIONS = ['rel/devices', 'rel/data_sources', 'next'];
const STATUSES = ['online', 'Online', 'ONLINE', 'offline', 'on line', '', 'onlinе'];

/** Pages of cameras, and any other JSON in their place. */
export function collectionTarget(): Target {
  return targetOf<Input, Answer>({
    name: 'collection',
    share: 90_000,
    make: (random) => (random.chance(0.3) ? pageOf(random) : { text: anyText(random) }),
    act: ({ text }) => answerTo(parseSafely(text)),
    judge: complaintAbout,
    shown: ({ text }) => text,
  });
}

function answerTo(body: unknown): Answer {
  const page = readPage(body, ['devices', 'cameras']);
  const record = unwrapRecord(body);
  findAnyLink(wrappedLinks(body), RELATIONS);
  for (const relation of RELATIONS) findLink(record, relation);
  const devices = page.records.map(toDevice);
  for (const [place, device] of devices.entries()) {
    tellsStatus(device);
    remoteIdOf(device);
    if (place === 0) withStatusOf(device, record);
  }
  return { page, devices };
}

function anyText(random: Random): string {
  const text = jsonText(random, 6);
  return random.chance(0.05) ? nestedText(random, text, 50) : text;
}

/** A page as the specification shows its elements, in an envelope that it leaves open. */
function pageOf(random: Random): Input {
  const ids = Array.from({ length: random.below(5) }, () => random.text('0123456789abcdef-', 36));
  const statuses = ids.map(() => random.pick(STATUSES));
  const records = ids.map((id, place) => {
    const extra = recordText(random, 2).slice(1, -1).trim();
    const own = `"id":"${id}","status":"${statuses[place] ?? ''}","_links":{"rel/data_sources":{"href":"/d/${id}"}}`;
    return extra === '' ? `{${own}}` : `{${extra},${own}}`;
  });
  const list = `[${records.join(',')}]`;
  const text = random.pick([
    list,
    `{"devices":${list}}`,
    `{"data":{"devices":${list}},"_links":{}}`,
    `{"items":${list}}`,
  ]);
  return {
    text,
    ids,
    online: statuses.map((status) => (status === '' ? undefined : /^online$/i.test(status))),
  };
}

function complaintAbout({ ids, online }: Input, { page, devices }: Answer): Complaint | undefined {
  if (!page.records.every(isRecord) || !['string', 'undefined'].includes(typeof page.next))
    return { fault: 'wrong', reason: 'a page of something else than records' };
  if (ids === undefined) return undefined;
  if (devices.map(({ id }) => id).join() !== ids.join())
    return { fault: 'rejected', reason: 'cameras are missing' };
  const isSame = devices.every((device, place) => device.online === (online?.[place] ?? device.online));
  return isSame ? undefined : { fault: 'wrong', reason: 'a camera is taken for online, or is not' };
}
