import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import { Authority } from '../network/certificates';
import { endProcess, LocalServer } from '../network/servers';
import { freePort } from '../node-red/node-red';
import { programPath } from '../suite/programs';
import { eventually } from '../time/patience';
import { IDENTITY, PostgresServer } from './postgres-server';
import type { SharedServer } from './shared-server';

/** Says one thing after the other, each to whatever it hears. */
export class GarblingServer extends LocalServer {
  static start(...said: readonly Buffer[]): Promise<GarblingServer> {
    const serve = (socket: Socket): void => {
      const rest = [...said];
      socket.on('data', () => {
        const next = rest.shift();
        if (next !== undefined) socket.write(next);
      });
    };
    return new GarblingServer(createServer(serve)).listening();
  }
}

/** As PostgreSQL frames what it says. */
export function framed(type: string, body: readonly number[] | Buffer): Buffer {
  const frame = Buffer.alloc(5 + body.length);
  frame.write(type);
  frame.writeInt32BE(4 + body.length, 1);
  frame.set(body, 5);
  return frame;
}

/** Lets anybody in, and answers each question with one row of texts: as much of a PostgreSQL as a version shows. */
export class OldServer extends LocalServer {
  private constructor(
    private readonly row: Readonly<Record<string, string>>,
    private readonly most: number,
  ) {
    super(createServer((socket) => this.#serve(socket)));
  }

  /** @param most questions that each connection is answered: none behind them */
  static start(row: Readonly<Record<string, string>>, most = Infinity): Promise<OldServer> {
    return new OldServer(row, most).listening();
  }

  #serve(socket: Socket): void {
    socket.once('data', () => {
      // AuthenticationOk, ReadyForQuery
      socket.write(Buffer.concat([framed('R', [0, 0, 0, 0]), framed('Z', [0x49])]));
      let asked = 0;
      socket.on('data', (piece) => {
        if (piece[0] !== 'Q'.charCodeAt(0)) return;
        asked += 1;
        if (asked <= this.most) socket.write(this.#answer());
      });
    });
  }

  /** RowDescription, DataRow, CommandComplete, ReadyForQuery */
  #answer(): Buffer {
    const names = Object.keys(this.row);
    const ofEach = [int32(0), int16(0), int32(25), int16(-1), int32(-1), int16(0)];
    const fields = names.flatMap((name) => [Buffer.from(`${name}\0`), ...ofEach]);
    const values = Object.values(this.row).flatMap((value) => [
      int32(Buffer.byteLength(value)),
      Buffer.from(value),
    ]);
    return Buffer.concat([
      framed('T', Buffer.concat([int16(names.length), ...fields])),
      framed('D', Buffer.concat([int16(names.length), ...values])),
      framed('C', Buffer.from('SELECT 1\0')),
      framed('Z', [0x49]),
    ]);
  }
}

function int16(value: number): Buffer {
  const buffer = Buffer.alloc(2);
  buffer.writeInt16BE(value);
  return buffer;
}

function int32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
}

/** A pooler in front of a server, which gives each transaction whichever connection is free. */
export class PgBouncer {
  private constructor(
    private readonly files: ServerFiles,
    private readonly child: ChildProcess,
    private readonly port: number,
    private readonly database: string,
  ) {}

  /** For the `before` of tests, behind `needs(this, 'pgbouncer')`. */
  static async start(server: SharedServer): Promise<PgBouncer> {
    const files = new ServerFiles();
    const port = await freePort();
    const file = files.save('pgbouncer.ini', settings(server.port, port));
    const command = programPath('pgbouncer');
    if (command === undefined) throw new Error('pgbouncer is not installed');
    const child = spawn(command, [file.slice(1, -1)], { ...IDENTITY, stdio: 'ignore' });
    const pooler = new PgBouncer(files, child, port, server.name);
    await eventually(() => pooler.#answers(), 'PgBouncer to answer');
    return pooler;
  }

  /** Of the first database of the file. */
  get url(): string {
    return this.urlOf(this.database);
  }

  urlOf(database: string): string {
    return `postgres://admin@127.0.0.1:${this.port}/${database}`;
  }

  async remove(): Promise<void> {
    await endProcess(this.child, 'SIGKILL');
    this.files.remove();
  }

  async #answers(): Promise<boolean> {
    if (this.child.exitCode !== null) throw new Error('PgBouncer has ended');
    const client = new Client(this.url);
    try {
      await client.connect();
      await client.end();
      return true;
    } catch {
      return false;
    }
  }
}

function settings(target: number, port: number): string {
  return `[databases]
* = user=admin host=127.0.0.1 port=${target}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 4
`;
}

/** Files for a PostgreSQL, which may be of another user than the tests. */
export class ServerFiles {
  readonly #folder = mkdtempSync(path.join(tmpdir(), 'postgres-files-'));

  constructor() {
    chmodSync(this.#folder, 0o755);
  }

  /** @returns the file, in quotes as postgresql.conf has it */
  save(name: string, text: string): string {
    const file = path.join(this.#folder, name);
    writeFileSync(file, text, { mode: 0o600 });
    if (IDENTITY.uid !== undefined) chownSync(file, IDENTITY.uid, IDENTITY.gid);
    return `'${file}'`;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}

/** Who has to prove who he is. */
const RULES = `host all alarms 127.0.0.1/32 scram-sha-256
host all,replication all 127.0.0.1/32 trust
`;

/** A server that speaks TLS by an authority that no machine knows, and asks the role `alarms` for its password. */
export class StrictServer {
  private constructor(
    readonly server: PostgresServer,
    readonly authority: Authority,
    private readonly files: ServerFiles,
  ) {}

  static async start(password: string): Promise<StrictServer> {
    const authority = new Authority();
    const files = new ServerFiles();
    const { cert, key } = authority.issueForServer();
    const settings = {
      ssl: 'on',
      ssl_cert_file: files.save('server.crt', cert),
      ssl_key_file: files.save('server.key', key),
      hba_file: files.save('pg_hba.conf', RULES),
    };
    const server = await PostgresServer.start({ settings });
    await server.sql(`CREATE ROLE alarms LOGIN PASSWORD '${password}'`);
    return new StrictServer(server, authority, files);
  }

  async remove(): Promise<void> {
    await this.server.remove();
    this.authority.remove();
    this.files.remove();
  }
}
