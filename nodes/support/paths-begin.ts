/** Where the dialog of *webhook in* begins the paths that it makes: what is posted there is meant for one. */
export const PATHS_BEGIN = '/remote-monitoring/';

/** Names below it that are no webhooks: pages of *view link*, and what a monitor asks whether this Node-RED lives and works. */
const KEPT: ReadonlySet<string> = new Set(['view', 'live', 'ready']);

/** True for a path, as it is entered in a node, that must not become a webhook, for something else of this package answers there. */
export function isKeptPath(path: string): boolean {
  const inside = `/${path}/`.replace(/\/{2,}/g, '/');
  if (!inside.startsWith(PATHS_BEGIN)) return false;
  const [name = ''] = inside.slice(PATHS_BEGIN.length).split('/');
  return KEPT.has(name);
}
