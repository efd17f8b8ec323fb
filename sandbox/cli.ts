#!/usr/bin/env node
import { HELP, readCommandLine, type CliRequest, type StationRequest } from './cli-options';
import { OptionError, Sandbox } from './index';

/** A Central Station as the ready line shows it. */
type StationLine = ReturnType<typeof addStation>;

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if ('code' in error && error.code === 'EADDRINUSE' && 'port' in error) {
    return `Port ${String(error.port)} is in use: choose another with --port or --rtsp-port.`;
  }
  return error.message;
}

async function run(request: CliRequest): Promise<void> {
  if (request.help) {
    process.stdout.write(HELP);
    return;
  }
  const sandbox = await Sandbox.start(request.sandbox);
  const stations = request.stations.map((station, index) => addStation(sandbox, station, index));
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void sandbox.close());
  process.stdout.write(`${JSON.stringify(readyLine(sandbox, stations))}\n`);
}

function addStation(sandbox: Sandbox, { settings, webhook }: StationRequest, index: number) {
  const suffix = index === 0 ? '' : `-${index + 1}`;
  const key = `sandbox${suffix}`;
  const { name = key, scheme } = settings;
  const { username, password, secret } = sandbox.setStation(key, settings);
  if (webhook !== undefined) sandbox.setEndpoint(`webhook${suffix}`, { station: key, url: () => webhook });
  return { key, name, username, password, secret, scheme };
}

/** For compatibility the first station's fields stay at the top level; `stations` lists all, if several. */
function readyLine({ url, rtspUrl, apiKey }: Sandbox, stations: readonly StationLine[]): object {
  const [first] = stations;
  const { username, password, secret, scheme } = first ?? {};
  const line = { url, rtspUrl, apiKey, username, password, secret, scheme };
  return stations.length > 1 ? { ...line, stations } : line;
}

async function main(): Promise<void> {
  try {
    await run(readCommandLine(process.argv.slice(2)));
  } catch (error) {
    process.stderr.write(`rvm-sandbox: ${reasonOf(error)}\n`);
    // 2 = an option is invalid, 1 = the sandbox cannot start.
    process.exitCode = error instanceof OptionError ? 2 : 1;
  }
}

void main();
