import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { StationClient, type StationClientOptions } from '../../../lib/cloud/station-client';
import { STATION_TIMING, type StationTiming } from '../../../lib/cloud/timing';
import type { RtspSession } from '../../../lib/cloud/calls';
import type { RvmEvent } from '../../../lib/event';
import { endProcess } from '../network/servers';
import { temporaryFolder } from '../suite/temporary-folder';
import { ScriptedService } from './scripted-service';
import { EVENT_OF_GATE, rtspForEvent, settingsOf } from './scripted-station';

/** Its presets and tours are called by relations that nobody would guess: by `rel/self`, or by those that are given. */
export function ownPtzLinks(service: ScriptedService, names: string): void {
  const [preset = '', start = '', stop = ''] = names.split(' ');
  const links = { 'rel/ptz_presets': '/presets', 'rel/ptz_tours': '/tours' };
  service.on('GET', '/sources/Gate', { json: { _links: links } });
  service.on('GET', '/presets', {
    json: {
      presets: [{ id: 0, name: 'Door', _links: { [preset]: '/presets/0' } }],
      _links: { 'rel/self': '/presets' },
    },
  });
  service.on('GET', '/tours', {
    json: { tours: [{ id: 4, name: 'Round', _links: { [start]: '/tours/4', [stop]: '/tours/4/end' } }] },
  });
  for (const path of ['/presets', '/presets/0', '/tours/4', '/tours/4/end']) {
    service.on('POST', path, { status: 204 });
  }
}

/** Chooses these versions one after the other, each for the next System resource, whatever was asked for; the last one stays. */
function ofVersions(service: ScriptedService, versions: string): void {
  const all = versions.split(' ');
  let turn = 0;
  service.on('GET', '/system', (request) => {
    // The first two belong to one login.
    const version = all[Math.min(Math.max(0, turn - 1), all.length - 1)];
    turn += 1;
    const reply = service.system(request);
    if (typeof reply === 'string') return reply;
    return { ...reply, headers: { 'Content-Type': `application/json; version=${version}` } };
  });
}

/** Makes a service differ from the usual in one thing, in the way that is given. */
type Peculiarity = (service: ScriptedService, how: string) => void;

/** What a service may have of its own, each in a small program. */
const PECULIARITIES = {
  plain: () => undefined,
  ownPtzLinks,
  ofVersions,
} as const satisfies Record<string, Peculiarity>;

type PeculiarityName = keyof typeof PECULIARITIES;

/** What a client needs to use a service. */
export type Access = Record<'url' | 'apiKey' | 'username' | 'password', string>;

/** What the process is asked for: a service of its own kind, or what one of them has seen. */
type Question = { start: PeculiarityName; how: string } | { seenBy: string };
type Asked = Question & { id: number };

/** Services in a process of their own, which has nothing in common with the client but the network. */
export class ForkedServices {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (result: unknown) => void>();
  #count = 0;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on('message', (message) => {
      const { id, result } = message as { id: number; result: unknown };
      this.#waiting.get(id)?.(result);
      this.#waiting.delete(id);
    });
  }

  static async start(): Promise<ForkedServices> {
    const child = fork(__filename, [], { execArgv: ['--import=tsx'] });
    await once(child, 'message');
    return new ForkedServices(child);
  }

  /** One more service. */
  async service(start: PeculiarityName, how = ''): Promise<Access> {
    return (await this.#ask({ start, how })) as Access;
  }

  /** What one of them was asked for, in the order in which it came, such as `POST /login`. */
  async paths({ url }: Access): Promise<string[]> {
    return (await this.#ask({ seenBy: url })) as string[];
  }

  /** Ends them all as a machine does that loses its power. A second call changes nothing. */
  async kill(): Promise<void> {
    await endProcess(this.#child, 'SIGKILL');
  }

  #ask(asked: Question): Promise<unknown> {
    this.#count += 1;
    const id = this.#count;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, resolve);
      this.#child.send({ id, ...asked }, (error) => {
        if (error !== null) reject(error);
      });
    });
  }
}

async function serve(): Promise<void> {
  const services = new Map<string, ScriptedService>();
  process.on('disconnect', () => process.exit());
  process.on('message', (message) => {
    const asked = message as Asked;
    void answer(services, asked).then((result) => process.send?.({ id: asked.id, result }));
  });
  process.send?.('ready');
}

async function answer(services: Map<string, ScriptedService>, asked: Asked): Promise<unknown> {
  if ('seenBy' in asked) {
    const { seen = [] } = services.get(asked.seenBy) ?? {};
    return seen.map(({ method, path }) => `${method} ${path}`);
  }
  const service = await ScriptedService.start();
  PECULIARITIES[asked.start](service, asked.how);
  const { url, apiKey, username, password } = service;
  services.set(url, service);
  return { url, apiKey, username, password };
}

if (require.main === module) void serve();

/** Those that begin anew with each test of a suite. */
export function runsOfEachTest(service: ScriptedService): Runs {
  const runs = new Runs(() => settingsOf(service));
  beforeEach(() => runs.begin());
  afterEach(() => runs.end());
  return runs;
}

/** The runs of a client, one after the other, that keep what they have learned in one folder. */
class Runs {
  folder = '';
  readonly faults: Error[] = [];
  #client: StationClient | undefined;

  constructor(private readonly settings: () => StationClientOptions) {}

  begin(): void {
    this.folder = temporaryFolder('hints');
    this.faults.length = 0;
  }

  /** The first run, with the videos of these events and the list; then all that was asked for is forgotten. */
  async first({ seen }: ScriptedService, ...events: RvmEvent[]): Promise<void> {
    const client = await this.next();
    for (const event of events) await rtspForEvent(client, event);
    if (events.length === 0) await client.listDevices();
    await this.end();
    seen.length = 0;
  }

  /** One more run, in which the video of this event is had. */
  async video(event: RvmEvent = EVENT_OF_GATE): Promise<RtspSession> {
    return rtspForEvent(await this.next(), event);
  }

  /** Ends the run before, and begins another one. */
  async next(
    options: Partial<StationClientOptions> = {},
    timing: Partial<StationTiming> = {},
  ): Promise<StationClient> {
    await this.end();
    const hints = { folder: this.folder, onFault: (error: Error) => void this.faults.push(error) };
    this.#client = new StationClient(
      { ...this.settings(), hints, ...options },
      { ...STATION_TIMING, ...timing },
    );
    return this.#client;
  }

  async end(): Promise<void> {
    await this.#client?.close();
  }

  /** The files that were written, by name; none where there is no folder. */
  files(): string[] {
    return fs.existsSync(this.folder) ? fs.readdirSync(this.folder).sort() : [];
  }

  /** The file of the links, or of the pages. */
  file(kind: 'links' | 'pages'): string {
    const name = this.files().find((candidate) => candidate.endsWith(`.${kind}`));
    if (name === undefined) throw new Error(`there is no file of the ${kind}`);
    return path.join(this.folder, name);
  }

  /** Changes with each writing of the files, and with nothing else. */
  writings(): number[] {
    return [this.file('links'), this.file('pages')].map((file) => fs.statSync(file).ino);
  }
}
