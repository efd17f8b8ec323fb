import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { Client } from 'pg';
import { Authority } from '../network/certificates';
import { ROOT } from '../node-red/node-red';
import { temporaryFolder } from '../suite/temporary-folder';
import { PostgresServer } from './postgres-server';

const FOLDER = path.join(ROOT, 'docs', 'postgresql');
/** As whom PostgreSQL runs where the tests run as root. */
const NOBODY = 65_534;
/** The names that the documentation has for its two machines. */
const NAMES = ['db1.example.com', 'db2.example.com'];
/** Of the tests, who look at a server from outside its rules. */
const OF_THE_TEST = 'host all,replication admin 127.0.0.1/32 trust\n';

/** The text of a file in docs/postgresql. */
function documented(file: string): string {
  return fs.readFileSync(path.join(FOLDER, file), 'utf8');
}

/** Statements of a file in docs/postgresql, for those who send one at a time. */
function documentedStatements(file: string): string[] {
  const text = documented(file).replace(/^--.*$/gm, '');
  return text
    .split(/;$/m)
    .map((statement) => statement.trim())
    .filter((statement) => statement !== '');
}

/**
 * A primary and its standby, with the files of docs/postgresql, on the loopback interface. Only addresses, ports and places are
 * others.
 */
export class DocumentedServers {
  readonly authority = new Authority();
  readonly #folder = temporaryFolder('documented-postgres');
  readonly #servers: PostgresServer[] = [];

  private constructor() {
    const { cert, key } = this.authority.issueForServer(
      [...NAMES.map((name) => `DNS:${name}`), 'IP:127.0.0.1'].join(','),
    );
    this.#save('server.crt', cert);
    this.#save('server.key', key, 0o600);
    this.#save('ca.crt', this.authority.cert);
    this.#save(
      'both.conf',
      this.#moved(documented('both.conf'), [`listen_addresses = '*'`, `listen_addresses = '127.0.0.1'`]),
    );
    const rules = documented('pg_hba.conf').replace(/192\.0\.2\.\d+\/32/g, '127.0.0.1/32');
    this.#save('pg_hba.conf', rules + OF_THE_TEST);
    fs.chmodSync(this.#folder, 0o755);
  }

  /** The primary alone, with the roles, as it is before the standby is made. */
  static async start(): Promise<DocumentedServers> {
    const servers = new DocumentedServers();
    try {
      const primary = await PostgresServer.start({ settings: servers.#settings });
      servers.#servers.push(primary);
      await inOneSession(primary.url(), documentedStatements('roles.sql'));
      return servers;
    } catch (error) {
      await servers.remove();
      throw error;
    }
  }

  get primary(): PostgresServer {
    return this.#servers[0] ?? assert.fail('there is no primary');
  }

  get standby(): PostgresServer {
    return this.#servers[1] ?? assert.fail('there is no standby');
  }

  /** Makes the standby by the command of the documentation. */
  async makeStandby(): Promise<void> {
    const command = documented('make-standby.sh');
    assert.match(command, /^pg_basebackup .* -R -X stream -c fast /m);
    const [, connection = ''] = /^ {2}"(.*)"$/m.exec(command) ?? [];
    const { host = '', application_name: name = '', ...others } = parametersOf(connection);
    const login = Object.entries({
      ...others,
      host,
      hostaddr: '127.0.0.1',
      password: `'${passwordOf('replicator')}'`,
    })
      .map(([parameter, value]) => `${parameter}=${value}`)
      .join(' ')
      .replace('/etc/postgresql', this.#folder);
    const standbyOf = { primary: this.primary, name, login };
    this.#servers.push(await PostgresServer.start({ settings: this.#settings, standbyOf }));
  }

  /** As Node-RED has them in its connection. */
  url(role = 'node_red', password = passwordOf('node_red')): string {
    const hosts = this.#servers.map(({ port }) => `127.0.0.1:${port}`);
    return `postgres://${role}:${encodeURIComponent(password)}@${hosts.join(',')}/rvm`;
  }

  async remove(): Promise<void> {
    for (const server of this.#servers) await server.remove();
    this.authority.remove();
  }

  get #settings(): Record<string, string> {
    return {
      hba_file: `'${path.join(this.#folder, 'pg_hba.conf')}'`,
      include: `'${path.join(this.#folder, 'both.conf')}'`,
    };
  }

  #moved(text: string, change: [from: string, to: string]): string {
    const [from, to] = change;
    assert.ok(text.includes(from), `docs/postgresql has "${from}"`);
    return text.replace(from, to).replaceAll('/etc/postgresql', this.#folder);
  }

  #save(name: string, text: string, mode = 0o644): void {
    const file = path.join(this.#folder, name);
    fs.writeFileSync(file, text, { mode });
    if (process.getuid?.() === 0) fs.chownSync(file, NOBODY, NOBODY);
  }
}

function passwordOf(role: string): string {
  const [, password] =
    new RegExp(`CREATE ROLE ${role} .*PASSWORD '(.*)'`).exec(documented('roles.sql')) ?? [];
  return password ?? assert.fail(`roles.sql has a password of ${role}`);
}

function parametersOf(connection: string): Record<string, string> {
  return Object.fromEntries(connection.split(' ').map((pair) => pair.split('=') as [string, string]));
}

async function inOneSession(url: string, statements: readonly string[]): Promise<void> {
  const client = new Client(url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}
