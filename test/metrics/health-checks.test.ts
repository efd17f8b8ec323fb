import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { Probes } from '../../lib/webhook/receive/probes';
import { answer } from '../../lib/webhook/receive/answer';
import { MONITORING } from '../support/metrics/monitoring-files';
import { needs, programPath } from '../support/suite/programs';

const read = (file: string): string => fs.readFileSync(path.join(MONITORING, file), 'utf8');
const UNITS = path.join(MONITORING, 'systemd');
/** As the files have it. */
const NODE_RED = '127.0.0.1:1880';

/** Program and arguments of a health check, each against a server at another port. */
type Check = (port: number) => [program: string, ...args: string[]];

const docker: Check = (port) => {
  const [, command = ''] = /^ +CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? [];
  const words: unknown = JSON.parse(command.replace(NODE_RED, `127.0.0.1:${port}`));
  assert.ok(Array.isArray(words));
  const [node, ...args] = words.map(String);
  assert.equal(node, 'node');
  return [process.execPath, ...args];
};

function ofUnit(file: string): Check {
  return (port) => {
    const [, line = ''] =
      /^Exec(?:Start|StartPost)=-?\/usr\/bin\/curl (.*)$/m.exec(read(path.join('systemd', file))) ?? [];
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

function portOf(server: http.Server): number {
  const address = server.address();
  return address !== null && typeof address === 'object' ? address.port : assert.fail();
}

async function exitCode([program, ...args]: [string, ...string[]]): Promise<number> {
  return new Promise((resolve) => {
    execFile(program, args, (error) => resolve(error === null ? 0 : Number(error.code)));
  });
}

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
    const probes = [
      ...read('kubernetes.yml').matchAll(/(\w+)Probe:\n +httpGet: \{ path: (\S+), port: (\w+) \}/g),
    ];
    assert.deepEqual(
      probes.map(([, name, at, port]) => [name, at, port]),
      [
        ['startup', '/remote-monitoring/live', 'http'],
        ['liveness', '/remote-monitoring/live', 'http'],
        ['readiness', '/remote-monitoring/ready', 'http'],
      ],
    );
  });

  it('are units that systemd takes', function () {
    needs(this, 'systemd-analyze', 'curl');
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'rvm-units-'));
    try {
      fs.cpSync(UNITS, folder, { recursive: true });
      // That of Node-RED belongs to whoever has installed it.
      fs.writeFileSync(path.join(folder, 'node-red.service'), '[Service]\nExecStart=/usr/bin/true\n');
      const units = fs.readdirSync(folder).filter((name) => /\.(service|timer)$/.test(name));
      assert.equal(units.length, 4);
      const files = units.map((unit) => path.join(folder, unit));
      const { status, stdout, stderr } = spawnSync(
        programPath('systemd-analyze') ?? '',
        ['verify', ...files],
        {
          env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder}:` },
          encoding: 'utf8',
        },
      );
      assert.deepEqual([status, stdout, stderr], [0, '', '']);
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  it('stand in docs/monitoring.md as they are, and no other', () => {
    const page = fs.readFileSync(path.join(MONITORING, '..', 'monitoring.md'), 'utf8');
    const blocks = [...page.matchAll(/^```(?:dockerfile|yaml|ini)\n(.*?)^```$/gms)].map(
      ([, block = '']) => block,
    );
    const units = fs
      .readdirSync(UNITS, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile());
    const files = [
      ...['Dockerfile', 'compose.yml', 'kubernetes.yml'].map(read),
      ...units.map(({ parentPath, name }) => fs.readFileSync(path.join(parentPath, name), 'utf8')),
    ];
    assert.deepEqual(blocks.sort(), files.sort());
  });
});
