import type { Node, NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { seenIds, withNamed } from '../../lib/inbox/reading/seen-ids';
import type { JudgedIds } from '../../lib/message/event-filter';
import type { SelfTestReport } from '../../lib/webhook/self-test-steps';
import { allInboxes } from '../rvm-inbox/inboxes';
import { readRoute, writeRoute } from '../support/admin-routes';
import { listOf, textOf } from '../support/settings';
import { webhookIds } from './problem-registry';
import type { WebhookHealth } from './status';

/** What the editor asks of a *webhook in* that is deployed. */
export interface DeployedWebhook {
  /** Undefined where it has none by which a request can come. */
  readonly path: string | undefined;
  /** By which its inbox knows it; undefined as the path. */
  readonly endpointId: string | undefined;
  /** Deliveries before an event is a dead letter; undefined where it is handled once it was sent. */
  readonly maxAttempts: number | undefined;
  /** By which people know it: its name, else those of its stations, else its path. */
  readonly title: string;
  /**
   * Posts a signed message to the address that is registered with the service, and looks whether it comes in here.
   * @param isScheduled nobody has asked for it now: its message leaves no output
   * @throws RvmError CONFIG_MISSING where the node, or its station, could not take it
   */
  selfTest(isScheduled?: boolean): Promise<SelfTestReport>;
  /** Of what it is to take, what events of these stations, and of no others, have named. @param stations keys */
  namedAt(stations: ReadonlySet<string>): JudgedIds;
  /** How it fares at the moment. */
  health(): WebhookHealth;
  /** Judges its quarantine with the current phrases. Resolves with how many are accepted. @throws RvmError STORE_FAILED */
  judgeAgain(): Promise<number>;
}

export interface WebhookNode extends Node {
  webhook?: DeployedWebhook;
}

export function findWebhook(RED: NodeAPI, id: string): DeployedWebhook | undefined {
  return (RED.nodes.getNode(id) as WebhookNode | null | undefined)?.webhook;
}

/** The one that has an endpoint: there is one at most. */
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

/** The editor's question whether alarms get through. The address is that of the deployed node, never one that is sent along. */
export function addSelfTest(RED: NodeAPI): void {
  writeRoute(RED, 'webhook-test', ({ webhook }) => deployedWebhook(RED, webhook).selfTest());
}

/**
 * What the dialog of a node asks: by what the newest events of some Central Stations, named by their keys, could be filtered; and
 * what the node itself has seen since it was deployed.
 */
export function addSeenRoute(RED: NodeAPI): void {
  readRoute(RED, 'seen-ids', async (asked) => {
    const stations = new Set(listOf(asked, 'stations'));
    const seen = await seenIds(allInboxes(), stations);
    const webhook = findWebhook(RED, textOf(asked, 'node'));
    return webhook === undefined ? seen : withNamed(seen, webhook.namedAt(stations));
  });
}
