import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { readCommandLine } from '../../sandbox/cli-options';
import { OptionError } from '../../sandbox';
import { resolveOptions } from '../../sandbox/options';
import { ROOT } from '../support/node-red/node-red';
import { Json, ServiceClient } from './service-client';
import { closeTargets, WebhookTarget } from './webhook-target';

/** As it is built: started so often, the sources would have to be compiled each time. */
const CLI = join(ROOT, 'dist/sandbox/cli.js');
const running = new Set<ChildProcess>();

function run(...options: string[]) {
  const child = spawn(process.execPath, [CLI, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  const output = { out: '', error: '' };
  child.stdout.on('data', (chunk: Buffer) => (output.out += String(chunk)));
  child.stderr.on('data', (chunk: Buffer) => (output.error += String(chunk)));
  const exit = once(child, 'close').then(([code]) => Number(code));
  const ready = async (): Promise<Json> => {
    while (!output.out.includes('\n'))
      await Promise.race([once(child.stdout, 'data'), exit.then(() => assert.fail(output.error))]);
    return new Json(JSON.parse(output.out));
  };
  return { child, output, exit, ready };
}

const PORTS = ['--port', '0', '--rtsp-port', '0'];
const QUIET = [...PORTS, '--events-per-minute', '0'];
const STATION = { name: 'Sandbox Station', username: '', password: '', secret: '' };

describe('rvm-sandbox on the command line', () => {
  afterEach(async () => {
    for (const child of running) child.kill('SIGKILL');
    running.clear();
    await closeTargets();
  });

  it('prints one line of JSON when ready, serves, and ends at SIGTERM', async () => {
    const { child, output, exit, ready } = run(...QUIET);
    const line = await ready();
    assert.deepEqual(line.keys, ['url', 'rtspUrl', 'apiKey', 'username', 'password', 'secret', 'scheme']);
    const client = new ServiceClient(line.at('url').text, line.at('apiKey').text);
    assert.equal((await client.login(line.at('username').text, line.at('password').text)).status, 200);
    assert.equal((await client.devices()).length, 16);
    child.kill('SIGTERM');
    assert.equal(await exit, 0);
    assert.equal(output.out.trim().split('\n').length, 1);
    assert.equal(output.error, '');
  });

  it('posts to the webhook with the phrase and scheme given, and takes key, name and password', async () => {
    const target = await WebhookTarget.start();
    const proof = ['--scheme', 'https', '--secret', 'six words make a good phrase'];
    const user = ['--api-key', 'k', '--username', 'u', '--password', 'p', '--seed', '9'];
    const alarms = ['--events-per-minute', '600', '--webhook', target.url];
    const { child, exit, ready } = run(...PORTS, ...alarms, ...proof, ...user);
    const told = { scheme: 'https', apiKey: 'k', username: 'u', password: 'p' };
    assert.partialDeepStrictEqual((await ready()).value, told);
    const { message } = await target.message();
    assert.equal(message.at('authenticationToken').text, 'six words make a good phrase');
    child.kill('SIGINT');
    assert.equal(await exit, 0);
  });

  it('has as many Central Stations as asked for, each with credentials and alarms of its own', async () => {
    const [one, two] = [await WebhookTarget.start(), await WebhookTarget.start()];
    const webhooks = ['--webhook', one.url, '--webhook', two.url];
    const { ready } = run(...QUIET, '--stations', '2', ...webhooks, '--secret', 'phrase of the first');
    const line = await ready();
    const stations = line.at('stations').list;
    assert.equal(stations.length, 2);
    for (const field of ['username', 'password', 'secret', 'scheme'])
      assert.equal(line.at(field).text, stations[0]?.at(field).text);
    for (const field of ['key', 'name', 'username', 'password', 'secret'])
      assert.notEqual(stations[0]?.at(field).text, stations[1]?.at(field).text);
    const url = line.at('url').text;
    for (const station of stations) {
      const client = new ServiceClient(url, line.at('apiKey').text);
      const answer = await client.login(station.at('username').text, station.at('password').text);
      assert.equal(answer.status, 200);
    }
    await new ServiceClient(url, '').post('/sandbox/alarms');
    for (const [index, target] of [one, two].entries()) {
      const { bytes, headers } = await target.message();
      const hmac = createHmac('sha256', stations[index]?.at('secret').text ?? '').update(bytes);
      assert.equal(headers.authorization, `HMAC-SHA256 ${hmac.digest('base64')}`);
    }
  });

  it('explains itself with --help', async () => {
    const { output, exit } = run('--help');
    assert.equal(await exit, 0);
    const options = 'port webhook resend-on-status remote-id live-style stations pending seed';
    for (const option of options.split(' ')) assert.ok(output.out.includes(`--${option}`), option);
  });

  it('ends with 2 and one clear line for an option it cannot use', async () => {
    const { output, exit } = run('--cameras', 'many');
    assert.equal(await exit, 2);
    assert.equal(output.error, 'rvm-sandbox: --cameras must be a number.\n');
    assert.equal(output.out, '');
  });

  it('ends with 1 and names the port where it is taken', async () => {
    const first = run(...QUIET);
    const { port } = new URL((await first.ready()).at('url').text);
    const second = run('--port', port, '--rtsp-port', '0');
    assert.equal(await second.exit, 1);
    assert.match(second.output.error, new RegExp(`^rvm-sandbox: Port ${port} is in use`));
  });
});

describe('the options of rvm-sandbox', () => {
  it('have the defaults of the help', () => {
    const request = readCommandLine([]);
    assert.ok(!request.help);
    assert.deepEqual(request.stations, [{ webhook: undefined, settings: { ...STATION, scheme: 'https' } }]);
    assert.partialDeepStrictEqual(resolveOptions(request.sandbox), {
      port: 8088,
      rtspPort: undefined,
      cameras: 24,
      sites: 3,
      pending: 1,
      eventsPerMinute: 6,
      versions: '1-3',
      remoteId: 'details',
      liveStyle: 'omit',
      sendTimeout: 10,
      resendOnStatus: false,
      seed: 1,
    });
  });

  it('are all read', () => {
    const line =
      '--port 1 --rtsp-port 2 --cameras 3 --sites 4 --webhook http://127.0.0.1:5/x --events-per-minute 0.5 ' +
      '--api-key a --username b --password c --secret d --versions 5-6 --remote-id none --send-timeout 7 ' +
      '--resend-on-status --live-style live --stations 1 --pending 0 --seed 8';
    const settings = { ...STATION, username: 'b', password: 'c', secret: 'd', scheme: 'http' };
    assert.deepEqual(readCommandLine(line.split(' ')), {
      help: false,
      stations: [{ webhook: 'http://127.0.0.1:5/x', settings }],
      sandbox: {
        port: 1,
        rtspPort: 2,
        cameras: 3,
        sites: 4,
        pending: 0,
        eventsPerMinute: 0.5,
        apiKey: 'a',
        versions: '5-6',
        remoteId: 'none',
        liveStyle: 'live',
        sendTimeout: 7,
        resendOnStatus: true,
        seed: 8,
      },
    });
  });

  const URLS = ['http://127.0.0.1:5/x', 'https://127.0.0.1:6/y'] as const;
  const HTTP = ['', '', '', '', 'http'];
  /** What each has: phrase, name and password of the user, address and scheme. */
  const STATIONS: [title: string, line: string, ...stations: string[][]][] = [
    [
      'give each station what is given for it, and keep no phrase or user for two',
      '--stations 3 --secret a --secret b --username u --password p',
      ['a', 'u', 'p', '', 'https'],
      ['b', '', '', '', 'https'],
      ['', '', '', '', 'https'],
    ],
    [
      'take the last webhook and scheme for the stations after it, too',
      `--stations 3 --webhook ${URLS[0]} --webhook ${URLS[1]}`,
      ['', '', '', URLS[0], 'http'],
      ['', '', '', URLS[1], 'https'],
      ['', '', '', URLS[1], 'https'],
    ],
    ['take the scheme for all', '--stations 2 --scheme http', HTTP, HTTP],
  ];
  for (const [title, line, ...expected] of STATIONS)
    it(title, () => {
      const request = readCommandLine(line.split(' '));
      assert.ok(!request.help);
      const stations = request.stations.map(({ webhook = '', settings }) => {
        const { secret, username, password, scheme } = settings;
        return [secret, username, password, webhook, scheme];
      });
      assert.deepEqual(stations, expected);
    });

  const REFUSED =
    '--nothing|word|--port|--port x|--scheme ftp|--webhook here|--webhook ftp://127.0.0.1/|' +
    '--remote-id everywhere|--live-style both|--stations 0|--stations 1.5|--stations 101|' +
    '--secret a --secret b|--seed -1';
  for (const line of REFUSED.split('|'))
    it(`refuse "${line}" in one line`, () => {
      assert.throws(
        () => readCommandLine(line.split(' ')),
        (error) => error instanceof OptionError && !error.message.includes('\n'),
      );
    });
});
