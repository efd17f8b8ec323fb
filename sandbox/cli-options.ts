import { parseArgs } from 'node:util';
import { OptionError, type RemoteIdPlace, type SandboxOptions } from './options';
import type { StationSettings } from './world/stations';

/** What the command line asks for: the help, or a sandbox with one station. */
export type CliRequest =
  | { help: true }
  | { help: false; sandbox: SandboxOptions; station: StationSettings; webhook: string | undefined };

const DEFAULT_PORT = 8088;
const DEFAULT_EVENTS_PER_MINUTE = 6;
const DEFAULT_SITES = 3;

const TEXT = { type: 'string' } as const;
const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  port: TEXT,
  'rtsp-port': TEXT,
  cameras: TEXT,
  sites: TEXT,
  webhook: TEXT,
  scheme: TEXT,
  secret: TEXT,
  'events-per-minute': TEXT,
  'api-key': TEXT,
  username: TEXT,
  password: TEXT,
  versions: TEXT,
  'remote-id': TEXT,
  'send-timeout': TEXT,
  'resend-on-status': { type: 'boolean' },
  pending: TEXT,
  seed: TEXT,
} as const;

export const HELP = `rvm-sandbox: the remote monitoring service in miniature, on this machine only.

Options:
  --port 8088               port of the HTTP service; 0 = a free one
  --rtsp-port 8554          port of the RTSP server; not given = 8554, or a free one where that is taken
  --cameras 24              cameras, spread over the sites
  --sites 3                 sites of customers
  --pending 1               how many of the sites are still a Pending Request
  --webhook URL             where alarms are posted
  --scheme http|https       proof of the alarms: http = HMAC header, https = phrase in the message;
                            not given = that of the webhook's address, else https
  --secret PHRASE           Shared Secret Phrase; not given = random
  --events-per-minute 6     alarms per minute; 0 = only on demand
  --api-key KEY             not given = random
  --username U              name of the Agent User; not given = random
  --password P              its password; not given = random
  --versions 1-3            versions of the service: a range, or a list such as 5,6
  --remote-id details       where a camera shows its remote id: record, details, none
  --send-timeout 10         seconds until a webhook without an answer counts as timed out
  --resend-on-status        resend after any status but 200, 201, 202 too
  --seed N                  other ids and another choice of cameras
  --help                    this text

When it is ready it prints one line of JSON: url, rtspUrl, apiKey, username, password, secret, scheme.
Control calls are below URL/sandbox/: alarms, deliveries, faults, packages, customers, clock, state.
`;

/** @throws OptionError with one clear line */
export function readCommandLine(argv: readonly string[]): CliRequest {
  const values = parse(argv);
  if (values.help === true) return { help: true };
  const webhook = webhookUrl(values.webhook);
  const sites = number('--sites', values.sites) ?? DEFAULT_SITES;
  const rtspPort = number('--rtsp-port', values['rtsp-port']);
  return {
    help: false,
    webhook: webhook?.href,
    station: {
      name: 'Sandbox Station',
      username: values.username ?? '',
      password: values.password ?? '',
      secret: values.secret ?? '',
      scheme: scheme(values.scheme, webhook),
    },
    sandbox: {
      port: number('--port', values.port) ?? DEFAULT_PORT,
      ...(rtspPort === undefined ? {} : { rtspPort }),
      cameras: number('--cameras', values.cameras) ?? 24,
      sites,
      pending: number('--pending', values.pending) ?? (sites > 1 ? 1 : 0),
      eventsPerMinute:
        number('--events-per-minute', values['events-per-minute']) ?? DEFAULT_EVENTS_PER_MINUTE,
      apiKey: values['api-key'] ?? '',
      versions: values.versions ?? '',
      remoteId: remoteIdPlace(values['remote-id']),
      sendTimeout: number('--send-timeout', values['send-timeout']) ?? 10,
      resendOnStatus: values['resend-on-status'] ?? false,
      ...optionalSeed(values.seed),
    },
  };
}

function parse(argv: readonly string[]): ReturnType<typeof parseStrictly> {
  try {
    return parseStrictly(argv);
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split(/[.\n]/)[0] ?? '') : '';
    throw new OptionError(`${reason}. See --help.`);
  }
}

function parseStrictly(argv: readonly string[]) {
  return parseArgs({ args: [...argv], options: OPTIONS, strict: true, allowPositionals: false }).values;
}

function number(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new OptionError(`${name} must be a number.`);
}

function optionalSeed(text: string | undefined): { seed?: number } {
  const seed = number('--seed', text);
  return seed === undefined ? {} : { seed };
}

function webhookUrl(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new OptionError('--webhook must be an address that begins with http:// or https://.');
}

function scheme(text: string | undefined, webhook: URL | undefined): 'http' | 'https' {
  if (text === 'http' || text === 'https') return text;
  if (text !== undefined) throw new OptionError('--scheme must be http or https.');
  return webhook?.protocol === 'http:' ? 'http' : 'https';
}

function remoteIdPlace(text: string | undefined): RemoteIdPlace {
  if (text === undefined) return 'details';
  if (text === 'record' || text === 'details' || text === 'none') return text;
  throw new OptionError('--remote-id must be record, details or none.');
}
