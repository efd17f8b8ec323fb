import { station, webhookIn } from '../../../test/support/node-red/flows';
import type { FlowNode } from '../../../test/support/node-red/node-red';

/** Name of the flow variable with `msg.webhook` of the last alarm, which *settle* needs. */
const WAITING = 'webhook';

/** Gets the picture of each alarm; each event waits until an operator presses the button `handled`. */
export function settledByHand(): FlowNode[] {
  const kept = [{ t: 'set', p: WAITING, pt: 'flow', to: 'webhook', tot: 'msg' }];
  const given = [{ p: 'webhook', v: WAITING, vt: 'flow' }];
  const button = { props: given, repeat: '', crontab: '', once: false, onceDelay: 0.1, topic: '' };
  return [
    { id: 'tab', type: 'tab', label: 'Alarms' },
    { id: 'cloud', type: 'rvm-cloud', name: 'Sandbox', url: 'sandbox', sandboxEvents: 0, credentials: {} },
    station({ credentials: {} }),
    webhookIn({ handledWhen: 'settled', x: 110, y: 140, wires: [['picture', 'wait'], [], []] }),
    node('picture', 'rvm-get-picture', { x: 330, y: 80, wires: [['shown'], []] }),
    node('shown', 'debug', { name: 'picture', x: 510, y: 80 }),
    node('wait', 'change', { name: 'wait for somebody', x: 360, y: 140, rules: kept, wires: [[]] }),
    node('handled', 'inject', { name: 'handled', ...button, x: 120, y: 260, wires: [['settle']] }),
    node('settle', 'rvm-settle', { x: 320, y: 260, wires: [['settled'], []] }),
    node('settled', 'debug', { name: 'settled', x: 510, y: 260 }),
  ];
}

function node(id: string, type: string, properties: Record<string, unknown>): FlowNode {
  return { id, type, z: 'tab', name: '', ...properties };
}
