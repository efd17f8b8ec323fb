import { JPEG } from '../foreign/picture';
import type { ScriptedService } from '../scripted-service';

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

/** A call for all presets hangs on the list, by the name that is given. */
export function ownLinkOfTheList(service: ScriptedService, name: string): void {
  service.on('GET', '/sources/Gate', { json: { _links: { 'rel/ptz_presets': '/presets' } } });
  service.on('GET', '/presets', {
    json: {
      presets: [{ id: 0, name: 'Door', _links: { 'rel/self': '/presets/0' } }],
      _links: { [name]: '/all' },
    },
  });
  service.on('POST', '/all', { status: 204 });
}

/** Takes no GET to its pictures, but the methods that are given; after a redirect, where that stands first. */
export function picturesByOtherMethod(service: ScriptedService, how: string): void {
  const isElsewhere = how.startsWith('elsewhere ');
  const allowed = isElsewhere ? how.slice('elsewhere '.length) : how;
  service.on('GET', '/sources/Gate', { json: { _links: { 'rel/snapshot': '/camera' } } });
  const place = isElsewhere ? '/picture' : '/camera';
  if (isElsewhere) service.on('GET', '/camera', { status: 302, headers: { Location: place } });
  service.on('GET', place, { status: 405, headers: allowed === '' ? {} : { Allow: allowed } });
  service.on('POST', place, { headers: { 'Content-Type': 'image/jpeg' }, bytes: JPEG });
}

/** As before, and the other method fails as well. */
export function picturesByNoMethod(service: ScriptedService, status: string): void {
  picturesByOtherMethod(service, 'POST');
  service.on('POST', '/camera', { status: Number(status), headers: { Allow: 'GET, POST' } });
}

/** Refuses whatever key there is with 400 and this body. */
export function keyRefusedWith400(service: ScriptedService, body: string): void {
  service.on('GET', '/system', { status: 400, text: body });
}

/** Takes the key back with 400 once the cameras have been listed. */
export function keyTakenBackWith400(service: ScriptedService): void {
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

/** Refuses the login with this status. */
export function loginRefusedWith(service: ScriptedService, status: string): void {
  service.on('POST', '/login', { status: Number(status), json: { message: 'not like this' } });
}

/** Chooses these versions one after the other, each for the next System resource, whatever was asked for; the last one stays. */
export function ofVersions(service: ScriptedService, versions: string): void {
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
