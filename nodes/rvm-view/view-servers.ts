import type { NodeAPI } from 'node-red';
import type { ViewServer } from '../../lib/video/view/view-server';
import { claimInbox, DEFAULTS, openInboxes } from '../rvm-inbox/inboxes';
import type { WebhookServer } from '../support/webhook-server';

type ServerModule = typeof import('../../lib/video/view/view-server');
type FragmentsModule = typeof import('../../lib/video/mp4/fragments');

/** Where the views of a server are, and what signs their addresses. */
export interface Views {
  server: ViewServer;
  /** Path of them, from the root of the server: begins and ends with a slash. */
  prefix: string;
  key: Uint8Array;
}

/** By the pages of a server; as long as that lives, so that a deploy cuts nobody who watches at another node. */
const views = new WeakMap<WebhookServer['pages'], Promise<Views>>();

/**
 * The views of a server.
 * @param prefix where they are
 * @throws RvmError STORE_FAILED where the inbox cannot give the key
 */
export function viewsOf(RED: NodeAPI, { pages }: WebhookServer, prefix: string): Promise<Views> {
  const known = views.get(pages);
  if (known !== undefined) return known;
  const made = madeViews(RED, pages, prefix);
  views.set(pages, made);
  made.catch(() => views.delete(pages));
  return made;
}

async function madeViews(RED: NodeAPI, pages: WebhookServer['pages'], prefix: string): Promise<Views> {
  const key = await viewKey(RED);
  // Loaded here and not above: most flows show no views.
  const { ViewServer } = require('../../lib/video/view/view-server') as ServerModule;
  const { FragmentWriter } = require('../../lib/video/mp4/fragments') as FragmentsModule;
  const server = new ViewServer({
    key,
    prefix,
    fragments: ({ audio }, seconds) => new FragmentWriter(audio, seconds),
  });
  pages.add((req, res) => server.handle(req, res));
  return { server, prefix, key };
}

/** That of the first inbox by the names of their folders: the same one at each start. */
async function viewKey(RED: NodeAPI): Promise<Uint8Array> {
  const [first] = [...openInboxes()].sort((one, other) => one.folder.localeCompare(other.folder));
  if (first !== undefined) return first.inbox.viewKey();
  const claim = claimInbox(RED, DEFAULTS);
  try {
    return await claim.inbox.viewKey();
  } finally {
    claim.release();
  }
}
