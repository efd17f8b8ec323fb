import { RvmError } from '../../error';
import { fileNameOf } from '../../files';
import { isRecord, type JsonRecord } from '../../json/json';
import { WIDEST_SNAPSHOT } from '../../limits';
import { readTime } from '../../time';
import type { Snapshot } from '../calls';
import type { CameraResolver } from '../cameras/camera-resolver';
import { DIALECT } from '../dialect';
import { type Answer, asText, firstField, firstText, type Headers } from '../http/answer';
import type { Origins, TrustedUrl } from '../http/origins';
import { findAnyLink, linkValue } from '../http/records';
import type { Operation } from '../operation';
import type { StationSession } from '../session/session';

const { snapshot: FACTS } = DIALECT;

/** Takes current pictures. None is stored. */
export class Snapshots {
  constructor(
    private readonly session: StationSession,
    private readonly cameras: CameraResolver,
    private readonly origins: Origins,
    private readonly relations: readonly string[],
  ) {}

  /** As `StationClient.snapshot`. */
  async take(operation: Operation, camera: string, width: number | undefined): Promise<Snapshot> {
    checkWidth(width);
    const entry = await this.cameras.chosen(operation, camera);
    const answer = await this.cameras.withLink(operation, entry, this.relations, ({ url, relation }) =>
      this.#get(operation, withWidth(url, width), relation),
    );
    const { jpeg, time } = await this.#picture(operation, answer);
    const { id, name } = entry.device;
    return { jpeg, filename: fileNameOf(name || id, time, 'jpg'), cameraId: id, time: time.toISOString() };
  }

  /**
   * The picture in the answer, or at the address in it. Only one address is followed: two answers could refer to each other.
   */
  async #picture(operation: Operation, answer: Answer): Promise<{ jpeg: Buffer; time: Date }> {
    const first = pictureIn(answer);
    if (first === undefined) throw noPicture(answer);
    if ('jpeg' in first) return { jpeg: first.jpeg, time: first.time ?? new Date() };
    const url = this.origins.resolve(first.address, answer.url, answer.relation);
    const second = await this.#get(operation, url, answer.relation);
    const picture = pictureIn(second);
    if (picture === undefined || !('jpeg' in picture)) throw noPicture(second);
    return { jpeg: picture.jpeg, time: picture.time ?? new Date() };
  }

  #get(operation: Operation, url: TrustedUrl, relation: string): Promise<Answer> {
    const { accept, otherMethod } = FACTS;
    const request = { url, relation, accept, otherMethod, enough: firstJpegOf };
    return this.session.follow(operation, { method: 'GET', ...request });
  }
}

function checkWidth(width: number | undefined): void {
  if (width === undefined || (Number.isInteger(width) && width > 0 && width <= WIDEST_SNAPSHOT)) return;
  throw new RvmError(
    'BAD_INPUT',
    `The width of a snapshot must be a whole number from 1 to ${WIDEST_SNAPSHOT}.`,
  );
}

/** Appends to the query as text, so that the rest stays as the service sent it. */
function withWidth(url: TrustedUrl, width: number | undefined): TrustedUrl {
  if (width === undefined) return url;
  const wide = url.copy();
  wide.search = `${url.search === '' ? '?' : `${url.search}&`}${FACTS.width}=${width}`;
  return wide;
}

function noPicture(answer: Answer): RvmError {
  return new RvmError(
    'BAD_RESPONSE',
    'The service answered without a JPEG picture; try again, or report it to the service.',
    { status: answer.status, relation: answer.relation, attempts: 1 },
  );
}

