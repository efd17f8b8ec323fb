import { Readable, type Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createDeflate,
  createGzip,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from 'node:zlib';
import { JPEG } from './pictures';
import type { Reply, Route, ScriptedService } from './scripted-service';

/** How a body may be packed, and what the header calls it. */
const PACK: Readonly<Record<string, { name: string; pack: (body: Buffer) => Buffer }>> = {
  gzip: { name: 'gzip', pack: (body) => gzipSync(body) },
  'x-gzip': { name: 'X-GZIP', pack: (body) => gzipSync(body) },
  deflate: { name: 'deflate', pack: (body) => deflateSync(body) },
  'deflate without the head of zlib': { name: 'deflate', pack: (body) => deflateRawSync(body) },
  br: { name: 'br', pack: (body) => brotliCompressSync(body) },
  'no coding, in so many words': { name: 'identity', pack: (body) => body },
};

const QUICK_BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };
const PACKER: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGzip({ level: 1 }),
  deflate: () => createDeflate({ level: 1 }),
  br: () => createBrotliCompress(QUICK_BROTLI),
};

/** Bytes of a bomb that is unpacked: what nobody should hold. */
export const BOMB = 256 * 1024 * 1024;
const MIB = 1024 * 1024;

/** Compresses each answer, asked or not: that of the login, those to errors, and those without a body by the header alone. */
function compressing(service: ScriptedService, how: string): void {
  const { name, pack } = PACK[how] ?? unknown(how);
  offerPicture(service);
  const plain = service.behaviour;
  service.behaviour = (request) => packed(plain(request), name, pack);
}

/** Names a coding that nobody has asked for, in the list of cameras. */
function oddlyCoded(service: ScriptedService, coding: string): void {
  const headers = { 'Content-Encoding': coding };
  service.on('GET', '/devices', () => ({ headers, json: { devices: service.devices } }));
}

/** The same in the answer to a command. */
function oddlyCodedCommands(service: ScriptedService, coding: string): void {
  const headers = { 'Content-Encoding': coding };
  service.on('GET', '/sources/Gate', { json: { _links: { 'rel/home': '/home' } } });
  service.on('POST', '/home', { headers, text: 'done' });
}

/** Breaks the list of cameras off in the middle of its packed bytes, or sends in their place what was never packed. */
function brokenlyCoded(service: ScriptedService, how: string): void {
  const [coding = '', fault] = how.split(' ');
  const { name, pack } = PACK[coding] ?? unknown(how);
  service.on('GET', '/devices', () => {
    const whole = pack(Buffer.from(JSON.stringify({ devices: service.devices })));
    const bytes = fault === 'cut' ? whole.subarray(0, whole.length / 2) : Buffer.from('{"devices":[]}');
    return { headers: { 'Content-Encoding': name }, bytes };
  });
}

/** Answers with a few bytes that become very many: the list of cameras, or the picture of one. */
async function bombing(service: ScriptedService, how: string): Promise<void> {
  const [coding = '', place = ''] = how.split(' ');
  offerPicture(service);
  const packer = PACKER[coding]?.() ?? unknown(coding);
  const zeros = Buffer.alloc(MIB);
  const bytes = await buffer(Readable.from(Array.from({ length: BOMB / MIB }, () => zeros)).pipe(packer));
  service.on('GET', place, { headers: { 'Content-Encoding': coding }, bytes });
}

/** Lists cameras in JSON of more than 16 MiB and less than 32, which takes much less packed. */
function muchJson(service: ScriptedService): void {
  const text = JSON.stringify({ devices: service.devices, note: ' '.repeat(20 * MIB) });
  service.on('GET', '/devices', { headers: { 'Content-Encoding': 'gzip' }, bytes: gzipSync(text) });
}

function offerPicture(service: ScriptedService): void {
  const plain: Route = (request) => service.standard(request);
  service.behaviour = (request) => {
    const links = { 'rel/rtsp': '/rtsp/Gate', 'rel/snapshot': '/picture' };
    if (request.path === '/sources/Gate') return { json: { _links: links } };
    if (request.path === '/picture') return { headers: { 'Content-Type': 'image/jpeg' }, bytes: JPEG };
    return plain(request);
  };
}

function packed(reply: Reply, name: string, pack: (body: Buffer) => Buffer): Reply {
  if (typeof reply === 'string') return reply;
  const { json, text, bytes, ...rest } = reply;
  const body = bytes ?? Buffer.from(json === undefined ? (text ?? '') : JSON.stringify(json));
  const headers: Record<string, string | string[]> = { ...rest.headers, 'Content-Encoding': name };
  if (json !== undefined) headers['Content-Type'] ??= 'application/json';
  return { ...rest, headers, bytes: body.length === 0 ? body : pack(body) };
}

function unknown(how: string): never {
  throw new Error(`no body is packed by ${how}`);
}

/** Its presets and tours are called by relations that nobody would guess: by `rel/self`, or by those that are given. */
export function ownPtzLinks(service: ScriptedService, names: string): void {
  const [preset = '', start = '', stop = ''] = names.split(' ');
  const links = { 'rel/ptz_presets': '/presets', 'rel/ptz_tours': '/tours' };
  service.on('GET', '/sources/Gate', { json: { _links: links } });
  service.on('GET', '/presets', {
    json: {
      presets: [{ id: 0, name: 'Door', _links: { [preset]: '/presets/0' } }],
      _links: { 'rel/self': '/presets' },
    },
  });
  service.on('GET', '/tours', {
    json: { tours: [{ id: 4, name: 'Round', _links: { [start]: '/tours/4', [stop]: '/tours/4/end' } }] },
  });
  for (const path of ['/presets', '/presets/0', '/tours/4', '/tours/4/end']) {
    service.on('POST', path, { status: 204 });
  }
}

/** Takes the key back with 400 once the cameras have been listed. */
function keyTakenBackWith400(service: ScriptedService): void {
  const refused = { status: 400, json: { code: 'InvalidApiKey' } };
  service.on(
    'GET',
    '/devices',
    (request) => {
      service.behaviour = () => refused;
      return service.standard(request);
    },
    refused,
  );
}

/** Chooses these versions one after the other, each for the next System resource, whatever was asked for; the last one stays. */
function ofVersions(service: ScriptedService, versions: string): void {
  const all = versions.split(' ');
  let turn = 0;
  service.on('GET', '/system', (request) => {
    // The first two belong to one login.
    const version = all[Math.min(Math.max(0, turn - 1), all.length - 1)];
    turn += 1;
    const reply = service.system(request);
    if (typeof reply === 'string') return reply;
    return { ...reply, headers: { 'Content-Type': `application/json; version=${version}` } };
  });
}

/** Makes a service differ from the usual in one thing, in the way that is given. */
type Peculiarity = (service: ScriptedService, how: string) => void | Promise<void>;

/** What a service may have of its own, each in a small program. */
export const PECULIARITIES = {
  plain: () => undefined,
  compressing,
  oddlyCoded,
  oddlyCodedCommands,
  brokenlyCoded,
  bombing,
  muchJson,
  ownPtzLinks,
  keyTakenBackWith400,
  ofVersions,
} as const satisfies Record<string, Peculiarity>;

export type PeculiarityName = keyof typeof PECULIARITIES;
