import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededToken, seededUuid } from '../../../sandbox/world/seeded';
import { LocalServer } from '../network/servers';

export interface PagedDevicesOptions {
  devices: number;
  pageSize: number;
  /** The first so many devices are listed as offline. */
  offline?: number;
  /** So many more are offline as well, others each time that the list is asked for from its start. */
  changing?: number;
  /** The list tells no remote ids, only the details of the cameras do. */
  remoteIdInDetails?: boolean;
  /** Milliseconds that each page takes. */
  pageMs?: number;
}

/** What has been asked for, by kind. */
interface Asked {
  logins: number;
  pages: number;
  details: number;
  dataSources: number;
  rtsp: number;
}

const COOKIE = 'sid=paged';

/**
 * A service with very many cameras, over as many pages as it takes. The pages are made once, at the start, unless cameras
 * change.
 */
export class PagedDevices extends LocalServer {
  readonly apiKey = 'key';
  readonly username = 'agent';
  readonly password = 'Password-1';
  readonly asked: Asked = { logins: 0, pages: 0, details: 0, dataSources: 0, rtsp: 0 };
  readonly ids: readonly string[];
  /** Awaited before each page, and told which one it is. */
  beforePage: (index: number) => Promise<void> | undefined = () => undefined;
  /** What the details of a camera tell that is listed as offline. */
  statusInDetails = 'offline';
  readonly #options: PagedDevicesOptions;
  /** All that stays of each camera. */
  readonly #records: readonly object[];
  readonly #pages: readonly Buffer[];
  /** How often the list has been asked for. */
  #lists = 0;

  private constructor(server: Server, options: PagedDevicesOptions) {
    super(server);
    const { devices, pageSize, remoteIdInDetails = false } = options;
    this.#options = options;
    this.ids = Array.from({ length: devices }, (_, index) => idOf(index));
    this.#records = this.ids.map((id, index) => ({
      ...record(id, index, ''),
      ...(remoteIdInDetails ? { remoteId: undefined } : {}),
    }));
    const count = Math.ceil(devices / pageSize);
    this.#pages = Array.from({ length: count }, (_, index) => this.#made(index, count));
    server.on('request', (req, res) => {
      req.resume();
      req.on('end', () => {
        this.#answer(req, res).catch(() => res.writeHead(500).end());
      });
    });
  }

  static start(options: PagedDevicesOptions): Promise<PagedDevices> {
    return new PagedDevices(createServer(), options).listening();
  }

  get pageCount(): number {
    return this.#pages.length;
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://service');
    const [, kind = '', id = ''] = url.pathname.split('/');
    switch (kind) {
      case 'system': {
        const isIn = req.headers.cookie === COOKIE;
        const link = isIn ? { 'rel/devices': '/devices' } : { 'rel/login': '/login' };
        const type = { 'Content-Type': 'application/json; version=3' };
        return send(res, { _type: 'System', _links: link }, type);
      }
      case 'login':
        this.asked.logins += 1;
        return send(res, {}, { 'Set-Cookie': `${COOKIE}; Path=/` });
      case 'devices':
        return this.#page(Number(url.searchParams.get('page') ?? 0), res);
      case 'device': {
        this.asked.details += 1;
        const index = this.ids.indexOf(id);
        return send(res, record(id, index, this.statusInDetails));
      }
      case 'sources':
        this.asked.dataSources += 1;
        return send(res, { _links: { 'rel/rtsp': `/rtsp/${id}` } });
      case 'rtsp':
        this.asked.rtsp += 1;
        return send(res, { rtspRelayURL: `rtsp://relay.example:8554/${id}` });
      default:
        res.writeHead(404).end();
    }
  }

  async #page(index: number, res: ServerResponse): Promise<void> {
    this.asked.pages += 1;
    if (index === 0) this.#lists += 1;
    await this.beforePage(index);
    if (this.#options.pageMs !== undefined) await sleep(this.#options.pageMs);
    const page =
      this.#options.changing === undefined ? this.#pages[index] : this.#made(index, this.pageCount);
    res.writeHead(200, { 'Content-Type': 'application/json' }).end(page);
  }

  #made(index: number, count: number): Buffer {
    const { devices, pageSize } = this.#options;
    const next = index + 1 < count ? { next: `/devices?page=${index + 1}` } : {};
    const from = index * pageSize;
    const page = this.#records.slice(from, from + pageSize).map((record, place) => ({
      ...record,
      status: this.#isOffline(from + place) ? 'offline' : 'online',
    }));
    return Buffer.from(JSON.stringify({ devices: page, total: devices, _links: next, _type: 'Devices' }));
  }

  /** Those that change are spread evenly over the list. */
  #isOffline(index: number): boolean {
    const { devices, offline = 0, changing = 0 } = this.#options;
    const distance = Math.floor(devices / changing);
    return index < offline || (changing > 0 && index % distance === this.#lists % distance);
  }
}

function send(res: ServerResponse, body: object, headers: Record<string, string> = {}): void {
  res.writeHead(200, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

export function idOf(index: number): string {
  return seededUuid(1, `paged ${index}`);
}

export function remoteIdOf(index: number): string {
  return seededToken(2, `paged ${index}`);
}

/** A record as the sandbox serves it, with what a service of this kind is likely to tell as well. */
function record(id: string, index: number, status: string): object {
  return {
    id,
    remoteId: remoteIdOf(index),
    name: `Camera ${index}`,
    siteId: seededUuid(3, `site ${index % 500}`),
    siteName: `Site ${index % 500}`,
    status,
    manufacturer: 'SANDBOX',
    model: 'Fixed camera',
    serial: `SN-${index}`,
    firmwareVersion: '8.7.1',
    timezone: 'Europe/Berlin',
    capabilities: {
      ptz: false,
      audio: true,
      streams: [
        { width: 1920, height: 1080 },
        { width: 640, height: 360 },
      ],
    },
    _links: { 'rel/self': `/device/${id}`, 'rel/data_sources': `/sources/${id}` },
    _system_id: seededUuid(1, 'system'),
    _type: 'Device',
  };
}
