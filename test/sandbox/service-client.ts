import assert from 'node:assert/strict';
import { Sandbox, type SandboxOptions } from '../../sandbox';

/** A JSON answer, read without trust. */
export interface JsonAnswer {
  status: number;
  headers: Headers;
  body: Json;
}

/** JSON of any shape, with access by name or index that fails with the path it was looking for. */
export class Json {
  constructor(
    readonly value: unknown,
    private readonly path = 'body',
  ) {}

  at(...keys: (string | number)[]): Json {
    let current = new Json(this.value, this.path);
    for (const key of keys) current = current.#step(key);
    return current;
  }

  get text(): string {
    return typeof this.value === 'string' ? this.value : this.#isNo('text');
  }

  get number(): number {
    return typeof this.value === 'number' ? this.value : this.#isNo('number');
  }

  get list(): Json[] {
    if (!Array.isArray(this.value)) return this.#isNo('list');
    return this.value.map((item: unknown, index) => new Json(item, `${this.path}[${index}]`));
  }

  get keys(): string[] {
    return typeof this.value === 'object' && this.value !== null ? Object.keys(this.value) : [];
  }

  has(key: string): boolean {
    return this.keys.includes(key);
  }

  #step(key: string | number): Json {
    const entry = Object.entries(this.value ?? {}).find(([name]) => name === String(key));
    return new Json(entry?.[1], `${this.path}.${key}`);
  }

  #isNo(kind: string): never {
    assert.fail(`${this.path} is no ${kind}: ${JSON.stringify(this.value)}`);
  }
}

export function first(list: readonly Json[]): Json {
  return list[0] ?? assert.fail('there is none');
}

/** A client that knows nothing but the specification: `/system`, links, key and cookie. */
export class ServiceClient {
  cookie = '';

  constructor(
    readonly baseUrl: string,
    private readonly apiKey: string,
  ) {}

  async request(method: string, link: string, options: RequestOptions = {}): Promise<JsonAnswer> {
    const response = await this.raw(method, link, options);
    const text = await response.text();
    const value: unknown = text === '' ? undefined : JSON.parse(text);
    return { status: response.status, headers: response.headers, body: new Json(value) };
  }

  async raw(method: string, link: string, options: RequestOptions = {}): Promise<Response> {
    const session: Record<string, string> = this.cookie === '' ? {} : { Cookie: this.cookie };
    const headers = { ApiKey: this.apiKey, ...session, ...options.headers };
    const body = options.json === undefined ? {} : { body: JSON.stringify(options.json) };
    const response = await fetch(new URL(link, this.baseUrl), { method, headers, ...body });
    const [pair] = (response.headers.get('set-cookie') ?? '').split(';');
    if (pair !== undefined && pair !== '') this.cookie = pair;
    return response;
  }

  get(link: string): Promise<JsonAnswer> {
    return this.request('GET', link);
  }

  post(link: string, json: unknown = {}): Promise<JsonAnswer> {
    return this.request('POST', link, { json });
  }

  system(range = '1-9'): Promise<JsonAnswer> {
    return this.request('GET', '/system', { headers: { Accept: `application/json; version=${range}` } });
  }

  async login(username: string, password: string): Promise<JsonAnswer> {
    const system = await this.system();
    return this.post(system.body.at('_links', 'rel/login').text, { username, password });
  }

  /** All devices, over all pages. */
  async devices(): Promise<Json[]> {
    const system = await this.system();
    const devices: Json[] = [];
    let link: string | undefined = system.body.at('_links', 'rel/devices').text;
    while (link !== undefined) {
      const page: Json = (await this.get(link)).body;
      devices.push(...page.at('devices').list);
      link = page.at('_links').has('next') ? page.at('_links', 'next').text : undefined;
    }
    return devices;
  }

  async dataSources(device: Json): Promise<Json> {
    return (await this.get(device.at('_links', 'rel/data_sources').text)).body;
  }

  async details(device: Json): Promise<Json> {
    return (await this.get(device.at('_links', 'rel/self').text)).body;
  }
}

interface RequestOptions {
  json?: unknown;
  headers?: Record<string, string>;
}

const running = new Set<Sandbox>();

/** A sandbox on free ports without alarms of its own; it ends with {@link closeSandboxes}. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await Sandbox.start({ rtspPort: 0, eventsPerMinute: 0, ...options });
  running.add(sandbox);
  return sandbox;
}

export async function closeSandboxes(): Promise<void> {
  await Promise.all([...running].map((sandbox) => sandbox.close()));
  running.clear();
}

/** A sandbox and a client that is logged in. */
export async function startLoggedIn(options: SandboxOptions = {}) {
  const sandbox = await startSandbox(options);
  const { username, password } = sandbox.setStation('north', { scheme: 'http' });
  const client = new ServiceClient(sandbox.url, sandbox.apiKey);
  await client.login(username, password);
  return { sandbox, client };
}

/** A control call. */
export function control(sandbox: Sandbox, method: string, path: string, json?: unknown): Promise<JsonAnswer> {
  return new ServiceClient(sandbox.url, 'none').request(method, `/sandbox/${path}`, { json });
}

/** Moves the clock on. */
export function advance(sandbox: Sandbox, seconds: number): Promise<JsonAnswer> {
  return control(sandbox, 'POST', 'clock', { advance: seconds });
}

export async function stateOf(sandbox: Sandbox): Promise<Json> {
  return (await control(sandbox, 'GET', 'state')).body;
}
