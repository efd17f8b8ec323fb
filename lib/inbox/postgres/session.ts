import net from 'node:net';
import type { Client } from 'pg';
import { lenientTimeout } from '../../concurrency/timers';
import { RvmError } from '../../error';
import { tlsFault } from '../../tls';
import { reasonOf } from '../store/port';
import type { Row } from '../store/stored-row';
import { digest, storable, storedText } from './tables';

/** What is read of an answer that is none of PostgreSQL's. */
const GARBLED = 'garbled answer';
/** It asks for a login that `pg` does not know. */
const FOREIGN_LOGIN = 'foreign login';

/**
 * `pg` throws where it reads what no PostgreSQL says, or a way to log in that it does not know: in an event of the socket,
 * where nobody catches it and the process would end. The connection ends instead.
 * @param client just told to connect
 */
export function endGarbled({ connection }: Client, isSecure: boolean): void {
  // Before the handshake is over another stream is read, and by nothing that throws.
  if (isSecure) connection.once('sslconnect', () => guard(connection.stream));
  else guard(connection.stream);
}

type Stream = Client['connection']['stream'];

function guard(stream: Stream): void {
  for (const read of stream.listeners('data')) {
    stream.on('data', (piece: Buffer) => {
      try {
        read.call(stream, piece);
      } catch (error) {
        stream.destroy(new Error(kindOf(error)));
      }
    });
    stream.off('data', read as (piece: Buffer) => void);
  }
}

function kindOf(error: unknown): string {
  const isLogin = error instanceof Error && error.message.startsWith('Unknown authenticationOk message type');
  return isLogin ? FOREIGN_LOGIN : GARBLED;
}

/** What the system says of a host or a connection. */
const SYSTEM: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the name of its host is not known: check the connection',
  EAI_AGAIN: 'the name of its host cannot be looked up now: see to the network and its name server',
  ECONNREFUSED:
    'nothing answers there: see that PostgreSQL runs, and listens to this machine (listen_addresses)',
  ENOENT: 'there is no such socket: see that PostgreSQL runs, and that the folder of the socket is right',
  EACCES: 'this process may not open its socket: see to the rights of the folder',
  ETIMEDOUT: 'it does not answer in time: see to the network, to firewalls, and that it runs',
  EHOSTUNREACH: 'no way leads to its host: see to the network',
  ENETUNREACH: 'no way leads to its network: see to the network',
  ECONNRESET: 'the connection to it was lost',
  EPIPE: 'the connection to it was lost',
};

/** What PostgreSQL says, by SQLSTATE: https://www.postgresql.org/docs/15/errcodes-appendix.html */
const CURES: Readonly<Record<string, string>> = {
  '28P01': 'it refuses the login: check user and password in the connection',
  '28000':
    'it does not let this user in from here: check user and database in the connection, and pg_hba.conf (with or without TLS is a difference there)',
  '3D000': 'it has no database of this name: create it, or correct the connection',
  '42501': 'its role lacks rights: let an administrator run what rvm-inbox sql prints',
  '25006': 'it is read-only: name the server that can be written in the connection',
  '53100': 'its disk is full: make room there',
  '53200': 'it is out of memory: see to its machine',
  '53300': 'it has no connection left: raise max_connections, or end what holds them',
  '55000': 'it is not ready for this: see to its log',
  '55P03': 'it did not give a lock in time: see to lock_timeout, and to who holds locks there',
  '57014': 'it has cancelled a statement: see to statement_timeout, and to who cancels there',
  '57P01': 'it is being shut down, or an administrator has ended the connection',
  '57P02': 'it has crashed, and recovers',
  '57P03': 'it is starting up, or shutting down',
  '57P05': 'it has ended a connection that was idle: see to idle_session_timeout',
  '58030': 'its disk reports errors: see to the disk',
};
/** Classes whose texts speak of the server, not of what is stored. */
const TOLD = /^(08|25|3D|3F|42|53|54|55|57|58|F0|XX)/;
/** Of what a server says, in characters. */
const MOST_SAID = 200;
/** As `pg` has it. */
export const TIMED_OUT = 'timeout expired';
const NO_TLS = 'The server does not support SSL connections';

/** After these the connection is of no use any more, leads to the wrong server, or to a schema that has to be made anew. */
const OF_CONNECTION = /^(08|57P0|25006|25P0[34]|0A000|3F000|42P01|XX)/;

/** True where nothing more can come of a connection that has failed with this. */
export function endsConnection(error: unknown): boolean {
  const code = codeOf(error);
  return code === undefined ? !(error instanceof RvmError) : OF_CONNECTION.test(code) || code in SYSTEM;
}

/** What failed and what to do, as the end of a sentence about the database. It holds nothing of a message, and no password. */
export function faultText(error: unknown): string {
  if (error instanceof RvmError) return reasonOf(error);
  if (!(error instanceof Error)) return 'unknown fault';
  const { message } = firstOf(error);
  const code = codeOf(firstOf(error)) ?? '';
  const system = SYSTEM[code];
  if (system !== undefined) return `${system} (${code})`;
  if (isState(code)) return stateText(code, message);
  const tls = tlsFault(code, message, 'database');
  if (tls !== undefined) return asEnd(tls);
  return plainText(message);
}

/** A host with several addresses fails with the errors of all of them. */
function firstOf(error: Error): Error {
  const [first] = error instanceof AggregateError ? (error.errors as unknown[]) : [];
  return first instanceof Error ? first : error;
}

function isState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code) && !/^E[A-Z]{4}$/.test(code);
}

