import path from 'node:path';
import type { NodeAPI } from 'node-red';
import type { Inbox } from '../../lib/inbox/inbox';
import { OpeningInbox } from '../../lib/inbox/opening-inbox';

type SqliteModule = typeof import('../../lib/inbox/sqlite-inbox');

const FILE = path.join('remote-monitoring', 'inbox.sqlite');

let inbox: Inbox | undefined;

/** Where the events of webhook nodes wait and their ids are remembered: one per process, whatever they arrived by. */
export function defaultInbox(RED: NodeAPI): Inbox {
  inbox ??= new OpeningInbox({
    open: () => {
      // Loaded here and not above: registering types must not start a thread.
      const { SqliteInbox } = require('../../lib/inbox/sqlite-inbox') as SqliteModule;
      const file = path.join(RED.settings.userDir ?? process.cwd(), FILE);
      return SqliteInbox.open({ file, log: (line) => RED.log.error(line) });
    },
    onFailure: (error) => RED.log.error(error instanceof Error ? error.message : String(error)),
  });
  return inbox;
}
