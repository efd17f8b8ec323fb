import { RvmError } from '../error';
import { isRecord } from '../json-record';
import type { Answer } from './answer';
import type { FreeAnswer, FreeRequest } from './calls';
import type { CameraFinder } from './camera-finder';
import type { CameraLinks } from './camera-links';
import { readPage, wrappedLinks } from './collection';
import type { DeviceEntry } from './device-index';
import { DIALECT } from './dialect';
import { findLink, linkValue } from './links';
import type { Operation } from './operation';
import type { Origins, TrustedUrl } from './origin';
import type { SessionKeeper } from './session';
import { notOffered } from './system-resource';
import { jsonBody, type RequestBody } from './transport';

/** Where the last link of a request leads to, and the relation that led there. */
interface Place {
  url: TrustedUrl;
  relation: string;
}

const { relations } = DIALECT;
/** A resource is asked for as JSON, but whatever else it is will do. */
const ACCEPT = 'application/json, */*;q=0.5';
const TEXT = /^(?:text\/|application\/(?:[\w.+-]*\+)?xml\b)/i;
const JSON_TYPE = /^(?:application\/(?:[\w.+-]*\+)?json\b|application\/[\w.-]+\.VMS\.)/i;

/** Requests that follow links to whatever the service offers beyond what the other calls do. */
export class FreeRequests {
  readonly #session: SessionKeeper;
  readonly #finder: CameraFinder;
  readonly #links: CameraLinks;
  readonly #origins: Origins;

  constructor(session: SessionKeeper, finder: CameraFinder, links: CameraLinks, origins: Origins) {
    this.#session = session;
    this.#finder = finder;
    this.#links = links;
    this.#origins = origins;
  }

  /**
   * Follows the relations one after the other, and sends the request to where the last one leads.
   * @throws RvmError BAD_INPUT, LINK_NOT_OFFERED that names the relation, UNTRUSTED_LINK, HTTP_ERROR, DEVICE_NOT_FOUND,
   *   and those of the session
   */
  async send(operation: Operation, wanted: FreeRequest): Promise<FreeAnswer> {
    const rels = wanted.rels.map((rel) => rel.trim()).filter((rel) => rel !== '');
    const [first, ...others] = rels;
    if (wanted.start === 'system' && first === undefined && wanted.method === 'GET') {
      return freeAnswer(await this.#session.system(operation));
    }
    let place = await this.#start(operation, wanted, first);
    for (const rel of others) place = this.#linkIn(await this.#get(operation, place), rel);
    const body = wanted.method === 'GET' ? undefined : requestBody(wanted.body);
    return freeAnswer(
      await this.#session.follow(operation, {
        ...place,
        method: wanted.method,
        accept: ACCEPT,
        ...(body === undefined ? {} : { body }),
      }),
    );
  }

  /** Where the start is, or where its first relation leads to. */
  async #start(operation: Operation, wanted: FreeRequest, first: string | undefined): Promise<Place> {
    switch (wanted.start) {
      case 'system': {
        if (first === undefined) return { url: this.#origins.system, relation: 'system' };
        return this.#linkIn(await this.#session.system(operation), first);
      }
      case 'url': {
        const place = { url: this.#given(wanted.url), relation: 'url' };
        return first === undefined ? place : this.#linkIn(await this.#get(operation, place), first);
      }
      case 'device':
        return this.#ofDevice(operation, await this.#camera(operation, wanted), first ?? relations.self);
      case 'data-sources': {
        const entry = await this.#camera(operation, wanted);
        if (first === undefined) return this.#ofDevice(operation, entry, relations.dataSources);
        const { url } = await this.#links.offer(operation, entry, [first]);
        return { url, relation: first };
      }
      default:
        return wanted.start satisfies never;
    }
  }

  #camera(operation: Operation, { camera }: FreeRequest): Promise<DeviceEntry> {
    if (camera === undefined || camera === '') {
      throw new RvmError('BAD_INPUT', 'No camera is named: set the camera of this node.');
    }
    return this.#finder.chosen(operation, camera, 'try');
  }

  /** On the record of the list, else on the camera's own resource. */
  async #ofDevice(operation: Operation, entry: DeviceEntry, relation: string): Promise<Place> {
    const link = findLink(entry.device, relation);
    if (link !== undefined) return { url: this.#origins.resolve(link, entry.url, relation), relation };
    const self = findLink(entry.device, relations.self);
    if (self === undefined) return notOffered(relation, 'The camera');
    const url = this.#origins.resolve(self, entry.url, relations.self);
    return this.#linkIn(await this.#get(operation, { url, relation: relations.self }), relation);
  }

  #get(operation: Operation, place: Place): Promise<Answer> {
    return this.#session.follow(operation, { ...place, method: 'GET', accept: ACCEPT });
  }

  /** A link of the resource itself, else of the first element that has it where it is a list. */
  #linkIn(answer: Answer, relation: string): Place {
    const body = answer.json();
    for (const resource of [wrappedLinks(body), ...readPage(body, []).records]) {
      const link = findLink(resource, relation);
      if (link !== undefined) return { url: this.#origins.resolve(link, answer.url, relation), relation };
    }
    return notOffered(relation, 'The resource');
  }

  #given(link: string | undefined): TrustedUrl {
    const text = link?.trim() ?? '';
    if (text !== '' && URL.canParse(text, this.#origins.system.href)) {
      return this.#origins.resolve(text, this.#origins.system, 'url');
    }
    throw new RvmError('BAD_INPUT', 'No link to ask for: put one that the service gave into msg.url.');
  }
}

function requestBody(value: unknown): RequestBody | undefined {
  if (value === undefined) return undefined;
  if (Buffer.isBuffer(value)) return { type: 'application/octet-stream', bytes: value };
  if (typeof value !== 'string') return jsonBody(value);
  return { type: isJson(value) ? 'application/json' : 'text/plain; charset=utf-8', bytes: value };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function freeAnswer(answer: Answer): FreeAnswer {
  const type = answer.contentType ?? '';
  const payload = payloadOf(answer, type);
  const headers = Object.entries(answer.headers).filter(
    (header): header is [string, string | string[]] =>
      header[1] !== undefined && header[0] !== 'set-cookie' && header[0] !== 'set-cookie2',
  );
  return {
    payload,
    statusCode: answer.status,
    headers: Object.fromEntries(headers),
    links: isRecord(payload) ? linksOf(payload['_links'], answer.url) : {},
  };
}

function payloadOf(answer: Answer, type: string): unknown {
  if (answer.empty) return '';
  if (JSON_TYPE.test(type)) return answer.json();
  if (TEXT.test(type)) return new TextDecoder().decode(answer.body);
  return answer.body;
}

function linksOf(links: unknown, base: URL): Record<string, string> {
  if (!isRecord(links)) return {};
  const found = Object.entries(links).flatMap(([relation, value]) => {
    const address = linkValue(value);
    if (address === undefined || !URL.canParse(address, base.href)) return [];
    return [[relation, new URL(address, base.href).href] as const];
  });
  return Object.fromEntries(found);
}