/** What an answer to a snapshot request holds: a picture, or the address of one. */
type Picture = { jpeg: Buffer; time: Date | undefined } | { address: string } | undefined;
const [CR, LF] = [0x0d, 0x0a];
/** Bytes within which the header of a part must end. */
const LONGEST_HEAD = 8192;
/** An address has a scheme or starts with a slash; other text, such as base64, is none. */
const ABSOLUTE = /^(?:https?:)?\//i;
/** For fields that contain an address: it may be relative to the resource, too. */
const RELATIVE = /^(?:https?:|[^\s:/?.]*[/?.])\S*$/i;
/** Characters (RFC 2046, section 5.1.1). */
const MAX_BOUNDARY = 70;
/** Parts of a multipart answer that are searched. */
const MAX_PARTS = 50;
/** Maximum depth of wrapper objects in JSON. */
const MAX_WRAPPERS = 3;

/**
 * The picture of an answer: JPEG bytes under any content type, the first JPEG of a multipart answer, base64 text in JSON, or
 * its address in JSON or a `Location` header. Undefined if there is none of these.
 */
function pictureIn(answer: Answer): Picture {
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

/** After a header that ends with an empty line; some cameras end lines with LF alone. */
function pictureInPart(part: Buffer): Picture {
  const at = part.subarray(0, LONGEST_HEAD).indexOf(JPEG);
  const head = part.toString('latin1', 0, Math.max(0, at));
  const isBehindHead = head === '' || head.endsWith('\n\r\n') || head.endsWith('\n\n');
  if (at < 0 || !isBehindHead) return undefined;
  return { jpeg: withoutLineEnd(part.subarray(at)), time: timeInHead(head) };
}

/** Two dashes and the boundary; some cameras include the dashes in the boundary. */
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

/** The address of the picture in a record. */
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

/** Start of image, and the first byte of the next marker (ITU-T T.81, section B.1.1). */
const JPEG = Buffer.from([0xff, 0xd8, 0xff]);
const END = Buffer.from([0xff, 0xd9]);
const [FILL, SCAN, END_MARKER] = [0xff, 0xda, 0xd9];

/**
 * Tells how much of an endless answer is enough: MJPEG (`multipart/x-mixed-replace`) continues as long as the client reads, and
 * its first picture is the current one.
 * @returns undefined for an answer that ends by itself
 */
export function firstJpegOf(headers: Headers): ((body: Buffer) => number | undefined) | undefined {
  const type = String(headers['content-type'] ?? '').trimStart();
  const hasEnd = headers['content-length'] !== undefined || headers['content-encoding'] !== undefined;
  if (hasEnd || !/^multipart\//i.test(type)) return undefined;
  const search = new FirstJpeg();
  return (body) => search.endIn(body);
}

/**
 * Finds the end of the first JPEG in growing bytes. No byte is searched twice, because some cameras send a picture in very many
 * pieces.
 */
class FirstJpeg {
  #at = 0;
  #within: 'nothing' | 'segments' | 'scans' = 'nothing';

  /** @returns the number of bytes to the end of the first JPEG; undefined until that has arrived */
  endIn(body: Buffer): number | undefined {
    if (this.#within === 'nothing' && this.#passes(body, JPEG)) this.#within = 'segments';
    // The position is now on the marker after the start of image.
    if (this.#within === 'segments') this.#walk(body);
    if (this.#within !== 'scans' || !this.#passes(body, END)) return undefined;
    return this.#at;
  }

  /** Skips segments by their lengths: one may contain a preview, with an end of image of its own. */
  #walk(body: Buffer): void {
    while (this.#at + 4 <= body.length || body[this.#at + 1] === END_MARKER) {
      const marker = body[this.#at + 1];
      const isMarker = body[this.#at] === FILL;
      if (isMarker && marker === FILL) {
        this.#at += 1;
        continue;
      }
      if (!isMarker || marker === SCAN || marker === END_MARKER) {
        this.#within = 'scans';
        return;
      }
      this.#at += 2 + body.readUInt16BE(this.#at + 2);
    }
  }

  #passes(body: Buffer, mark: Buffer): boolean {
    const found = body.indexOf(mark, this.#at);
    // The mark may be split at the end of these bytes.
    this.#at = found < 0 ? Math.max(this.#at, body.length - mark.length + 1) : found + mark.length;
    if (found >= 0 && mark === JPEG) this.#at -= 1;
    return found >= 0;
  }
}
