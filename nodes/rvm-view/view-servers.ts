import type { NodeAPI } from 'node-red';
import type { ViewServer } from '../../lib/video/view/view-server';
import { claimInbox, firstInbox } from '../rvm-inbox/inboxes';
import type { WebhookServer } from '../support/webhook-server';

type ServerModule = typeof import('../../lib/video/view/view-server');
type FragmentsModule = typeof import('../../lib/video/mp4/fragment-writer');

/** The views of a server. */
export interface Views {
  server: ViewServer;
  /** Their path from the root of the server, with a slash at both ends. */
  prefix: string;
}

/** By the pages of a server. Lives as long as those, so that a deploy does not cut viewers of other nodes. */
const servers = new WeakMap<WebhookServer['pages'], ViewServer>();

/**
 * The views of a server, without waiting where they exist: a deploy must not interrupt viewers.
 * @param prefix path of the views
 * @throws RvmError STORE_FAILED where no inbox has returned the key yet
 */
export async function viewsOf(RED: NodeAPI, { pages }: WebhookServer, prefix: string): Promise<Views> {
  const known = servers.get(pages);
  if (known !== undefined) return { server: known, prefix };
  const key = await viewKey(RED);
  // Another node may have created it during the await.
  const server = servers.get(pages) ?? madeServer(pages, prefix, key);
  servers.set(pages, server);
  return { server, prefix };
}

/**
 * Makes a server sign with the current key: after a deploy the flow may use another inbox.
 * @throws RvmError STORE_FAILED where the inbox cannot return the key; the previous one stays in use
 */
export async function renewKey(RED: NodeAPI, server: ViewServer): Promise<void> {
  server.useKey(await viewKey(RED));
}

function madeServer(pages: WebhookServer['pages'], prefix: string, key: Uint8Array): ViewServer {
  // Loaded lazily: most flows have no views.
  const { ViewServer } = require('../../lib/video/view/view-server') as ServerModule;
  const { FragmentWriter } = require('../../lib/video/mp4/fragment-writer') as FragmentsModule;
  const server = new ViewServer({
    key,
    prefix,
    fragments: ({ audio }, seconds) => new FragmentWriter(audio, seconds),
  });
  pages.add((req, res) => server.handle(req, res));
  return server;
}

/** Key of the first inbox: a shared one comes first, so that an address opens on every instance. */
async function viewKey(RED: NodeAPI): Promise<Uint8Array> {
  const first = firstInbox();
  if (first !== undefined) return first.viewKey();
  const claim = claimInbox(RED);
  try {
    return await claim.inbox.viewKey();
  } finally {
    claim.release();
  }
}
