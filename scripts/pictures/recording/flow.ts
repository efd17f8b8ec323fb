import { station, webhookIn } from '../../../test/support/node-red/flows';
import type { FlowNode } from '../../../test/support/node-red/node-red';

/** Alarms with their picture, each of which waits until an operator presses the button. */
export function settledByHand(): FlowNode[] {
  return [
    { id: 'tab', type: 'tab', label: 'Alarms' },
    { id: 'cloud', type: 'rvm-cloud', name: 'Sandbox', url: 'sandbox', sandboxEvents: 0, credentials: {} },
    station({ credentials: {} }),
    webhookIn({ handledWhen: 'settled', x: 110, y: 100, wires: [['picture', 'wait'], [], []] }),
    node('picture', 'rvm-get-picture', { x: 330, y: 60, wires: [['shown'], []] }),
    node('shown', 'debug', { name: 'picture', x: 520, y: 60, tostatus: false }),
    node('wait', 'change', {
      name: 'on the screen',
      x: 300,
      y: 140,
      rules: rules('flow', 'msg'),
      wires: [[]],
    }),
    node('handled', 'inject', {
      name: 'handled',
      props: [],
      repeat: '',
      once: false,
      x: 110,
      y: 240,
      wires: [['this']],
    }),
    node('this', 'change', {
      name: 'this alarm',
      x: 270,
      y: 240,
      rules: rules('msg', 'flow'),
      wires: [['settle']],
    }),
    node('settle', 'rvm-settle', { x: 400, y: 240, wires: [['settled'], []] }),
    node('settled', 'debug', { name: 'settled', x: 560, y: 240 }),
  ];
}

function node(id: string, type: string, properties: Record<string, unknown>): FlowNode {
  return { id, type, z: 'tab', name: '', ...properties };
}

/** Sets `webhook`, which says whose event it is, in one place from another. */
function rules(to: string, from: string): object[] {
  return [{ t: 'set', p: 'webhook', pt: to, to: 'webhook', tot: from }];
}
