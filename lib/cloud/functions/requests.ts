import { types } from 'node:util';
import { RvmError } from '../../error';
import { isJson, type JsonRecord } from '../../json/json';
import type { ApiResponse, ApiRequest } from '../calls';
import type { CameraResolver } from '../cameras/camera-resolver';
import type { DeviceDirectory, DeviceEntry } from '../cameras/device-directory';
import { DIALECT } from '../dialect';
import type { Answer } from '../http/answer';
import type { Origins, TrustedUrl } from '../http/origins';
import { findLink, linkValue, readPage, wrappedLinks } from '../http/records';
import type { RequestBody } from '../http/transport';
import type { Operation } from '../operation';
import type { StationSession } from '../session/session';
import { notOffered } from '../session/system';

/** Where the last link of a request leads, and its relation. */
interface RequestTarget {
  url: TrustedUrl;
  relation: string;
}

const { relations } = DIALECT;
/** Headers of the connection or of the body's coding: in a message they would break the next request or answer. */
const OF_THE_TRANSFER: ReadonlySet<string> = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'date',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'set-cookie',
  'set-cookie2',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** An address of the web, or one relative to the service. */
const LINK = /^(?:https?:\/\/|[/?.])\S*$/i;
/** JSON is preferred, but any other type is accepted. */
const ACCEPT = 'application/json, */*;q=0.5';
const TEXT = /^(?:text\/|application\/(?:[\w.+-]*\+)?xml\b)/i;
const JSON_TYPE = /^(?:application\/(?:[\w.+-]*\+)?json\b|application\/[\w.-]+\.VMS\.)/i;

/** Requests along links, for functions of the service that the other calls do not cover. */
export class ApiRequests {
  constructor(
    private readonly session: StationSession,
    private readonly directory: DeviceDirectory,
    private readonly cameras: CameraResolver,
    private readonly origins: Origins,
  ) {}

  /** As `StationClient.request`: follows the relations one after the other, and sends the request to where the last one leads. */
  async send(operation: Operation, wanted: ApiRequest): Promise<ApiResponse> {
    const rels = wanted.rels.map((rel) => rel.trim()).filter((rel) => rel !== '');
    const [first, ...others] = rels;
    if (wanted.start === 'system' && first === undefined && wanted.method === 'GET') {
      return freeAnswer(await this.session.system(operation));
    }
    if (wanted.start !== 'device' && wanted.start !== 'data-sources') {
      const target = await this.#targetOf(operation, wanted, first);
      return freeAnswer(await this.#follow(operation, wanted, target, others));
    }
    const entry = await this.#camera(operation, wanted);
    const find = (camera: DeviceEntry): Promise<RequestTarget> =>
      wanted.start === 'device'
        ? this.#ofDevice(operation, camera, first)
        : this.#ofSources(operation, camera, first);
    const answer = await this.cameras.call(operation, entry, find, (target) =>
      this.#follow(operation, wanted, target, others),
    );
    return freeAnswer(answer);
  }

  /** Follows the last relation with the wanted method, all others with GET. */
  async #follow(
    operation: Operation,
    wanted: ApiRequest,
    first: RequestTarget,
    others: readonly string[],
  ): Promise<Answer> {
    let target = first;
    for (const rel of others) target = this.#linkIn(await this.#get(operation, target), rel);
    const body = wanted.method === 'GET' ? undefined : requestBody(wanted.body);
    return this.session.follow(operation, {
      url: target.url,
      relation: target.relation,
      method: wanted.method,
      accept: ACCEPT,
      ...(body === undefined ? {} : { body }),
    });
  }

