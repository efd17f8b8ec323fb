/** Where an RTSP session is to be opened. */
export interface RtspRelay {
  scheme: string;
  /** As it is written; IPv6 in its brackets. */
  host: string;
  port: number;
}

/** Registered with IANA. */
const PORTS: ReadonlyMap<string, number> = new Map([
  ['rtsp', 554],
  ['rtsps', 322],
]);
const LONGEST = 4096;
/**
 * The characters of a URL (RFC 3986, section 2) but for the apostrophe. All others, such as white space, quotes,
 * the backslash and everything beyond ASCII, must not reach a player. A command line has to put it in single quotes.
 */
const LEGAL = /^[A-Za-z0-9\-._~:/?#[\]@!$&()*+,;=%]+$/;

/** The relay that an RTSP URL leads to; undefined where it is none, or is not safe to be handed to a player. */
export function relayOf(url: string): RtspRelay | undefined {
  if (url.length > LONGEST || !LEGAL.test(url)) return undefined;
  const parsed = URL.parse(url);
  if (parsed === null || authorityOf(url).split('@').length > 2) return undefined;
  const { protocol, hostname, port } = parsed;
  const scheme = protocol.slice(0, -1);
  const usual = PORTS.get(scheme);
  if (usual === undefined || hostname === '') return undefined;
  return { scheme, host: hostname, port: port === '' ? usual : Number(port) };
}

/** User, host and port. Players disagree on the host where there is more than one `@`. */
function authorityOf(url: string): string {
  const rest = url.slice(url.indexOf('//') + 2);
  const end = rest.search(/[/?#]/);
  return end < 0 ? rest : rest.slice(0, end);
}
