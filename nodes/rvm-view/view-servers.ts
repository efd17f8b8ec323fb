import type { NodeAPI } from 'node-red';
import type { ViewServer } from '../../lib/video/view/view-server';
import { claimInbox, firstInbox } from '../rvm-inbox/inboxes';
import type { WebhookServer } from '../support/webhook-server';

type ServerModule = typeof import('../../lib/video/view/view-server');
type FragmentsModule = typeof import('../../lib/video/mp4/fragment-writer');

/** Where the views of a server are. */
export interface Views {
  server: ViewServer;
  /** Path of them, from the root of the server: begins and ends with a slash. */
  prefix: string;
}

/** By the pages of a server; as long as that lives, so that a deploy cuts nobody who watches at another node. */
const servers = new WeakMap<WebhookServer['pages'], ViewServer>();

/**
 * The views of a server: at once where it had some before, for people who watch must not notice a deploy.
 * @param prefix where they are
 * @throws RvmError STORE_FAILED where no inbox has ever given the key
 */
export async function viewsOf(RED: NodeAPI, { pages }: WebhookServer, prefix: string): Promise<Views> {
  const known = servers.get(pages);
  if (known !== undefined) return { server: known, prefix };
  const key = await viewKey(RED);
  // Another node may have been faster.
  const server = servers.get(pages) ?? madeServer(pages, prefix, key);
  servers.set(pages, server);
  return { server, prefix };
}

/**
 * Lets a server sign with the key of now: a deploy may have given the flow another inbox.
 * @throws RvmError STORE_FAILED where the inbox cannot give it; then the former one goes on
 */
export async function renewKey(RED: NodeAPI, server: ViewServer): Promise<void> {
  server.useKey(await viewKey(RED));
}

function madeServer(pages: WebhookServer['pages'], prefix: string, key: Uint8Array): ViewServer {
  // Loaded here and not above: most flows show no views.
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

/** That of the first inbox: of a shared one, so that an address opens at whichever instance it comes to. */
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
