import type { Device, ListedCamera } from '../../device';
import { isRecord, type JsonRecord } from '../../json/json';
import { DIALECT } from '../dialect';
import { asText, firstField, firstText } from '../http/json-field';

const { device: FIELDS } = DIALECT;

/** The device as users see it: every field sent, and those they can rely on, filled where absent. */
export function toDevice(record: JsonRecord): Device {
  return {
    ...record,
    id: firstText(record, FIELDS.id) ?? '',
    name: firstText(record, FIELDS.name) ?? '',
    site: siteOf(record),
    status: statusText(record),
    online: isOnline(record),
  };
}

/**
 * Whether the record marks a usable camera: `status` equals `online` (specification, section 2) in any case, or
 * holds it where it is a list or an object; where there is no status text, `state`, `connectionState` or
 * `connected` may say so.
 */
export function isOnline(record: JsonRecord): boolean {
  const status = firstField(record, ['status']);
  const text = asText(status);
  if (text !== undefined) return text.toLowerCase() === FIELDS.onlineStatus;
  if (wordsOf(status).some((word) => word === FIELDS.onlineStatus)) return true;
  const states = FIELDS.status.slice(1).flatMap((name) => wordsOf(firstField(record, [name])));
  if (states.some((word) => FIELDS.onlineStates.includes(word))) return true;
  return FIELDS.onlineFlags.some((name) => firstField(record, [name]) === true);
}

/** True if the record says anything at all about being usable. */
export function tellsStatus(record: JsonRecord): boolean {
  const names = [...FIELDS.status, ...FIELDS.onlineFlags];
  return firstField(record, names) !== undefined;
}

/** The id its site knows the camera by, if the record shows it. Opaque and case-sensitive. */
export function remoteIdOf(record: JsonRecord): string | undefined {
  return firstText(record, FIELDS.remoteId);
}

/** What of the camera its events may name. */
export function listedCamera(device: Device): ListedCamera {
  const { id, site } = device;
  const remoteId = remoteIdOf(device);
  return { id, site, ...(remoteId !== undefined && { remoteId }) };
}

/** The record of a camera brought up to date with the status that its details tell. */
export function withStatusOf(device: Device, details: JsonRecord): Device {
  return { ...device, status: statusText(details), online: isOnline(details) };
}

function siteOf(record: JsonRecord): string {
  for (const name of FIELDS.site) {
    const value = firstField(record, [name]);
    const text = isRecord(value) ? firstText(value, ['name', 'id']) : asText(value);
    if (text !== undefined) return text;
  }
  return '';
}

function statusText(record: JsonRecord): string {
  for (const name of FIELDS.status) {
    const value = firstField(record, [name]);
    const text = asText(value) ?? rawWordsOf(value).join(', ');
    if (text !== '') return text;
  }
  const flag = firstField(record, FIELDS.onlineFlags);
  if (typeof flag !== 'boolean') return '';
  return flag ? FIELDS.onlineStatus : 'offline';
}

function wordsOf(value: unknown): string[] {
  return rawWordsOf(value).map((word) => word.toLowerCase());
}

function rawWordsOf(value: unknown): string[] {
  const text = asText(value);
  if (text !== undefined) return [text];
  const parts: unknown[] = Array.isArray(value) ? value : [];
  if (isRecord(value)) parts.push(...FIELDS.statusWord.map((name) => firstField(value, [name])));
  return parts.map(asText).filter((word) => word !== undefined);
}