  /** The address of the System resource or of the user's link, or where its first relation leads. */
  async #targetOf(
    operation: Operation,
    { start, url }: ApiRequest,
    first: string | undefined,
  ): Promise<RequestTarget> {
    if (start === 'system') {
      if (first === undefined) return { url: this.origins.system, relation: 'system' };
      return this.#linkIn(await this.session.system(operation), first);
    }
    const target = { url: this.#givenUrl(url), relation: 'msg.url' };
    return first === undefined ? target : this.#linkIn(await this.#get(operation, target), first);
  }

  async #ofSources(
    operation: Operation,
    entry: DeviceEntry,
    relation: string | undefined,
  ): Promise<RequestTarget> {
    if (relation !== undefined) return this.cameras.offer(operation, entry, [relation]);
    return this.#ofDevice(operation, entry, relations.dataSources);
  }

  #camera(operation: Operation, { camera }: ApiRequest): Promise<DeviceEntry> {
    if (camera === undefined || camera === '') {
      throw new RvmError('BAD_INPUT', 'No camera is named: set the camera of this node.');
    }
    return this.cameras.chosen(operation, camera, 'try');
  }

  /** The camera's own resource. A relation is searched on the record of the list, then on that resource. */
  async #ofDevice(
    operation: Operation,
    entry: DeviceEntry,
    relation: string | undefined,
  ): Promise<RequestTarget> {
    const link = relation === undefined ? undefined : findLink(entry.device, relation);
    if (relation !== undefined && link !== undefined) {
      return { url: this.origins.resolve(link, entry.url, relation), relation };
    }
    const own = this.directory.ownLink(entry);
    if (own === undefined) throw notOffered(relation ?? relations.details[0], 'The camera', entry.device);
    return relation === undefined ? own : this.#linkIn(await this.#get(operation, own), relation);
  }

  #get(operation: Operation, target: RequestTarget): Promise<Answer> {
    return this.session.follow(operation, { ...target, method: 'GET', accept: ACCEPT });
  }

  /** A link of the resource itself, else of the first element of the list that has it. */
  #linkIn(answer: Answer, relation: string): RequestTarget {
    const body = answer.json();
    for (const resource of [wrappedLinks(body), ...readPage(body, []).records]) {
      const link = findLink(resource, relation);
      if (link !== undefined) return { url: this.origins.resolve(link, answer.url, relation), relation };
    }
    throw notOffered(relation, 'The resource', wrappedLinks(body));
  }

  #givenUrl(link: string | undefined): TrustedUrl {
    const text = link?.trim() ?? '';
    if (LINK.test(text) && URL.canParse(text, this.origins.system.href)) {
      return this.origins.resolve(text, this.origins.system, 'msg.url');
    }
    throw new RvmError(
      'BAD_INPUT',
      'msg.url holds no link that could be asked for: put one there that the service gave, such as one of msg.links.',
    );
  }
}

function freeAnswer(answer: Answer): ApiResponse {
  const type = answer.contentType ?? '';
  const payload = payloadOf(answer, type);
  const headers = Object.entries(answer.headers).filter(
    (header): header is [string, string | string[]] =>
      header[1] !== undefined && !OF_THE_TRANSFER.has(header[0]),
  );
  return {
    payload,
    statusCode: answer.status,
    headers: Object.fromEntries(headers),
    links: linksOf(wrappedLinks(payload)._links, answer.url),
  };
}

function payloadOf(answer: Answer, type: string): unknown {
  if (answer.empty) return '';
  if (JSON_TYPE.test(type)) return answer.json();
  if (TEXT.test(type)) return new TextDecoder().decode(answer.body);
  return answer.body;
}

function linksOf(links: JsonRecord, base: URL): Record<string, string> {
  const found = Object.entries(links).flatMap(([relation, value]) => {
    const address = linkValue(value);
    if (address === undefined || !URL.canParse(address, base.href)) return [];
    return [[relation, new URL(address, base.href).href] as const];
  });
  return Object.fromEntries(found);
}

/**
 * The request body from a flow's value: text and bytes unchanged, undefined is no body, anything else as JSON.
 * @throws RvmError BAD_INPUT for a value that cannot be written as JSON
 */
function requestBody(value: unknown): RequestBody | undefined {
  if (value === undefined) return undefined;
  if (typeof value === 'string') {
    return { type: isJson(value) ? 'application/json' : 'text/plain; charset=utf-8', bytes: value };
  }
  try {
    if (ArrayBuffer.isView(value)) return { type: 'application/octet-stream', bytes: copyOf(value) };
    // An object that only inherits from Buffer has no bytes to send.
    const text: string | undefined = Buffer.isBuffer(value) ? undefined : JSON.stringify(value);
    if (text !== undefined) return { type: 'application/json', bytes: text };
  } catch {
    // A circular structure, a number that JSON cannot write, detached bytes, or a getter of the flow that
    // throws: the error below covers all.
  }
  throw new RvmError(
    'BAD_INPUT',
    'The payload cannot be written as JSON: send an object, a text or a Buffer.',
  );
}

/** A copy of the bytes as they are now: independent of properties that a flow has overwritten, and of later changes. */
function copyOf(view: ArrayBufferView): Buffer {
  const bytes = types.isUint8Array(view)
    ? view
    : new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  return Buffer.from(new Uint8Array(bytes).buffer);
}
