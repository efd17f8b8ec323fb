import type { StationClientOptions } from '../../../../lib/cloud/station-client';
import type { Reply, ScriptedService, SeenRequest } from '../scripted-service';

/** A request as a foreign service reads it. */
export interface ForeignRequest {
  method: string;
  /** Below the prefix of the service, without the query; no closing slash. */
  path: string;
  query: URLSearchParams;
  headers: SeenRequest['headers'];
  /** Undefined where there is none. */
  json: unknown;
}

export type ForeignRoute = (request: ForeignRequest) => Reply;

/** What the commands for a camera and the requests for its video came to. */
interface Told {
  /** In the order they came, such as `preset 0`, `home`, `tour 0 starts`. */
  readonly moves: string[];
  /** Bodies of the requests for RTSP sessions. */
  readonly sessions: unknown[];
  /** Queries of the requests for a picture. */
  readonly pictures: string[];
}

/**
 * A service made by hand from what related interfaces look like. It keeps to the specification where that speaks,
 * and differs from the sandbox of this package wherever it is silent, so that nothing of the client can rest on the
 * sandbox alone.
 */
export abstract class ForeignService {
  readonly told: Told = { moves: [], sessions: [], pictures: [] };
  protected readonly service: ScriptedService;
  protected abstract readonly prefix: string;
  protected abstract readonly cookies: Cookies;
  /** By method and path below the prefix; needs a session. */
  protected abstract readonly routes: Readonly<Record<string, ForeignRoute>>;

  constructor(service: ScriptedService) {
    this.service = service;
    service.behaviour = (request) => this.#answer(request);
  }

  /** The settings of a cloud and its station that fit this service. */
  abstract settings(): Partial<StationClientOptions>;

  /** Ends every session. */
  forgetSessions(): void {
    this.cookies.forget();
  }

  /** An address of this service, absolute. */
  protected url(path: string): string {
    return `${this.service.url}${this.prefix}${path}`;
  }

  protected abstract system(request: ForeignRequest, loggedIn: boolean): Reply;
  /** Undefined where the request is no login. */
  protected abstract logIn(request: ForeignRequest): Reply | undefined;
  protected abstract keyRefused(): Reply;
  protected abstract sessionOver(): Reply;
  protected abstract notFound(): Reply;

  #answer(seen: SeenRequest): Reply {
    const url = new URL(seen.path, this.service.url);
    if (!url.pathname.startsWith(`${this.prefix}/`)) return { status: 404, text: 'outside of the service' };
    if (seen.headers['apikey'] !== this.service.apiKey) return this.keyRefused();
    const request: ForeignRequest = {
      method: seen.method,
      path: url.pathname.slice(this.prefix.length),
      query: url.searchParams,
      headers: seen.headers,
      json: jsonOf(seen.body),
    };
    const loggedIn = this.cookies.accepts(seen.headers.cookie);
    if (request.path === '/system') return this.#rotated(this.system(request, loggedIn), loggedIn);
    const login = this.logIn(request);
    if (login !== undefined) return login;
    if (!loggedIn) return this.sessionOver();
    const route = this.routes[`${request.method} ${request.path}`];
    return this.#rotated(route === undefined ? this.notFound() : route(request), true);
  }

  /** Every answer of a session brings new cookies and makes the old ones invalid. */
  #rotated(reply: Reply, loggedIn: boolean): Reply {
    if (!loggedIn || typeof reply === 'string') return reply;
    return { ...reply, headers: { ...reply.headers, 'Set-Cookie': this.cookies.next() } };
  }
}

function jsonOf(body: string): unknown {
  if (body === '') return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** A field of a JSON body. */
export function fieldOf(body: unknown, name: string): unknown {
  return typeof body === 'object' && body !== null
    ? Object.entries(body).find(([key]) => key === name)?.[1]
    : undefined;
}

/**
 * The cookies of one session at a time: all of them are needed, none other may come, and each answer brings new
 * values that make the old ones invalid.
 */
export class Cookies {
  readonly #attributes: Readonly<Record<string, string>>;
  readonly #others: readonly string[];
  #values: ReadonlyMap<string, string> = new Map();
  #turn = 0;

  /**
   * @param attributes what follows the value, by the name of the cookie
   * @param others complete `Set-Cookie` values of cookies that must not come back, as their attributes say
   */
  constructor(attributes: Readonly<Record<string, string>>, others: readonly string[]) {
    this.#attributes = attributes;
    this.#others = others;
  }

  /** The `Set-Cookie` values of an answer; from now on only these are accepted. */
  next(): string[] {
    this.#turn += 1;
    this.#values = new Map(
      Object.keys(this.#attributes).map((name, place) => [name, `turn-${this.#turn}.${place}`]),
    );
    const own = [...this.#values].map(([name, value]) => `${name}=${value}${this.#attributes[name] ?? ''}`);
    return [...own, ...this.#others];
  }

  accepts(header: string | undefined): boolean {
    if (header === undefined || this.#values.size === 0) return false;
    const sent = header.split('; ');
    const wanted = [...this.#values].map(([name, value]) => `${name}=${value}`);
    return sent.length === wanted.length && wanted.every((pair) => sent.includes(pair));
  }

  forget(): void {
    this.#values = new Map();
  }
}

/** A picture of one grey dot is more than any test looks at: a JPEG begins with FF D8 and ends with FF D9. */
export const JPEG = Buffer.from(
  'ffd8ffe000104a46494600010100000100010000ffdb004300' + '10'.repeat(64) + 'ffc0000b080001000101011100ffd9',
  'hex',
);

/** When the pictures of the foreign services were taken. */
export const PICTURE_TIME = '2026-11-21T09:59:58.250Z';

/** A body of the type `multipart/mixed`, its pictures each with a `Time:` line. */
export function multipart(boundary: string, pictures: readonly { jpeg: Buffer; time: string }[]): Buffer {
  const parts = pictures.flatMap(({ jpeg, time }) => [
    Buffer.from(
      `\r\n--${boundary}\r\nContent-Type: image/jpeg\r\nTime: ${time}\r\nContent-Length: ${jpeg.length}\r\n\r\n`,
    ),
    jpeg,
  ]);
  return Buffer.concat([...parts, Buffer.from(`\r\n--${boundary}--\r\n`)]);
}
