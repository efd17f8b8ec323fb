import {
  brotliCompressSync,
  constants,
  createBrotliCompress,
  createGzip,
  createDeflate,
  deflateRawSync,
  deflateSync,
  gzipSync,
} from 'node:zlib';
import { Readable, type Transform } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { JPEG } from '../foreign/picture';
import type { Reply, Route, ScriptedService } from '../scripted-service';

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
export function compressing(service: ScriptedService, how: string): void {
  const { name, pack } = PACK[how] ?? unknown(how);
  offerPicture(service);
  const plain = service.behaviour;
  service.behaviour = (request) => packed(plain(request), name, pack);
}

/** Names a coding that nobody has asked for, in the list of cameras. */
export function oddlyCoded(service: ScriptedService, coding: string): void {
  const headers = { 'Content-Encoding': coding };
  service.on('GET', '/devices', () => ({ headers, json: { devices: service.devices } }));
}

/** The same in the answer to a command. */
export function oddlyCodedCommands(service: ScriptedService, coding: string): void {
  const headers = { 'Content-Encoding': coding };
  service.on('GET', '/sources/Gate', { json: { _links: { 'rel/home': '/home' } } });
  service.on('POST', '/home', { headers, text: 'done' });
}

/** Breaks the list of cameras off in the middle of its packed bytes, or sends in their place what was never packed. */
export function brokenlyCoded(service: ScriptedService, how: string): void {
  const [coding = '', fault] = how.split(' ');
  const { name, pack } = PACK[coding] ?? unknown(how);
  service.on('GET', '/devices', () => {
    const whole = pack(Buffer.from(JSON.stringify({ devices: service.devices })));
    const bytes = fault === 'cut' ? whole.subarray(0, whole.length / 2) : Buffer.from('{"devices":[]}');
    return { headers: { 'Content-Encoding': name }, bytes };
  });
}

/** Answers with a few bytes that become very many: the list of cameras, or the picture of one. */
export async function bombing(service: ScriptedService, how: string): Promise<void> {
  const [coding = '', place = ''] = how.split(' ');
  offerPicture(service);
  const packer = PACKER[coding]?.() ?? unknown(coding);
  const zeros = Buffer.alloc(MIB);
  const bytes = await buffer(Readable.from(Array.from({ length: BOMB / MIB }, () => zeros)).pipe(packer));
  service.on('GET', place, { headers: { 'Content-Encoding': coding }, bytes });
}

/** Lists cameras in JSON of more than 16 MiB and less than 32, which takes much less packed. */
export function muchJson(service: ScriptedService): void {
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
