import type { Node, NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { seenIds, withNamed } from '../../lib/inbox/searches';
import type { JudgedIds } from '../../lib/message/event-filter';
import type { SelfTestReport } from '../../lib/webhook/self-test-steps';
import { allInboxes } from '../rvm-inbox/inboxes';
import { readRoute, writeRoute } from '../support/admin-routes';
import { listOf, textOf } from '../support/settings';
import { webhookIds } from './problem-registry';
import type { WebhookHealth } from './status';

/** A deployed *webhook in*, as other nodes and the routes of the editor see it. */
export interface DeployedWebhook {
  /** Undefined where no request can reach the node. */
  readonly path: string | undefined;
  /** Id of the endpoint in the inbox; undefined where there is no path. */
  readonly endpointId: string | undefined;
  /** Deliveries before an event becomes a dead letter; undefined where an event is handled once sent. */
  readonly maxAttempts: number | undefined;
  /** Title for users: the name of the node, else of its stations, else its path. */
  readonly title: string;
  /**
   * Posts a signed message to the URL registered with the service, and checks that this node receives it.
   * @param isScheduled true where no user requested the test: no output sends its message
   * @throws RvmError CONFIG_MISSING where the node or its station could not accept the message
   */
  selfTest(isScheduled?: boolean): Promise<SelfTestReport>;
  /**
   * Ids of the filter that events of these stations have named; none where the filter covers other stations too.
   * @param stations keys
   */
  namedAt(stations: ReadonlySet<string>): JudgedIds;
  health(): WebhookHealth;
  /**
   * Judges its quarantine with the current phrases. Resolves with the number of accepted messages.
   * @throws RvmError STORE_FAILED
   */
  judgeAgain(): Promise<number>;
}

export interface WebhookNode extends Node {
  webhook?: DeployedWebhook;
}

export function findWebhook(RED: NodeAPI, id: string): DeployedWebhook | undefined {
  return (RED.nodes.getNode(id) as WebhookNode | null | undefined)?.webhook;
}

/** The *webhook in* with this endpoint: at most one has it. */
export function webhookAt(
  RED: NodeAPI,
  endpointId: string,
): { id: string; webhook: DeployedWebhook } | undefined {
  for (const id of webhookIds()) {
    const webhook = findWebhook(RED, id);
    if (webhook?.endpointId === endpointId) return { id, webhook };
  }
  return undefined;
}

/** @throws RvmError CONFIG_MISSING */
function deployedWebhook(RED: NodeAPI, id: unknown): DeployedWebhook {
  const webhook = findWebhook(RED, textOf({ id }, 'id'));
  if (webhook !== undefined) return webhook;
  throw notDeployed();
}

export function notDeployed(): RvmError {
  return new RvmError('CONFIG_MISSING', 'This webhook is not deployed yet: deploy the flow first.');
}

/** Route for the self-test. The URL is that of the deployed node, never one sent by the editor. */
export function addSelfTest(RED: NodeAPI): void {
  writeRoute(RED, 'webhook-test', ({ webhook }) => deployedWebhook(RED, webhook).selfTest());
}

/**
 * Route for the dialog of a node: ids in the newest events of some Central Stations (named by their keys) for the filters, and
 * ids the node has seen since it was deployed.
 */
export function addSeenRoute(RED: NodeAPI): void {
  readRoute(RED, 'seen-ids', async (input) => {
    const stations = new Set(listOf(input, 'stations'));
    const seen = await seenIds(allInboxes(), stations);
    const webhook = findWebhook(RED, textOf(input, 'node'));
    return webhook === undefined ? seen : withNamed(seen, webhook.namedAt(stations));
  });
}
