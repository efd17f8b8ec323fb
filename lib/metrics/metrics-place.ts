import { RvmError } from '../error';
import { isRecord } from '../json/json';

/** Where metrics are served. */
export interface MetricsPlace {
  /** 0 = one that the system chooses. */
  port: number;
  /** Name or address of this machine. */
  host: string;
}

/** The port by which exporters of Node.js are known. Nobody proves who asks there: by default it is this machine alone. */
const DEFAULT: MetricsPlace = { port: 9464, host: '127.0.0.1' };
const EXAMPLE = "rvmMetrics: { port: 9464, host: '127.0.0.1' }";

/**
 * What `rvmMetrics` of settings.js says; undefined where it is absent or false.
 * @throws RvmError BAD_INPUT
 */
export function readMetricsPlace(setting: unknown): MetricsPlace | undefined {
  if (setting === undefined || setting === null || setting === false) return undefined;
  if (!isRecord(setting)) throw refused('is no object');
  const { port = DEFAULT.port, host = DEFAULT.host, ...others } = setting;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined) throw refused(`has "${unknown}", which is not known`);
  // From the environment it comes as text.
  const number = typeof port === 'string' && port.trim() !== '' ? Number(port) : port;
  if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > 65_535)
    throw refused('has a port that is no whole number from 1 to 65535');
  if (typeof host !== 'string' || host.trim() === '') throw refused('has a host that is no name or address');
  return { port: number, host: host.trim() };
}

function refused(what: string): RvmError {
  return new RvmError(
    'BAD_INPUT',
    `The metrics are not served, because rvmMetrics in settings.js ${what}: write it as in ${EXAMPLE}, and restart Node-RED.`,
  );
}

/** What to do about a place that could not be opened: NETWORK where somebody else has it, else BAD_INPUT. */
export function metricsFault(error: unknown, { port, host }: MetricsPlace): RvmError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  switch (code) {
    case 'EADDRINUSE':
      return new RvmError(
        'NETWORK',
        `The metrics are not served, because port ${port} of ${host} is in use by another program, perhaps a second Node-RED: give each a port of its own by rvmMetrics in settings.js. It is tried again every few seconds.`,
      );
    case 'EACCES':
      return new RvmError(
        'BAD_INPUT',
        `The metrics are not served, because Node-RED may not open port ${port}: choose one from 1024 on as port of rvmMetrics in settings.js.`,
      );
    default:
      return new RvmError(
        'BAD_INPUT',
        `The metrics are not served, because port ${port} of "${host}" cannot be opened (${code}): enter an address of this machine as host of rvmMetrics in settings.js, 127.0.0.1 or 0.0.0.0 say.`,
      );
  }
}
