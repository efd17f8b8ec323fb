import type { Node } from 'node-red';
import type { Actor } from '../../lib/inbox/history';
import { isRecord } from '../../lib/json/json';
import type { Request } from './admin-route';

/** A node that does something with an event, as the history of that knows it. */
export function actorOf({ id, name }: Pick<Node, 'id' | 'name'>): Actor {
  return { node: { id, name: name ?? '' } };
}

/** The user of the editor who asks; nobody where it asks for no login. */
export function userOf(req: Request): Actor {
  const user: unknown = Reflect.get(req, 'user');
  const name = isRecord(user) ? user['username'] : undefined;
  return typeof name === 'string' ? { user: name } : {};
}
