import { RvmError } from '../../../error';
import { tlsFault } from '../../../tls';
import { reasonOf } from '../../store/port';
import { codeOf } from '../session';
import { FOREIGN_LOGIN, GARBLED } from './garbled';

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
