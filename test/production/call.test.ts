import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { portOf } from '../support/network/servers';
import { settingOf } from '../support/production/production-files';
import { needs, programPath } from '../support/suite/programs';

/** What systemd makes of a command line: its own words, and `$$` a dollar for the shell. */
function wordsOf(line: string): string[] {
  const words = line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g);
  return [...words].map(([, double, single, bare]) => (double ?? single ?? bare ?? '').replaceAll('$$', '$'));
}

/** The next request, with its body; it is answered 200. */
async function requestTo(server: http.Server): Promise<string> {
  const { req, res } = await new Promise<{ req: http.IncomingMessage; res: http.ServerResponse }>((resolve) =>
    server.once('request', (req, res) => resolve({ req, res })),
  );
  const body = await text(req);
  res.end();
  return `${req.method} ${req.url} ${body}`;
}

describe('a Node-RED that systemd runs', () => {
  let folder: string;
  before(() => (folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-call-'))));
  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** What the line after its end asks of systemd. */
  function askedAfter(result: string): string {
    const asked = path.join(folder, 'asked');
    fs.writeFileSync(path.join(folder, 'systemctl'), `#!/bin/sh\necho "$@" >> '${asked}'\n`, { mode: 0o755 });
    fs.rmSync(asked, { force: true });
    const [shell = '', ...args] = wordsOf(settingOf('node-red.service.d/call.conf', 'ExecStopPost').slice(1));
    execFileSync(shell, args, { env: { PATH: `${folder}:/usr/bin:/bin`, SERVICE_RESULT: result } });
    return fs.existsSync(asked) ? fs.readFileSync(asked, 'utf8').trim() : '';
  }

  for (const result of ['signal', 'exit-code', 'core-dump', 'oom-kill', 'timeout', 'success'])
    it(`has ${result === 'success' ? 'nobody' : 'somebody'} called when it ended with ${result}`, () => {
      const called = result === 'success' ? '' : 'start --no-block node-red-call@died.service';
      assert.equal(askedAfter(result), called);
    });

  it('has somebody called, and is restarted, when it does not answer', () => {
    const onFailure = settingOf('node-red-live.service', 'OnFailure');
    assert.equal(onFailure, 'node-red-restart.service node-red-call@hangs.service');
  });

  it('tells them by a POST what happened, on which machine', async function () {
    needs(this, 'curl');
    const server = http.createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const posted = requestTo(server);
    try {
      const line = settingOf('node-red-call@.service', 'ExecStart')
        .replace('%H', 'north')
        .replace('%i', 'died')
        .replace('${CALL_URL}', `http://127.0.0.1:${portOf(server)}/call`);
      const [, ...args] = wordsOf(line);
      await promisify(execFile)(programPath('curl') ?? '', args);
      assert.equal(await posted, 'POST /call Node-RED on north: died');
    } finally {
      server.close();
    }
  });
});
