#!/usr/bin/env node
import { HELP, readCommandLine, type CliRequest } from './cli-options';
import { OptionError, Sandbox } from './index';

const STATION = 'sandbox';

/** Exit codes: 2 = an option cannot be used, 1 = the sandbox cannot start. */
function exitCodeOf(error: unknown): number {
  return error instanceof OptionError ? 2 : 1;
}

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
  const { username, password, secret } = sandbox.setStation(STATION, request.station);
  const { webhook } = request;
  if (webhook !== undefined) sandbox.setEndpoint('webhook', { station: STATION, url: () => webhook });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.once(signal, () => void sandbox.close());
  const { url, rtspUrl, apiKey } = sandbox;
  const { scheme } = request.station;
  process.stdout.write(`${JSON.stringify({ url, rtspUrl, apiKey, username, password, secret, scheme })}\n`);
}

async function main(): Promise<void> {
  try {
    await run(readCommandLine(process.argv.slice(2)));
  } catch (error) {
    process.stderr.write(`rvm-sandbox: ${reasonOf(error)}\n`);
    process.exitCode = exitCodeOf(error);
  }
}

void main();
