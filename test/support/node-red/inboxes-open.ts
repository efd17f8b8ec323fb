import type { Overview } from '../../../nodes/rvm-sidebar/overview';
import { eventually } from '../time/patience';
import { post } from '../webhook/alarm-message';
import type { NodeRed } from './node-red';

/**
 * Waits until the inboxes of a Node-RED, without users and with its editor at the root, have opened their files. What comes
 * earlier is answered all the same, but may be spilled, and told of as such, where the machine is busy.
 */
export async function inboxesOpen(nodeRed: NodeRed): Promise<void> {
  // The list is in the files.
  await look(nodeRed, 'overview');
}

/**
 * Waits until the inboxes of such a Node-RED know of each event that it was sent or settled. The flow has it a moment earlier,
 * and a restart within that moment rightly delivers it again.
 */
export async function nothingOpen(nodeRed: NodeRed): Promise<void> {
  await eventually(async () => {
    const { events } = (await look(nodeRed, 'overview')).body as unknown as Overview;
    return !events.some(({ state }) => state === 'received' || state === 'leased');
  }, 'the end of what is open');
}

const SCOPES = {
  admin: '*',
  operator: 'read rvm.write settings.write',
  reader: 'read',
  stranger: 'flows.read',
} as const;
export type User = keyof typeof SCOPES;

const PERMISSIONS = JSON.stringify(
  Object.fromEntries(Object.entries(SCOPES).map(([username, scope]) => [username, scope.split(' ')])),
);

/** Settings of a Node-RED with users: `admin` may do all, `operator` all but deploy, `reader` may look, `stranger` at flows alone. */
export const USERS = `adminAuth: (() => {
  const all = ${PERMISSIONS};
  const user = async (username) => username in all ? { username, permissions: all[username] } : null;
  return {
    type: 'credentials',
    users: user,
    authenticate: async (username, password) => (password === 'right' ? user(username) : null),
  };
})(),`;

export interface Reply {
  status: number;
  body: Record<string, unknown>;
}

/** The token of a user of `USERS`. */
export async function tokenOf(nodeRed: NodeRed, username: User, root = ''): Promise<string> {
  const scope = SCOPES[username];
  const login = { client_id: 'node-red-admin', grant_type: 'password', scope, username, password: 'right' };
  const { body } = await replyOf(await post(`${nodeRed.url}${root}/auth/token`, login));
  return String(body['access_token']);
}

/** Asks as a dialog does that only wants to know. */
export async function look(nodeRed: NodeRed, path: string, token = ''): Promise<Reply> {
  return replyOf(await fetch(`${nodeRed.url}/rvm/${path}`, { headers: authorization(token) }));
}

/** Asks as a dialog does that wants something done. */
export async function act(nodeRed: NodeRed, path: string, body: object, token = ''): Promise<Reply> {
  return replyOf(await post(`${nodeRed.url}/rvm/${path}`, body, undefined, authorization(token)));
}

function authorization(token: string): Record<string, string> {
  return token === '' ? {} : { Authorization: `Bearer ${token}` };
}

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return { status: response.status, body: isJson ? (JSON.parse(text) as Reply['body']) : { text } };
}
