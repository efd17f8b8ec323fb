import { TcpGate } from '../network/servers';
import { PostgresServer } from '../postgres/postgres-server';
import { eventually } from '../time/patience';

const NAME = 'standby';

/** A database and its synchronous standby, at two addresses that stay whatever becomes of the servers. */
export class DatabasePair {
  #primary!: PostgresServer;
  #standby!: PostgresServer;
  /** By server. */
  readonly #gates = new Map<PostgresServer, TcpGate>();

  static async start(): Promise<DatabasePair> {
    const pair = new DatabasePair();
    try {
      pair.#primary = await PostgresServer.start();
      pair.#gates.set(pair.#primary, await TcpGate.start(pair.#primary.port));
      pair.#standby = await pair.#copy();
      pair.#gates.set(pair.#standby, await TcpGate.start(pair.#standby.port));
      await pair.#demandStandby();
      return pair;
    } catch (error) {
      await pair.remove();
      throw error;
    }
  }

  get primary(): PostgresServer {
    return this.#primary;
  }

  get standby(): PostgresServer {
    return this.#standby;
  }

  /** The two addresses. */
  get ports(): number[] {
    return [...this.#gates.values()].map(({ port }) => port);
  }

  /** One URL with both hosts: the writable one is taken. */
  get connection(): string {
    const hosts = this.ports.map((port) => `127.0.0.1:${port}`);
    return `postgres://admin@${hosts.join(',')}/postgres`;
  }

  /** The primary dies at once; the standby, started again where it was away, takes its place. */
  async failOver(): Promise<void> {
    await this.#primary.end('kill');
    if (!this.#standby.isRunning) await this.#standby.run();
    await this.#standby.promote();
    await configure(this.#standby, '');
    [this.#primary, this.#standby] = [this.#standby, this.#primary];
  }

  /** After `failOver`: what was the primary goes, and a new copy of the present one takes its address. */
  async renewStandby(): Promise<void> {
    const former = this.#standby;
    const gate = this.#gates.get(former);
    await former.remove();
    this.#standby = await this.#copy();
    this.#gates.delete(former);
    if (gate === undefined) return;
    this.#gates.set(this.#standby, gate);
    gate.lead(this.#standby.port);
    await this.#demandStandby();
  }

  async remove(): Promise<void> {
    await Promise.all([...this.#gates.values()].map((gate) => gate.close()));
    await this.#standby?.remove();
    await this.#primary?.remove();
  }

  #copy(): Promise<PostgresServer> {
    return PostgresServer.start({ standbyOf: { primary: this.#primary, name: NAME } });
  }

  /** From now on a commit is one on both. */
  async #demandStandby(): Promise<void> {
    await configure(this.#primary, NAME);
    const isSynchronous = async (): Promise<boolean> => {
      const [row] = await this.#primary.sql('SELECT sync_state FROM pg_stat_replication');
      return row?.sync_state === 'sync';
    };
    await eventually(isSynchronous, 'the standby to be synchronous');
  }
}

/** @param standby name of the one that has to have each commit; empty where there is none */
async function configure(server: PostgresServer, standby: string): Promise<void> {
  await server.sql(`ALTER SYSTEM SET synchronous_standby_names = '${standby}'`);
  await server.sql('SELECT pg_reload_conf()');
}
