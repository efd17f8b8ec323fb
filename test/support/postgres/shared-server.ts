import { PostgresServer } from './postgres-server';

/**
 * The server of all files that a process runs, one after the other: for those that neither end nor configure it. It is there from
 * the first need of it to the end of the process.
 */
let started: Promise<PostgresServer> | undefined;
let files = 0;

/** Databases of one file on the shared server, under names that no other file has. Roles are for it to make: they go with it. */
export class SharedServer {
  private constructor(
    private readonly server: PostgresServer,
    /** Of its first database. */
    readonly name: string,
  ) {}

  /** For the `before` of tests, behind `needs(this, 'postgres')`. */
  static async use(): Promise<SharedServer> {
    started ??= PostgresServer.start({ untilExit: true });
    const shared = new SharedServer(await started, `file_${(files += 1)}`);
    await shared.server.database(shared.name);
    return shared;
  }

  get port(): number {
    return this.server.port;
  }

  /** As whoever administers the server sees it. */
  nameOf(database: string): string {
    return `${this.name}_${database}`;
  }

  /** @param role a superuser by default, who needs no password */
  url(database?: string, role?: string): string {
    return this.server.url(this.#named(database), role);
  }

  /** A database of its own for a test. @returns its URL */
  database(name: string): Promise<string> {
    return this.server.database(this.nameOf(name));
  }

  /** Runs statements as superuser; rows of the last. */
  sql(text: string, database?: string): Promise<Record<string, unknown>[]> {
    return this.server.sql(text, this.#named(database));
  }

  /** All that the file has made. */
  async remove(): Promise<void> {
    const made = await this.server.sql(
      `SELECT format('DROP DATABASE %I WITH (FORCE)', datname) AS drop FROM pg_database
        WHERE datname = '${this.name}' OR datname LIKE '${this.name}\\_%'
      UNION ALL SELECT format('DROP ROLE %I', rolname) FROM pg_roles WHERE NOT rolsuper AND rolname NOT LIKE 'pg\\_%'`,
    );
    for (const { drop } of made) await this.server.sql(String(drop));
  }

  #named(database: string | undefined): string {
    return database === undefined ? this.name : this.nameOf(database);
  }
}
