import assert from 'node:assert/strict';
import type { FlowNode, NodeRed } from '../node-red/node-red';

/** The button that lets alarms of the sandbox out of the building, in examples that reach out. */
export function trialButton(flow: readonly FlowNode[]): string | undefined {
  return flow.find(({ type, name }) => type === 'inject' && String(name).startsWith('let sandbox alarms out'))
    ?.id;
}

/** Presses it, where the example has one. */
export async function letSandboxOut(nodeRed: NodeRed, flow: readonly FlowNode[]): Promise<void> {
  const button = trialButton(flow);
  if (button !== undefined) await press(nodeRed, button);
}

/** Presses the button of an inject node. */
export async function press(nodeRed: NodeRed, id: string): Promise<void> {
  const response = await fetch(`${nodeRed.url}/inject/${id}`, { method: 'POST' });
  assert.ok(response.ok, `the button of ${id}: ${response.status}`);
}
