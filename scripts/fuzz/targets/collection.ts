import * as fc from 'fast-check';
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
import { list, mixed, text, jsonText, nestedText, recordText } from '../inputs/any';
import { targetOf, type Complaint, type Target } from '../runner';

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

const OTHER_TEXT = mixed([95, jsonText(6)], [5, nestedText(jsonText(6), fc.constant(50))]);

const CAMERA = fc.record({
  id: text('0123456789abcdef-', 36),
  status: fc.constantFrom('online', 'Online', 'ONLINE', 'offline', 'on line', '', 'onlinе'),
  extra: recordText(2).map((record) => record.slice(1, -1).trim()),
});
const ENVELOPE = fc.constantFrom<(cameras: string) => string>(
  (cameras) => cameras,
  (cameras) => `{"devices":${cameras}}`,
  (cameras) => `{"data":{"devices":${cameras}},"_links":{}}`,
  (cameras) => `{"items":${cameras}}`,
);
/** A page as the specification shows its elements, in an envelope that it leaves open. */
const PAGE = fc.tuple(list(CAMERA, 0, 4), ENVELOPE).map(([cameras, envelope]): Input => {
  const records = cameras.map(({ id, status, extra }) => {
    const own = `"id":"${id}","status":"${status}","_links":{"rel/data_sources":{"href":"/d/${id}"}}`;
    return extra === '' ? `{${own}}` : `{${extra},${own}}`;
  });
  return {
    text: envelope(`[${records.join(',')}]`),
    ids: cameras.map(({ id }) => id),
    online: cameras.map(({ status }) => (status === '' ? undefined : /^online$/i.test(status))),
  };
});

/** Pages of cameras, and any other JSON in their place. */
export function collectionTarget(): Target {
  return targetOf<Input, Answer>({
    name: 'collection',
    share: 90_000,
    inputs: mixed<Input>([3, PAGE], [7, OTHER_TEXT.map((written) => ({ text: written }))]),
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
  for (const [index, device] of devices.entries()) {
    tellsStatus(device);
    remoteIdOf(device);
    if (index === 0) withStatusOf(device, record);
  }
  return { page, devices };
}

function complaintAbout({ ids, online }: Input, { page, devices }: Answer): Complaint | undefined {
  if (!page.records.every(isRecord) || !['string', 'undefined'].includes(typeof page.next))
    return { fault: 'wrong', reason: 'a page of something else than records' };
  if (ids === undefined) return undefined;
  if (devices.map(({ id }) => id).join() !== ids.join())
    return { fault: 'rejected', reason: 'cameras are missing' };
  const isSame = devices.every((device, index) => device.online === (online?.[index] ?? device.online));
  return isSame ? undefined : { fault: 'wrong', reason: 'a camera is taken for online, or is not' };
}
