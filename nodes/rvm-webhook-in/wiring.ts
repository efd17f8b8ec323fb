import type { Node, NodeAPI, NodeDef } from 'node-red';
import { ChangeListeners } from '../../lib/concurrency/signals';
import type { InboxClaim } from '../../lib/inbox/inboxes';
import type { Inbox } from '../../lib/inbox/model';
import type { FilterIds } from '../../lib/message/event-filter';
import { endpointKey } from '../../lib/webhook/endpoint';
import type { UnseenProblems } from '../../lib/webhook/unseen-problems';
import { chosenInbox, claimInbox, type InboxNode } from '../rvm-inbox/inboxes';
import {
  type Properties,
  textOf,
  unsetTogether,
  unsetVariables,
  type UnsetVariables,
} from '../support/settings';
import type { StatusName } from '../support/status';
import type { WebhookServer } from '../support/webhook-server';
import { fullPath } from './node-red-server';
import { problemsOf } from './problem-registry';
import { ServedStations } from './served-stations';
import { filterOf, saysWhenHandled } from './settings';

/** What the parts of a *webhook in* stand on. It is made first, and knows none of them. */
export interface Wiring {
  RED: NodeAPI;
  node: Node;
  properties: Properties;
  filter: FilterIds;
  server: WebhookServer;
  /** With one that is not set the node judges nothing. */
  unset: UnsetVariables | undefined;
  inboxNode: InboxNode | undefined;
  claim: InboxClaim;
  inbox: Inbox;
  stations: ServedStations;
  /** Problems that no user has seen. */
  unseen: UnseenProblems;
  /** Undefined where it has none. Events of a former one wait in the inbox, and are delivered once there is one. */
  address: Address | undefined;
  /** Why the node receives no alarms, or not as it should. */
  fault: StatusName | undefined;
  /** Told when what the status shows may have changed. */
  changes: ChangeListeners;
}

/** Where requests reach the node. */
interface Address {
  /** Id of the endpoint in the inbox. */
  id: string;
  path: string;
}

export function wiringOf(RED: NodeAPI, node: Node, config: NodeDef, server: WebhookServer): Wiring {
  const properties: Properties = { ...config };
  const filter = filterOf(properties);
  const inboxNode = chosenInbox(RED, node, properties, 'rvm-webhook-in.errors.noInbox');
  const claim = claimInbox(RED, inboxNode?.place);
  const { inbox } = claim;
  const unset = unsetTogether(
    unsetVariables(properties, ...Object.values(filter)),
    inboxNode?.unsetVariables,
  );
  const address = addressOf(server, inbox, textOf(properties, 'path'));
  const faults: StatusName[] = [];
  if (address !== undefined && 'fault' in address) faults.push(address.fault);
  if (!saysWhenHandled(properties) && unset === undefined) faults.push('wrongSetting');
  for (const fault of faults) node.error(RED._(`rvm-webhook-in.errors.${fault}`));
  return {
    RED,
    node,
    properties,
    filter,
    server,
    unset,
    inboxNode,
    claim,
    inbox,
    stations: new ServedStations(RED, properties, unset),
    unseen: problemsOf(node.id),
    address: address !== undefined && 'id' in address ? address : undefined,
    // Each is logged; the status has one text for it.
    fault: faults.at(-1),
    changes: new ChangeListeners(),
  };
}

/**
 * The free address at a server, or why there is none; undefined where the status already says why.
 * @param entered path as entered in the node
 */
function addressOf(
  server: WebhookServer,
  inbox: Inbox,
  entered: string,
): Address | { fault: StatusName } | undefined {
  const { port, dispatcher } = server;
  const reading = fullPath(server, entered);
  if (reading === undefined || port === undefined) return undefined;
  if ('fault' in reading) return reading;
  const { path } = reading;
  const id = endpointKey(port, path);
  // The same port and path on another address of this machine: the inbox could not tell their events apart.
  return inbox.hasConsumer(id) || dispatcher.isTaken(path) ? { fault: 'pathInUse' } : { id, path };
}
