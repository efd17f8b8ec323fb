import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Gate } from '../time/patience';
import {
  ACCESS,
  CAMERAS,
  videoOf,
  type Order,
  type Report,
  type Seen,
  type Trouble,
} from './stumbling-service';

/** Milliseconds: answers come in another order than their requests. */
const SLOWEST = 12;

interface Reply {
  status: number;
  headers?: Record<string, string>;
  json?: unknown;
}

type Of<Kind extends Trouble['kind']> = Extract<Trouble, { kind: Kind }>;

const UNLIMITED: Of<'limit'> = { kind: 'limit', times: 0, expected: 0, seconds: 0 };

const seen: Seen[] = [];
let all = new Gate();
let outage: Of<'outage'> | undefined;
let devices = 0;
let limit = UNLIMITED;
let blind = 0;
let rotation: Of<'rotation'> | undefined;
let session = '';
let cookies = 0;
let videos = 0;

function newCookie(): string {
  cookies += 1;
  session = `cookie-${cookies}`;
  return `sid=${session}; Path=/`;
}

function isLoggedIn({ headers }: IncomingMessage): boolean {
  return session !== '' && headers.cookie === `sid=${session}`;
}

async function reply(request: IncomingMessage, body: string): Promise<Reply> {
  const { method, url: path = '' } = request;
  if (request.headers['apikey'] !== ACCESS.apiKey) return { status: 401 };
  if (path === '/login') return { status: 204, headers: { 'Set-Cookie': newCookie() } };
  const loggedIn = isLoggedIn(request);
  const early = loggedIn && rotation?.when === 'request' ? newCookie() : undefined;
  await sleep(Math.random() * SLOWEST);
  const answer =
    loggedIn || path === '/system' ? await resource(`${method} ${path}`, loggedIn, body) : refused();
  const late = loggedIn && rotation?.when === 'answer' ? newCookie() : undefined;
  const cookie = early ?? late;
  return cookie === undefined ? answer : { ...answer, headers: { ...answer.headers, 'Set-Cookie': cookie } };
}

function refused(): Reply {
  return {
    status: 401,
    ...(rotation?.clears === true && { headers: { 'Set-Cookie': 'sid=; Path=/; Max-Age=0' } }),
  };
}

async function resource(route: string, loggedIn: boolean, body: string): Promise<Reply> {
  if (route === 'GET /system') return system(loggedIn);
  if (route === 'GET /devices') return list();
  if (route.startsWith('GET /sources/')) return { status: 200, json: { _links: { 'rel/rtsp': '/rtsp' } } };
  if (route === 'POST /rtsp') return video(body);
  return { status: 404 };
}

function system(loggedIn: boolean): Reply {
  const isShown = loggedIn && blind === 0;
  if (loggedIn && blind > 0) blind -= 1;
  return {
    status: 200,
    json: {
      id: 's',
      _type: 'System',
      _links: isShown ? { 'rel/devices': '/devices' } : { 'rel/login': '/login' },
    },
  };
}

function list(): Reply {
  if (devices > 0) {
    devices -= 1;
    return { status: 503 };
  }
  const records = CAMERAS.map((name) => ({
    id: `id-of-${name}`,
    name,
    status: 'online',
    _links: { 'rel/data_sources': `/sources/${name}` },
  }));
  return { status: 200, json: { devices: records } };
}

async function video(body: string): Promise<Reply> {
  videos += 1;
  const isLimited = videos <= limit.times;
  if (videos >= limit.expected) all.open();
  if (videos <= limit.expected) await all.opened;
  if (isLimited) return { status: 429, headers: { 'Retry-After': String(limit.seconds) } };
  const { cameraId } = JSON.parse(body) as { cameraId: string };
  return { status: 200, json: { rtspRelayURL: videoOf(cameraId) } };
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const at = performance.now();
  let body = '';
  for await (const chunk of request.setEncoding('utf8')) body += String(chunk);
  const { method = '', url: path = '' } = request;
  const note = (status: number): void =>
    void seen.push({ method, path, status, at, answeredAt: performance.now() });
  if (outage !== undefined && outage.how !== 'unavailable') {
    note(0);
    if (outage.how === 'reset') request.socket.resetAndDestroy();
    return;
  }
  const { status, headers = {}, json } = outage === undefined ? await reply(request, body) : { status: 503 };
  note(status);
  const type = json === undefined ? {} : { 'Content-Type': 'application/json' };
  response.writeHead(status, { ...type, ...headers });
  response.end(json === undefined ? undefined : JSON.stringify(json));
}

function stumble(order: Trouble): void {
  switch (order.kind) {
    case 'outage':
      outage = order;
      setTimeout(() => (outage = undefined), order.ms);
      break;
    case 'devices':
      devices = order.times;
      break;
    case 'limit':
      limit = order;
      break;
    case 'blind':
      blind = order.times;
      break;
    case 'rotation':
      rotation = order;
      break;
    case 'none':
      seen.length = 0;
      all = new Gate();
      [devices, blind, videos] = [0, 0, 0];
      [outage, limit, rotation, session] = [undefined, UNLIMITED, undefined, ''];
  }
}

function report(told: Report): void {
  process.send?.(told);
}

const server = createServer((request, response) => {
  // A request that is cut off is no fault of the service.
  serve(request, response).catch(() => undefined);
});
server.listen(0, '127.0.0.1', () => {
  report({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('message', (order: Order) => {
  if (order.kind !== 'tell') stumble(order);
  report({ seen });
});
process.on('disconnect', () => process.exit());
