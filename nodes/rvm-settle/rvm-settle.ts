import type { Node, NodeAPI, NodeDef } from 'node-red';
import { RvmError } from '../../lib/error';
import type { Settlement } from '../../lib/inbox/inbox';
import { addSettler, allInboxes } from '../rvm-inbox/inboxes';
import { onInput } from '../support/input';
import { registerNode } from '../support/register';
import { firstUnsetVariable, textOf, unsetVariableError, type Properties } from '../support/settings';
import { showFromStart, status } from '../support/status';
import { typedValue } from '../support/typed-input';

const ACTION = { value: 'done', type: 'str' };
const DELIVERY = { value: 'webhook.deliveryId', type: 'msg' };

function settlementOf(action: unknown, properties: Properties): Settlement {
  switch (action) {
    case 'done':
    case 'retry':
    case 'extend':
      return { action };
    case 'reject':
      return { action, note: textOf(properties, 'reason').trim() };
    default:
      throw new RvmError(
        'BAD_INPUT',
        'The action must be one of done, retry, reject and extend: correct it in the node, or in the message.',
      );
  }
}

function deliveryIdOf(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new RvmError(
    'BAD_INPUT',
    'The message has no delivery id: keep msg.webhook from webhook in to here, or keep msg.webhook.deliveryId elsewhere and say so in this node.',
  );
}

/**
 * Settles in whichever inbox knows the id; one that fails, or hangs, does not hold up the others.
 * @throws RvmError UNKNOWN_DELIVERY, STORE_FAILED
 */
async function settle(deliveryId: string, settlement: Settlement): Promise<void> {
  const settling = allInboxes().map(async (inbox) => {
    if (!(await inbox.settle(deliveryId, settlement))) throw unknownDelivery();
  });
  try {
    await Promise.any(settling);
  } catch (error) {
    // One that fails may be the one that knows it.
    const failures = error instanceof AggregateError ? (error.errors as unknown[]) : [];
    throw failures.find((failure) => !isUnknownDelivery(failure)) ?? unknownDelivery();
  }
}

function unknownDelivery(): RvmError {
  return new RvmError(
    'UNKNOWN_DELIVERY',
    'No inbox knows this delivery id: it comes from another Node-RED, or the event is kept no more.',
  );
}

function isUnknownDelivery(error: unknown): boolean {
  return error instanceof RvmError && error.code === 'UNKNOWN_DELIVERY';
}

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };
  const variable = firstUnsetVariable(config);
  if (variable !== undefined) showFromStart(RED, node, () => status(RED, 'variableNotSet', { variable }));
  node.on('close', addSettler(node));

  onInput(node, async (msg) => {
    if (variable !== undefined) throw unsetVariableError(variable);
    const value = (name: string, byDefault: typeof ACTION): Promise<unknown> =>
      typedValue(RED, node, { properties, name, byDefault }, msg);
    const settlement = settlementOf(await value('action', ACTION), properties);
    await settle(deliveryIdOf(await value('delivery', DELIVERY)), settlement);
  });
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-settle', (node, config: NodeDef) => build(RED, node, config));
};
