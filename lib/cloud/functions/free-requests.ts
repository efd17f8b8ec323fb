import { RvmError } from '../../error';
import type { JsonRecord } from '../../json/json';
import type { Answer } from '../http/answer';
import type { FreeAnswer, FreeRequest } from '../calls';
import type { CameraFinder } from '../cameras/camera-finder';
import type { CameraLinks } from '../cameras/camera-links';
import { readPage, wrappedLinks } from '../http/collection';
import type { DeviceDirectory } from '../cameras/device-directory';
import type { DeviceEntry } from '../cameras/device-index';
import { DIALECT } from '../dialect';
import { findLink, linkValue } from '../http/links';
import type { Operation } from '../operation';
import type { Origins, TrustedUrl } from '../http/origin';
import type { SessionKeeper } from '../session/session-keeper';
import { notOffered } from '../session/system-resource';
import { requestBody } from './request-body';

/** Where the last link of a request leads to, and the relation that led there. */
interface Place {
  url: TrustedUrl;
  relation: string;
}

const { relations } = DIALECT;
/** What belongs to the connection or to the coding of the body: in a message it would break the next request or answer. */
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
/** A resource is asked for as JSON, but whatever else it is will do. */
const ACCEPT = 'application/json, */*;q=0.5';
const TEXT = /^(?:text\/|application\/(?:[\w.+-]*\+)?xml\b)/i;
const JSON_TYPE = /^(?:application\/(?:[\w.+-]*\+)?json\b|application\/[\w.-]+\.VMS\.)/i;

/** Requests that follow links to whatever the service offers beyond what the other calls do. */
export class FreeRequests {
  readonly #session: SessionKeeper;
  readonly #directory: DeviceDirectory;
  readonly #finder: CameraFinder;
  readonly #links: CameraLinks;
  readonly #origins: Origins;

  constructor(
    session: SessionKeeper,
    directory: DeviceDirectory,
    finder: CameraFinder,
    links: CameraLinks,
    origins: Origins,
  ) {
    this.#session = session;
    this.#directory = directory;
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
    if (wanted.start !== 'device' && wanted.start !== 'data-sources') {
      const place = await this.#placeOf(operation, wanted, first);
      return freeAnswer(await this.#follow(operation, wanted, place, others));
    }
    const entry = await this.#camera(operation, wanted);
    const find = (camera: DeviceEntry): Promise<Place> =>
      wanted.start === 'device'
        ? this.#ofDevice(operation, camera, first)
        : this.#ofSources(operation, camera, first);
    const answer = await this.#links.call(operation, entry, find, (place) =>
      this.#follow(operation, wanted, place, others),
    );
    return freeAnswer(answer);
  }

  /** The last relation is followed with the method that is wanted. */
  async #follow(
    operation: Operation,
    wanted: FreeRequest,
    first: Place,
    others: readonly string[],
  ): Promise<Answer> {
    let place = first;
    for (const rel of others) place = this.#linkIn(await this.#get(operation, place), rel);
    const body = wanted.method === 'GET' ? undefined : requestBody(wanted.body);
    return this.#session.follow(operation, {
      url: place.url,
      relation: place.relation,
      method: wanted.method,
      accept: ACCEPT,
      ...(body === undefined ? {} : { body }),
    });
  }

  /** Where the service or a given link is, or where its first relation leads to. */
  async #placeOf(
    operation: Operation,
    { start, url }: FreeRequest,
    first: string | undefined,
  ): Promise<Place> {
    if (start === 'system') {
      if (first === undefined) return { url: this.#origins.system, relation: 'system' };
      return this.#linkIn(await this.#session.system(operation), first);
    }
    const place = { url: this.#given(url), relation: 'msg.url' };
    return first === undefined ? place : this.#linkIn(await this.#get(operation, place), first);
  }

  async #ofSources(operation: Operation, entry: DeviceEntry, relation: string | undefined): Promise<Place> {
    if (relation !== undefined) return this.#links.offer(operation, entry, [relation]);
    return this.#ofDevice(operation, entry, relations.dataSources);
  }

  #camera(operation: Operation, { camera }: FreeRequest): Promise<DeviceEntry> {
    if (camera === undefined || camera === '') {
      throw new RvmError('BAD_INPUT', 'No camera is named: set the camera of this node.');
    }
    return this.#finder.chosen(operation, camera, 'try');
  }

  /** The camera's own resource; a relation is looked for on the record of the list, and then there. */
  async #ofDevice(operation: Operation, entry: DeviceEntry, relation: string | undefined): Promise<Place> {
    const link = relation === undefined ? undefined : findLink(entry.device, relation);
    if (relation !== undefined && link !== undefined) {
      return { url: this.#origins.resolve(link, entry.url, relation), relation };
    }
    const own = this.#directory.ownLink(entry);
    if (own === undefined) return notOffered(relation ?? relations.details[0], 'The camera', entry.device);
    return relation === undefined ? own : this.#linkIn(await this.#get(operation, own), relation);
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
    return notOffered(relation, 'The resource', wrappedLinks(body));
  }

  #given(link: string | undefined): TrustedUrl {
    const text = link?.trim() ?? '';
    if (LINK.test(text) && URL.canParse(text, this.#origins.system.href)) {
      return this.#origins.resolve(text, this.#origins.system, 'msg.url');
    }
    throw new RvmError(
      'BAD_INPUT',
      'msg.url holds no link that could be asked for: put one there that the service gave, such as one of msg.links.',
    );
  }
}

function freeAnswer(answer: Answer): FreeAnswer {
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
