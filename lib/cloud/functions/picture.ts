import { isRecord, type JsonRecord } from '../../json/json';
import { readTime } from '../../time';
import type { Answer } from '../http/answer';
import { DIALECT } from '../dialect';
import { JPEG } from './first-jpeg';
import { asText, firstField, firstText } from '../http/json-field';
import { findAnyLink, linkValue } from '../http/links';

/** What an answer to a snapshot request holds: a picture, or the address of one. */
export type Picture = { jpeg: Buffer; time: Date | undefined } | { address: string } | undefined;

const { snapshot: FACTS } = DIALECT;
const [CR, LF] = [0x0d, 0x0a];
/** Bytes in which the head of a part has its end, before the picture. */
const LONGEST_HEAD = 8192;
/** With a scheme, or a slash at its begin: what else a text may be, such as base64, is no address. */
const ABSOLUTE = /^(?:https?:)?\//i;
/** Where the field says that it holds an address, that may be relative to the resource. */
const RELATIVE = /^(?:https?:|[^\s:/?.]*[/?.])\S*$/i;
/** Characters (RFC 2046, section 5.1.1). */
const MAX_BOUNDARY = 70;
/** Parts of a multipart answer that are looked at. */
const MAX_PARTS = 50;
/** JSON is unwrapped so often. */
const MAX_WRAPPERS = 3;

/**
 * The picture of an answer: JPEG bytes under any content type, the first JPEG of a multipart answer, base64 text in JSON,
 * or the address where JSON or a `Location` says that it is. Undefined where there is none of these.
 */
export function pictureIn(answer: Answer): Picture {
  const { body } = answer;
  if (isJpeg(body)) return { jpeg: body, time: timeIn(answer.header(FACTS.timeHeader)) };
  if (answer.empty) return answer.location === undefined ? undefined : { address: answer.location };
  const boundary = boundaryOf(answer.contentType);
  if (boundary !== undefined) return pictureInParts(body, boundary);
  if (!looksLikeJson(body)) return undefined;
  return pictureInJson(answer.json(), MAX_WRAPPERS);
}

function isJpeg(bytes: Buffer): boolean {
  return bytes.subarray(0, JPEG.length).equals(JPEG);
}

/** ISO 8601, or the date of an HTTP header. */
function timeIn(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = readTime(text) ?? new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}

function looksLikeJson(body: Buffer): boolean {
  return /^[\s\uFEFF]*["{]/.test(body.subarray(0, 64).toString('utf8'));
}

function boundaryOf(contentType = ''): string | undefined {
  const [type = '', ...parameters] = contentType.split(';');
  if (!type.trim().toLowerCase().startsWith('multipart/')) return undefined;
  for (const parameter of parameters) {
    const equals = parameter.indexOf('=');
    if (parameter.slice(0, Math.max(0, equals)).trim().toLowerCase() !== 'boundary') continue;
    const text = parameter
      .slice(equals + 1)
      .trim()
      .replaceAll('"', '');
    if (text !== '' && text.length <= MAX_BOUNDARY) return text;
  }
  return undefined;
}

/** The first part that is a JPEG (RFC 2046, section 5.1). Some cameras leave out the first boundary. */
function pictureInParts(body: Buffer, boundary: string): Picture {
  const mark = delimiter(body, boundary);
  let start = 0;
  for (let count = 0; count < MAX_PARTS; count += 1) {
    const end = body.indexOf(mark, start);
    const picture = pictureInPart(body.subarray(start, end < 0 ? body.length : end));
    if (picture !== undefined || end < 0) return picture;
    start = end + mark.length;
  }
  return undefined;
}

/** Behind a head that ends with an empty line: in LF alone where a camera writes it so. */
function pictureInPart(part: Buffer): Picture {
  const at = part.subarray(0, LONGEST_HEAD).indexOf(JPEG);
  const head = part.toString('latin1', 0, Math.max(0, at));
  const isBehindHead = head === '' || head.endsWith('\n\r\n') || head.endsWith('\n\n');
  if (at < 0 || !isBehindHead) return undefined;
  return { jpeg: withoutLineEnd(part.subarray(at)), time: timeInHead(head) };
}

/** Two dashes and the boundary; some cameras count the dashes in. */
function delimiter(body: Buffer, boundary: string): Buffer {
  const proper = Buffer.from(`--${boundary}`);
  const sloppy = boundary.startsWith('--') && !body.includes(proper);
  return sloppy ? Buffer.from(boundary) : proper;
}

/** The line end before a boundary belongs to the boundary. */
function withoutLineEnd(content: Buffer): Buffer {
  if (content.at(-1) !== LF) return content;
  return content.subarray(0, content.at(-2) === CR ? -2 : -1);
}

function timeInHead(head: string): Date | undefined {
  for (const line of head.split('\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(0, colon)).trim().toLowerCase();
    if (name === FACTS.partTime || name === FACTS.timeHeader) return timeIn(line.slice(colon + 1).trim());
  }
  return undefined;
}

function pictureInJson(body: unknown, wrappers: number): Picture {
  const own = typeof body === 'string' ? pictureInText(body) : undefined;
  if (own !== undefined || !isRecord(body)) return own;
  for (const name of [...FACTS.picture, ...FACTS.url]) {
    const text = firstField(body, [name]);
    const found = typeof text === 'string' ? jpegOf(text) : undefined;
    if (found !== undefined) return { jpeg: found, time: timeIn(asText(firstField(body, FACTS.time))) };
  }
  const address = linkIn(body);
  if (address !== undefined) return { address };
  if (wrappers === 0) return undefined;
  const inner = firstField(body, DIALECT.collection.wrappers) ?? firstField(body, FACTS.picture);
  return isRecord(inner) ? pictureInJson(inner, wrappers - 1) : undefined;
}

/** Where a record says that its picture is. */
function linkIn(body: JsonRecord): string | undefined {
  const named = addressIn(firstText(body, FACTS.url), RELATIVE);
  const picture = firstField(body, FACTS.picture);
  const shown = typeof picture === 'string' ? addressIn(picture, ABSOLUTE) : linkValue(picture);
  return named ?? shown ?? findAnyLink(body, FACTS.relations)?.address;
}

function pictureInText(text: string): Picture {
  const jpeg = jpegOf(text);
  if (jpeg !== undefined) return { jpeg, time: undefined };
  const address = addressIn(text, ABSOLUTE);
  return address === undefined ? undefined : { address };
}

/** A JPEG as base64, with or without `data:image/jpeg;base64,` before it. */
function jpegOf(text: string): Buffer | undefined {
  const base64 = text.slice(0, 100).startsWith('data:') ? text.slice(text.indexOf(',') + 1) : text;
  const bytes = Buffer.from(base64, 'base64');
  return isJpeg(bytes) ? bytes : undefined;
}

function addressIn(text: string | undefined, form: RegExp): string | undefined {
  const address = text?.trim() ?? '';
  return form.test(address) ? address : undefined;
}
