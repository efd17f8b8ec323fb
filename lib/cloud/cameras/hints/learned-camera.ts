import type { Device } from '../../../device';
import { isRecord } from '../../../json/json';

/** What the video of a camera has shown: of the device what a message tells of it, and how the session was asked for. */
export interface LearnedCamera {
  readonly device: Pick<Device, 'id' | 'name' | 'status'>;
  /** The id its site knows it by, as an event has told it. */
  readonly remoteId: string | undefined;
  /** Where its sessions are opened; undefined where that may one day be the address of another camera. */
  readonly link: { readonly relation: string; readonly address: string } | undefined;
}

/** Characters of one text: no camera has a longer one that is worth keeping. */
const MAX_TEXT = 1024;

/** One line of JSON for each camera. */
export function textOf(cameras: Iterable<LearnedCamera>): string {
  return Array.from(cameras, (camera) => `${JSON.stringify(camera)}\n`).join('');
}

/** The cameras of such a text; what is none is passed over. */
export function learnedIn(text: string): LearnedCamera[] {
  return text.split('\n').flatMap((line) => cameraIn(line) ?? []);
}

/** Whether it is short enough to be kept. */
export function isShort({ device, remoteId = '', link }: LearnedCamera): boolean {
  const texts = [device.id, device.name, device.status, remoteId, link?.address ?? '', link?.relation ?? ''];
  return texts.every((text) => text.length <= MAX_TEXT);
}

function cameraIn(line: string): LearnedCamera | undefined {
  if (line === '') return undefined;
  const value: unknown = JSON.parse(line);
  if (!isRecord(value) || !isRecord(value['device'])) return undefined;
  const { id, name, status } = value['device'];
  if (!isText(id) || !isText(name) || !isText(status)) return undefined;
  const { remoteId, link } = value;
  return {
    device: { id, name, status },
    remoteId: isText(remoteId) ? remoteId : undefined,
    link: linkIn(link),
  };
}

function linkIn(value: unknown): LearnedCamera['link'] {
  if (!isRecord(value)) return undefined;
  const { relation, address } = value;
  return isText(relation) && isText(address) ? { relation, address } : undefined;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}