function stateText(code: string, message: string): string {
  const cure = CURES[code];
  if (cure !== undefined) return `${cure} (SQLSTATE ${code})`;
  const said = TOLD.test(code) ? `: ${inOneLine(message)}` : '';
  return `PostgreSQL reports an error (SQLSTATE ${code})${said}`;
}

/** Of errors that `pg` makes itself. */
function plainText(message: string): string {
  if (message === TIMED_OUT) return `${SYSTEM['ETIMEDOUT']}`;
  if (message === NO_TLS)
    return 'it has no TLS: switch TLS on there, or switch the encryption off here where the network is your own';
  if (message.startsWith('Connection terminated') || message.includes('not queryable'))
    return 'the connection to it was lost';
  if (message === FOREIGN_LOGIN)
    return 'it asks for a login other than by password: let pg_hba.conf there ask this user for scram-sha-256';
  if (message === GARBLED || message.startsWith('received invalid response'))
    return 'what it answers is not what a PostgreSQL says: check host and port in the connection';
  if (/client password must be/.test(message)) return 'it asks for a password: enter one in the connection';
  if (message.startsWith('SASL'))
    return 'its login cannot be completed: is it PostgreSQL, and the right one?';
  return inOneLine(message);
}

/** What a server says may be anything, and longer than a line of the log. */
function inOneLine(text: string): string {
  return text.replace(/[\p{C}\s]+/gu, ' ').slice(0, MOST_SAID);
}

function asEnd(sentence: string): string {
  return `${sentence.charAt(0).toLowerCase()}${sentence.slice(1).replace(/\.$/, '')}`;
}

/** What PostgreSQL says of a statement or plan that is not there: behind a pooler that shares connections between transactions. */
const NO_PLAN = new Set(['26000', '42P05']);

/** Whatever the database has as its default: each statement sees what was committed before it, also behind a lock. */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** For a connection to say goodbye, in milliseconds. */
const GOODBYE = 500;
/** The type `text`, by its number in every PostgreSQL: `pg_type.dat`. */
const TEXT = 25;

/** A statement with its values. Texts are stored as `storable`, and are read as they were before. */
export type Question = readonly [sql: string, values: readonly unknown[]];

/**
 * A connection to PostgreSQL. Statements are sent as they are asked for, without waiting for the answers before, and take
 * effect in that order.
 */
export class Session {
  /** Plans are kept by the connection. Behind a pooler that gives each transaction another one, they are not. */
  #keepsPlans: boolean;
  /** The names of its plans, by their statements: whatever else the connection is used for, no other has such a name. */
  readonly #names = new Map<string, string>();

  /**
   * @param client connected, with `pipeline`
   * @param isPooled behind a pooler that gives each transaction another connection: what is set on one is not on the next
   */
  constructor(
    readonly client: Client,
    readonly isPooled = false,
  ) {
    this.#keepsPlans = !isPooled;
    client.setTypeParser(TEXT, storedText);
  }

  /** Planned once for each connection. @throws Error of `pg`, with `code` where the server says one */
  async run(text: string, values: readonly unknown[] = []): Promise<Row[]> {
    const named = this.#keepsPlans ? { name: this.#nameOf(text) } : {};
    const stored = values.map((value) => (typeof value === 'string' ? storable(value) : value));
    try {
      const { rows } = await this.client.query<Row>({ ...named, text, values: stored });
      return rows;
    } catch (error) {
      if (NO_PLAN.has(codeOf(error) ?? '')) this.#keepsPlans = false;
      throw error;
    }
  }

  /**
   * Sends `BEGIN`, the questions, and `COMMIT` in one go: one round trip, of which all takes effect or nothing.
   * @returns the rows of each
   * @throws Error of `pg`: the first of all; nothing took effect, unless the connection was lost
   */
  async transaction(questions: readonly Question[]): Promise<Row[][]> {
    const results = await Promise.allSettled(this.#together(questions));
    const failure = results.find((result) => result.status === 'rejected');
    if (failure !== undefined) throw failure.reason;
    return results
      .slice(1, -1)
      .map((result) => (result.status === 'fulfilled' ? (result.value as Row[]) : []));
  }

  #nameOf(text: string): string {
    const name = this.#names.get(text) ?? `rvm_${digest(text)}`;
    this.#names.set(text, name);
    return name;
  }

  /** In one write: else each statement is a packet of its own, and wakes the server. */
  #together(questions: readonly Question[]): Promise<unknown>[] {
    const { stream } = this.client.connection;
    stream.cork();
    try {
      const begun = this.client.query(BEGIN);
      const answers = questions.map(([statement, values]) => this.run(statement, values));
      return [begun, ...answers, this.client.query('COMMIT')];
    } finally {
      stream.uncork();
    }
  }

  /** Keeps the process alive while something is under way, and no longer. */
  keepProcess(keeps: boolean): void {
    const { stream } = this.client.connection;
    if (!(stream instanceof net.Socket)) return;
    if (keeps) stream.ref();
    else stream.unref();
  }

  /** Ends at once, whatever is under way. */
  destroy(): void {
    this.client.connection.stream.destroy();
  }

  /** Ends the polite way where the server takes part in it, half a second later at most. */
  async close(): Promise<void> {
    const late = lenientTimeout(() => this.destroy(), GOODBYE);
    await this.client.end().catch(() => undefined);
    clearTimeout(late);
  }
}

/** True where a notice of the server is a warning. */
export function isWarning({ code }: { code?: string | undefined }): boolean {
  return code?.startsWith('01') === true;
}

/** The SQLSTATE of an error of the server. */
export function codeOf(error: unknown): string | undefined {
  const { code } = error instanceof Error ? (error as Error & { code?: unknown }) : {};
  return typeof code === 'string' ? code : undefined;
}
