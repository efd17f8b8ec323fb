import type { NodeRed } from '../node-red/node-red';

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
  const response = await fetch(`${nodeRed.url}${root}/auth/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(login),
  });
  const { access_token: token } = (await response.json()) as { access_token: string };
  return token;
}

/** Asks as a dialog does that only wants to know. */
export async function look(nodeRed: NodeRed, path: string, token = ''): Promise<Reply> {
  return replyOf(await fetch(`${nodeRed.url}/rvm/${path}`, { headers: authorization(token) }));
}

/** Asks as a dialog does that wants something done. */
export async function act(nodeRed: NodeRed, path: string, body: object, token = ''): Promise<Reply> {
  const headers = { 'Content-Type': 'application/json', ...authorization(token) };
  return replyOf(
    await fetch(`${nodeRed.url}/rvm/${path}`, { method: 'POST', headers, body: JSON.stringify(body) }),
  );
}

function authorization(token: string): Record<string, string> {
  return token === '' ? {} : { Authorization: `Bearer ${token}` };
}

async function replyOf(response: Response): Promise<Reply> {
  const text = await response.text();
  const isJson = (response.headers.get('content-type') ?? '').includes('json');
  return { status: response.status, body: isJson ? (JSON.parse(text) as Reply['body']) : { text } };
}
