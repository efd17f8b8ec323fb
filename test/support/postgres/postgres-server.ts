import { execFile, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { appendFileSync, chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { endProcess } from '../network/servers';
import { freePort } from '../node-red/node-red';
import { programPath, type Program } from '../suite/programs';
import { eventually } from '../time/patience';

/** PostgreSQL refuses root: then it runs as `nobody`. */
const NOBODY = 65_534;
export const IDENTITY = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
const SUPERUSER = 'admin';
/** Signals of a shutdown that ends all sessions, and of one that needs a recovery afterwards. */
const SIGNALS = { fast: 'SIGINT', immediate: 'SIGQUIT', kill: 'SIGKILL' } as const;

const run = promisify(execFile);

interface PostgresOptions {
  /** Lines of postgresql.conf besides. `fsync` stays on. */
  settings?: Record<string, string>;
  /**
   * A copy of this one, which follows it: started as its hot standby under this application name. `login`: parameters of its
   * connection, in the place of the superuser's.
   */
  standbyOf?: { primary: PostgresServer; name: string; login?: string };
  /** It keeps no process alive, and is removed as this one exits. */
  untilExit?: boolean;
}

/** What `initdb` makes takes a second of CPU time: each server of this process gets a copy. */
let template: Promise<string> | undefined;

/** A real PostgreSQL on the loopback interface, in a temporary folder. */
export class PostgresServer {
  log = '';
  #child: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    readonly port: number,
  ) {}

  /** For the `before` of tests, behind `needs(this, 'postgres')`. */
  static async start({
    settings = {},
    standbyOf,
    untilExit = false,
  }: PostgresOptions = {}): Promise<PostgresServer> {
    const server = new PostgresServer(newFolder(), await freePort());
    try {
      await (standbyOf === undefined ? server.#initialise() : server.#copy(standbyOf));
      server.#configure(settings);
      await server.run();
      if (untilExit) server.#removeAtExit();
      return server;
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  /** @param role a superuser by default, who needs no password */
  url(database = 'postgres', role = SUPERUSER): string {
    return `postgres://${role}@127.0.0.1:${this.port}/${database}`;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get isRunning(): boolean {
    const child = this.#child;
    return child !== undefined && child.exitCode === null && child.signalCode === null;
  }

  /** A database of its own for a test. @returns its URL */
  async database(name: string): Promise<string> {
    await this.sql(`CREATE DATABASE "${name}"`);
    return this.url(name);
  }

  /** Runs statements as superuser; rows of the last. */
  async sql(text: string, database = 'postgres'): Promise<Record<string, unknown>[]> {
    const client = new Client(this.url(database));
    await client.connect();
    try {
      const result = await client.query<Record<string, unknown>>(text);
      return Array.isArray(result) ? [] : result.rows;
    } finally {
      await client.end();
    }
  }

  /** Starts it after it was ended. */
  async run(): Promise<void> {
    const child = spawn(program('postgres'), ['-D', this.#data], {
      ...this.#place,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    for (const output of [child.stdout, child.stderr])
      output.on('data', (piece: Buffer) => (this.log += piece.toString()));
    await eventually(() => this.#answers(child), 'PostgreSQL to answer');
  }

  /** Ends it. `kill`: the postmaster alone dies at once, and its children after it. */
  async end(how: keyof typeof SIGNALS): Promise<void> {
    await endProcess(this.#child, SIGNALS[how]);
  }

  /** A standby becomes the primary. */
  async promote(): Promise<void> {
    await this.sql('SELECT pg_promote()');
  }

  /** Ends it, and removes all that it has written. */
  async remove(): Promise<void> {
    await this.end('immediate');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
  }

  #removeAtExit(): void {
    const child = this.#child;
    child?.unref();
    for (const output of [child?.stdout, child?.stderr]) (output as Socket | undefined)?.unref();
    process.once('exit', () => {
      spawnSync(program('pg_ctl'), ['stop', '-m', 'immediate', '-D', this.#data], this.#place);
      rmSync(this.folder, { recursive: true, force: true, maxRetries: 10 });
    });
  }

  /** Whoever it runs as may not look into the home of who started it. */
  get #place(): Place {
    return placeIn(this.folder);
  }

  get #data(): string {
    return path.join(this.folder, 'data');
  }

  async #initialise(): Promise<void> {
    template ??= newTemplate();
    await run('cp', ['-a', await template, this.#data], this.#place);
  }

  async #copy({
    primary,
    name,
    login = `user=${SUPERUSER}`,
  }: NonNullable<PostgresOptions['standbyOf']>): Promise<void> {
    const source = `host=127.0.0.1 port=${primary.port} ${login} application_name=${name}`;
    const options = ['-R', '-X', 'stream', '-c', 'fast', '-d', source];
    await run(program('pg_basebackup'), ['-D', this.#data, ...options], this.#place);
  }

  /** The last line of a setting counts. */
  #configure(settings: Record<string, string>): void {
    const all = {
      port: String(this.port),
      listen_addresses: "'127.0.0.1'",
      unix_socket_directories: `'${this.folder}'`,
      ...settings,
    };
    const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}\n`);
    appendFileSync(path.join(this.#data, 'postgresql.conf'), lines.join(''));
  }

  async #answers(child: ChildProcess): Promise<boolean> {
    if (child.exitCode !== null) throw new Error(`PostgreSQL has ended: ${this.log}`);
    return this.sql('SELECT 1').then(
      () => true,
      () => false,
    );
  }
}

type Place = { cwd: string; env: NodeJS.ProcessEnv; uid?: number; gid?: number };

function placeIn(folder: string): Place {
  return { ...IDENTITY, cwd: folder, env: { ...process.env, HOME: folder } };
}

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), 'postgres-'));
  chmodSync(folder, 0o755);
  if (IDENTITY.uid !== undefined) chownSync(folder, IDENTITY.uid, IDENTITY.gid);
  return folder;
}

async function newTemplate(): Promise<string> {
  const folder = newFolder();
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const data = path.join(folder, 'data');
  const options = ['-U', SUPERUSER, '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
  await run(program('initdb'), ['-D', data, ...options], placeIn(folder));
  return data;
}

function program(name: Program): string {
  const found = programPath(name);
  if (found === undefined) throw new Error(`${name} is not installed`);
  return found;
}
