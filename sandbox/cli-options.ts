import { parseArgs } from 'node:util';
import { LIVE_STYLES, OptionError, REMOTE_ID_PLACES, type SandboxOptions } from './options';
import type { StationSettings } from './world/stations';

/** A Central Station of the sandbox, and the webhook that receives its alarms. */
export interface StationRequest {
  settings: StationSettings;
  webhook: string | undefined;
}

/** The parsed command line: print the help, or start a sandbox with these stations. */
export type CliRequest =
  | { help: true }
  | { help: false; sandbox: SandboxOptions; stations: readonly StationRequest[] };

const DEFAULT_PORT = 8088;
const DEFAULT_EVENTS_PER_MINUTE = 6;
const DEFAULT_SITES = 3;
const MOST_STATIONS = 100;
const SCHEMES = ['http', 'https'] as const;

const TEXT = { type: 'string' } as const;
/** May be repeated: one value per station. */
const TEXTS = { type: 'string', multiple: true } as const;
const OPTIONS = {
  help: { type: 'boolean', short: 'h' },
  port: TEXT,
  'rtsp-port': TEXT,
  cameras: TEXT,
  sites: TEXT,
  stations: TEXT,
  webhook: TEXTS,
  scheme: TEXTS,
  secret: TEXTS,
  'events-per-minute': TEXT,
  'api-key': TEXT,
  username: TEXTS,
  password: TEXTS,
  versions: TEXT,
  'remote-id': TEXT,
  'live-style': TEXT,
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
  --stations 1              Central Stations, each with an Agent User and a phrase of its own
  --webhook URL             where alarms are posted
  --scheme http|https       proof of the alarms: http = HMAC header, https = phrase in the message;
                            not given = that of the webhook's address, else https
  --secret PHRASE           Shared Secret Phrase; not given = random
  --username U              name of the Agent User; not given = random
  --password P              its password; not given = random
  --events-per-minute 6     alarms per minute; 0 = only on demand
  --api-key KEY             not given = random
  --versions 1-3            versions of the service: a range, or a list such as 5,6; dotted such as 1.2, too:
                            1.2-1.4 is 1.2, 1.3 and 1.4, and 1.2-3 is 1.2, 2 and 3
  --remote-id details       where a camera shows its remote id: record, details, none
  --live-style omit         how live video is asked for, and in no other way: omit = without t and search,
                            live = with t "live" and search "false"
  --send-timeout 10         seconds until a webhook without an answer counts as timed out
  --resend-on-status        resend after any status but 200, 201, 202 too
  --seed N                  other ids and another choice of cameras
  --help                    this text

With --stations, the options --webhook, --scheme, --secret, --username and --password can be given once for each
station, in their order. The last --webhook and --scheme hold for the stations after it, too.

When it is ready it prints one line of JSON: url, rtspUrl, apiKey, username, password, secret, scheme; with several
stations these are of the first, and stations lists all of them.
Control calls are below URL/sandbox/: alarms, deliveries, faults, packages, customers, clock, state.
`;

/** @throws OptionError with a message of one line */
export function readCommandLine(argv: readonly string[]): CliRequest {
  const values = parse(argv);
  if (values.help === true) return { help: true };
  const sites = number('--sites', values.sites) ?? DEFAULT_SITES;
  return {
    help: false,
    stations: stationsIn(values),
    sandbox: {
      port: number('--port', values.port) ?? DEFAULT_PORT,
      rtspPort: number('--rtsp-port', values['rtsp-port']),
      cameras: number('--cameras', values.cameras),
      sites,
      pending: number('--pending', values.pending) ?? (sites > 1 ? 1 : 0),
      eventsPerMinute:
        number('--events-per-minute', values['events-per-minute']) ?? DEFAULT_EVENTS_PER_MINUTE,
      apiKey: values['api-key'],
      versions: values.versions,
      remoteId: oneOf('--remote-id', values['remote-id'], REMOTE_ID_PLACES),
      liveStyle: oneOf('--live-style', values['live-style'], LIVE_STYLES),
      sendTimeout: number('--send-timeout', values['send-timeout']),
      resendOnStatus: values['resend-on-status'],
      seed: number('--seed', values.seed),
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

function stationsIn(values: ReturnType<typeof parseStrictly>): StationRequest[] {
  const count = number('--stations', values.stations) ?? 1;
  if (!Number.isInteger(count) || count < 1 || count > MOST_STATIONS) {
    throw new OptionError(`--stations must be a whole number from 1 to ${MOST_STATIONS}.`);
  }
  for (const name of ['webhook', 'scheme', 'secret', 'username', 'password'] as const) {
    const occurrences = values[name]?.length ?? 0;
    if (occurrences > count)
      throw new OptionError(`--${name} is given ${occurrences} times: --stations is ${count}.`);
  }
  return Array.from({ length: count }, (_, index) => stationAt(values, index));
}

function stationAt(values: ReturnType<typeof parseStrictly>, index: number): StationRequest {
  const webhook = webhookUrl(values.webhook?.[index] ?? values.webhook?.at(-1));
  const scheme = oneOf('--scheme', values.scheme?.[index] ?? values.scheme?.at(-1), SCHEMES);
  return {
    webhook: webhook?.href,
    settings: {
      name: index === 0 ? 'Sandbox Station' : `Sandbox Station ${index + 1}`,
      username: values.username?.[index] ?? '',
      password: values.password?.[index] ?? '',
      secret: values.secret?.[index] ?? '',
      scheme: scheme ?? (webhook?.protocol === 'http:' ? 'http' : 'https'),
    },
  };
}

function number(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  throw new OptionError(`${name} must be a number.`);
}

function webhookUrl(text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new OptionError('--webhook must be an address that begins with http:// or https://.');
}

function oneOf<Choice extends string>(
  name: string,
  text: string | undefined,
  choices: readonly Choice[],
): Choice | undefined {
  const choice = choices.find((each) => each === text);
  if (text === undefined || choice !== undefined) return choice;
  throw new OptionError(`${name} must be ${choices.join(', ').replace(/, (?=[^,]*$)/, ' or ')}.`);
}
