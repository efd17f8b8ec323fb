import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../node-red/node-red';
import { programPath, type Program } from '../suite/programs';
import type { Issued } from './authority';

/** The name that the configurations in docs/proxies are for. */
export const PROXY_NAME = 'alarms.example.com';

/** Proxies before one Node-RED, and balancers before several; with their program, and the file of their configuration. */
const KINDS = {
  nginx: { program: 'nginx', file: 'nginx.conf' },
  caddy: { program: 'caddy', file: 'Caddyfile' },
  'nginx before several': { program: 'nginx', file: 'nginx-several.conf' },
  'HAProxy before several': { program: 'haproxy', file: 'haproxy-several.cfg' },
} as const satisfies Record<string, { program: Program; file: string }>;
export type Kind = keyof typeof KINDS;

export const PROXY_KINDS = ['nginx', 'caddy'] as const;
export type ProxyKind = (typeof PROXY_KINDS)[number];
export const BALANCER_KINDS = ['nginx before several', 'HAProxy before several'] as const;
export type BalancerKind = (typeof BALANCER_KINDS)[number];

/** Node-RED, as the configurations have it. */
const ONE = ['127.0.0.1:1880'];
const SEVERAL = ['192.0.2.11:1880', '192.0.2.12:1880'];

export interface Launch {
  /** What the proxy has for itself: its configuration and certificate are there. */
  folder: string;
  ports: { https: number; http: number };
  /** Ports of Node-RED, or of listeners: as many as the configuration has addresses, or more where it has several. */
  upstreams: readonly number[];
  /** Speaks HTTP/2 too, which the configurations do not. */
  http2: boolean;
}

export function programOf(kind: Kind): Program {
  return KINDS[kind].program;
}

/** The text of a configuration in docs/proxies. */
export function proxyConfiguration(file: string): string {
  return readFileSync(path.join(ROOT, 'docs', 'proxies', file), 'utf8');
}

/** Puts a certificate where the proxies look for it. */
export function saveCertificate(folder: string, { cert, key }: Issued): void {
  writeFileSync(path.join(folder, 'cert.pem'), cert);
  writeFileSync(path.join(folder, 'key.pem'), key);
  writeFileSync(path.join(folder, 'both.pem'), cert + key);
}

/** Starts a real proxy with its configuration of docs/proxies. Only ports, places and what belongs to the machine are others. */
export function launch(kind: Kind, options: Launch): ChildProcess {
  const { program, file } = KINDS[kind];
  return LAUNCH[program](file, options);
}

type Change = [from: string, to: string];

const LAUNCH = {
  nginx(name: string, options: Launch): ChildProcess {
    const { folder, ports, http2 } = options;
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (each) => `${each}_temp_path ${folder}/${each};`,
    );
    const file = write(name, options, [
      [`http {`, `http {\naccess_log ${folder}/access.log;\n${temporary.join('\n')}`],
      ['listen 443 ssl;', `listen 127.0.0.1:${ports.https} ssl${http2 ? ' http2' : ''};`],
      ['listen 80;', `listen 127.0.0.1:${ports.http};`],
      [`/etc/letsencrypt/live/${PROXY_NAME}/fullchain.pem`, `${folder}/cert.pem`],
      [`/etc/letsencrypt/live/${PROXY_NAME}/privkey.pem`, `${folder}/key.pem`],
    ]);
    const global = `daemon off; pid ${folder}/nginx.pid; lock_file ${folder}/nginx.lock;`;
    return run('nginx', folder, ['-p', folder, '-c', file, '-e', 'stderr', '-g', global]);
  },
  caddy(name: string, options: Launch): ChildProcess {
    const { folder, ports, http2 } = options;
    const own = `admin off\nauto_https off\ndefault_bind 127.0.0.1\nhttps_port ${ports.https}\nhttp_port ${ports.http}`;
    const certificate = `tls ${folder}/cert.pem ${folder}/key.pem`;
    const file = write(name, options, [
      ['{\n', `{\n${own}\n`],
      [`\n${PROXY_NAME} {\n`, `\n${PROXY_NAME} {\n${certificate}\n`],
      ['protocols h1\n', `protocols h1${http2 ? ' h2' : ''}\n`],
    ]);
    return run('caddy', folder, ['run', '--config', file, '--adapter', 'caddyfile']);
  },
  haproxy(name: string, options: Launch): ChildProcess {
    const { folder, ports } = options;
    const file = write(name, options, [
      ['bind :443 ssl', `bind 127.0.0.1:${ports.https} ssl`],
      ['bind :80', `bind 127.0.0.1:${ports.http}`],
      [`/etc/haproxy/${PROXY_NAME}.pem`, `${folder}/both.pem`],
    ]);
    // In one process that stays in front.
    return run('haproxy', folder, ['-db', '-f', file]);
  },
};

/** One more instance of nginx, as the last one is. */
function withFurther(text: string, last: string, upstream: number): string {
  return text.replace(
    new RegExp(`^.*${last}.*\n`, 'm'),
    (line) => line + line.replace(last, `127.0.0.1:${upstream}`),
  );
}

/** Writes the configuration of docs/proxies for other upstreams and with these places changed; each of them has to be there. */
function write(name: string, { folder, upstreams }: Launch, changes: readonly Change[]): string {
  const known = upstreams.length > 1 ? SEVERAL : ONE;
  const places = known.map((place, index): Change => [place, `127.0.0.1:${upstreams[index]}`]);
  let text = proxyConfiguration(name);
  for (const [from, to] of changes) {
    assert.ok(text.includes(from), `docs/proxies/${name} has "${from}"`);
    text = text.replace(from, () => to);
  }
  for (const [from, to] of places) {
    assert.ok(text.includes(from), `docs/proxies/${name} has "${from}"`);
    text = text.replaceAll(from, to);
  }
  for (const upstream of upstreams.slice(known.length))
    text = withFurther(text, places.at(-1)?.[1] ?? '', upstream);
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

function run(program: Program, folder: string, options: string[]): ChildProcess {
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  return spawn(programPath(program) ?? program, options, {
    env: { ...process.env, ...home },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}
