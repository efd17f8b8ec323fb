import type { NodeAPI } from 'node-red';

/** First segments of the editor and of its API. A webhook there would lock users out of the editor that could end it. */
const OF_THE_EDITOR: ReadonlySet<string> = new Set(
  'auth comms context credentials debug diagnostics favicon.ico flow flows icons inject library locales nodes plugins projects red resources settings theme types vendor'.split(
    ' ',
  ),
);

interface AdminApp {
  _router?: { stack: AdminLayer[] };
  router?: { stack: AdminLayer[] };
}

interface AdminLayer {
  route?: { path: unknown };
}

/** True where the editor, its API or an admin route of another package answers on a full path. */
export function isReservedPath(RED: NodeAPI, fullPath: string): boolean {
  const adminRoot = RED.settings.get('httpAdminRoot') as unknown;
  if (adminRoot === false) return false;
  const root = `/${typeof adminRoot === 'string' ? adminRoot : ''}/`.replace(/\/{2,}/g, '/');
  const inside = `${fullPath}/`;
  if (!inside.startsWith(root)) return false;
  const path = `/${inside.slice(root.length)}`.replace(/\/+$/, '');
  const [, first = ''] = path.split('/');
  return path === '' || OF_THE_EDITOR.has(first) || isAdminRoute(RED, path);
}

/** Looks for the very path: a pattern of another package that takes everything must not end all webhooks. */
function isAdminRoute(RED: NodeAPI, path: string): boolean {
  const app = RED.httpAdmin as AdminApp & NodeAPI['httpAdmin'] as AdminApp | undefined;
  const stack = (app?._router ?? app?.router)?.stack ?? [];
  return stack.some(({ route }) => route?.path === path);
}
