import type { ScriptedService } from './scripted-service';

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
type Peculiarity = (service: ScriptedService, how: string) => void;

/** What a service may have of its own, each in a small program. */
export const PECULIARITIES = {
  plain: () => undefined,
  ownPtzLinks,
  ofVersions,
} as const satisfies Record<string, Peculiarity>;

export type PeculiarityName = keyof typeof PECULIARITIES;
