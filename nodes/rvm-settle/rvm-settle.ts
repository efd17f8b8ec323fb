import type { Node, NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { settleInAny } from '../../lib/inbox/inboxes';
import { VERDICTS, type PersonVerdict, type Verdict, type Settlement } from '../../lib/inbox/model';
import { allInboxes } from '../rvm-inbox/inboxes';
import { actorOf, FailureStatus, onInput } from '../support/input';
import { type NodeConfig, registerNode } from '../support/register';
import { textOf, unsetVariableError, unsetVariables, type Properties } from '../support/settings';
import { showFromStart, unsetStatus } from '../support/status';
import { typedValue } from '../support/typed-input';
import { addSettler } from '../support/flows';

const ACTION = { value: 'done', type: 'str' };
const DELIVERY = { value: 'webhook.deliveryId', type: 'msg' };
/** Default source: what a person found is a property of the message. */
const inMessage = (name: string): typeof ACTION => ({ value: name, type: 'msg' });

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

/** @throws RvmError BAD_INPUT */
function verdictOf(value: unknown): Verdict | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  const verdict = VERDICTS.find((known) => known === value);
  if (verdict !== undefined) return verdict;
  throw new RvmError(
    'BAD_INPUT',
    'The verdict must be the text real or false, or absent: correct it in the node, or in the message.',
  );
}

/**
 * Other types, such as an object that the flow has under that name, are ignored: they must not stop an event from being
 * settled.
 */
function remarkOf(value: unknown): string {
  if (typeof value === 'number') return `${value}`;
  return typeof value === 'string' ? value.trim() : '';
}

function findingOf({ verdict, note, by }: Record<keyof PersonVerdict, unknown>): PersonVerdict {
  const [known, remark, person] = [verdictOf(verdict), remarkOf(note), remarkOf(by)];
  return {
    ...(known !== undefined && { verdict: known }),
    ...(remark !== '' && { note: remark }),
    ...(person !== '' && { by: person }),
  };
}

function deliveryIdOf(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '') return value.trim();
  throw new RvmError(
    'BAD_INPUT',
    'The message has no delivery id: keep msg.webhook from webhook in to here, or keep msg.webhook.deliveryId elsewhere and say so in this node.',
  );
}

function build(RED: NodeAPI, node: Node, config: NodeConfig): void {
  const unset = unsetVariables(config);
  const shown = new FailureStatus(node, () => (unset === undefined ? {} : unsetStatus(RED, unset)));
  if (unset !== undefined) showFromStart(RED, node, () => shown.current());
  node.on('close', addSettler(node));

  onInput(
    node,
    async (msg) => {
      if (unset !== undefined) throw unsetVariableError(unset);
      const value = (name: string, byDefault: typeof ACTION): Promise<unknown> =>
        typedValue(RED, node, { properties: config, name, byDefault }, msg);
      const settlement = settlementOf(await value('action', ACTION), config);
      const deliveryId = deliveryIdOf(await value('delivery', DELIVERY));
      const finding = findingOf({
        verdict: await value('verdict', inMessage('verdict')),
        note: await value('note', inMessage('note')),
        by: await value('by', inMessage('by')),
      });
      await settleInAny(allInboxes(), (inbox) =>
        inbox.settle(deliveryId, { ...settlement, finding }, actorOf(node)),
      );
    },
    (failure) => shown.ended(failure),
  );
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-settle', build);
