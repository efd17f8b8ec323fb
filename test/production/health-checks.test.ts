import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { Probes } from '../../lib/webhook/dispatcher';
import { answer } from '../../lib/webhook/receiver';
import { portOf } from '../support/network/servers';
import { nodeArguments, PRODUCTION, productionFile } from '../support/production/production-files';
import { needs, programPath } from '../support/suite/programs';

const UNITS = path.join(PRODUCTION, 'systemd');
/** As the files have it. */
const NODE_RED = '127.0.0.1:1880';

/** Program and arguments of a health check, each against a server at another port. */
type Check = (port: number) => [program: string, ...args: string[]];

const docker: Check = (port) => {
  const [, command = ''] = /^ +CMD (\[.*\])$/m.exec(productionFile('Dockerfile')) ?? [];
  const args = nodeArguments(command.replace(NODE_RED, `127.0.0.1:${port}`));
  return [process.execPath, ...args];
};

function ofUnit(file: string): Check {
  return (port) => {
    const [, line = ''] =
      /^Exec(?:Start|StartPost)=-?\/usr\/bin\/curl (.*)$/m.exec(productionFile(`systemd/${file}`)) ?? [];
    // Nobody shall wait for another try of what has failed already.
    const hurried = line.replaceAll(/--retry\S*(?: \d+)?/g, '').replace(NODE_RED, `127.0.0.1:${port}`);
    return [programPath('curl') ?? '', ...hurried.split(/ +/)];
  };
}

const CHECKS: Record<string, Check> = {
  'the HEALTHCHECK of the Dockerfile': docker,
  'the service of systemd that asks': ofUnit('node-red-live.service'),
  'the start of Node-RED by systemd': ofUnit('node-red.service.d/live.conf'),
};

const exitCode = ([program, ...args]: [string, ...string[]]): Promise<number> =>
  new Promise((resolve) => {
    execFile(program, args, (error) => resolve(error === null ? 0 : Number(error.code)));
  });

for (const [title, check] of Object.entries(CHECKS)) {
  describe(title, () => {
    let server: http.Server;
    let port: number;
    before(async function () {
      if (check !== docker) needs(this, 'curl');
      const probes = new Probes('/remote-monitoring/', async () => false);
      server = http.createServer((req, res) => {
        if (!probes.handle(req.url ?? '', req, res)) answer(req, res, 'unknown');
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      port = portOf(server);
    });
    after(() => server?.close());

    it('is content with a Node-RED that lives, though it is not ready', async () => {
      assert.equal(await exitCode(check(port)), 0);
    });

    it('fails where nobody answers, and where another server does', async () => {
      const other = http.createServer((_req, res) => void res.writeHead(503).end()).listen(0, '127.0.0.1');
      await once(other, 'listening');
      const taken = portOf(other);
      assert.notEqual(await exitCode(check(taken)), 0);
      other.close();
      await once(other, 'close');
      assert.notEqual(await exitCode(check(taken)), 0);
    });
  });
}

describe('the files of health checks', () => {
  it('ask in Kubernetes live for restarts, and ready for traffic alone', () => {
    const probe = /(\w+)Probe:\n +httpGet: \{ path: (\S+), port: (\w+) \}/g;
    const probes = [...productionFile('kubernetes.yml').matchAll(probe)];
    assert.deepEqual(
      probes.map(([, ...found]) => found.join(' ')),
      [
        'startup /remote-monitoring/live http',
        'liveness /remote-monitoring/live http',
        'readiness /remote-monitoring/ready http',
      ],
    );
  });

  it('are units that systemd takes', function () {
    needs(this, 'systemd-analyze', 'curl');
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-units-'));
    try {
      fs.cpSync(UNITS, folder, { recursive: true });
      // Where Node.js is differs from machine to machine.
      const unit = path.join(folder, 'node-red.service');
      const text = fs.readFileSync(unit, 'utf8');
      fs.writeFileSync(unit, text.replace('=/usr/bin/node ', `=${process.execPath} `));
      const units = fs.readdirSync(folder).filter((name) => /\.(service|timer)$/.test(name));
      assert.equal(units.length, 5);
      const files = units.map((unit) => path.join(folder, unit));
      const env = { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` };
      const analyze = programPath('systemd-analyze') ?? '';
      const { status, stdout, stderr } = spawnSync(analyze, ['verify', ...files], { env, encoding: 'utf8' });
      assert.deepEqual([status, stdout, stderr], [0, '', '']);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  it('are led to by docs/production.md, each', () => {
    const page = fs.readFileSync(path.join(PRODUCTION, '..', 'production.md'), 'utf8');
    const files = fs
      .readdirSync(PRODUCTION, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.relative(PRODUCTION, path.join(parentPath, name)));
    const unnamed = files.filter((file) => !page.includes(`](production/${file.replaceAll(path.sep, '/')})`));
    assert.deepEqual(unnamed, []);
  });
});
