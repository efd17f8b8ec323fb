import type { NodeAPI } from 'node-red';
import { faultOf } from './admin-routes';

interface Callbacks {
  /** Called when all nodes of the flow file exist. */
  started: Set<() => void>;
  /** Called before nodes close; after a partial deploy some stay open. */
  stopping: Set<() => void>;
}

const runtimes = new WeakMap<NodeAPI['events'], Callbacks>();

/**
 * Calls back when the flows have started or are about to stop; returns a function that ends this. All nodes share one runtime
 * listener per event, because the runtime warns of a leak from the eleventh listener on.
 */
export function onFlowsState(RED: NodeAPI, event: keyof Callbacks, callback: () => void): () => void {
  const callbacks = callbacksOf(RED)[event];
  callbacks.add(callback);
  return () => callbacks.delete(callback);
}

function callbacksOf(RED: NodeAPI): Callbacks {
  const known = runtimes.get(RED.events);
  if (known !== undefined) return known;
  const callbacks: Callbacks = { started: new Set(), stopping: new Set() };
  runtimes.set(RED.events, callbacks);
  RED.events.on('flows:started', () => callAll(RED, callbacks.started));
  RED.events.on('flows:stopping', () => callAll(RED, callbacks.stopping));
  return callbacks;
}

/** Runs every callback even if another throws: a *webhook in* that misses a start would cut all its alarms. */
function callAll(RED: NodeAPI, callbacks: Set<() => void>): void {
  for (const callback of callbacks) {
    try {
      callback();
    } catch (error) {
      RED.log.error(RED._('shared.flows.failed', { fault: faultOf(error) }));
    }
  }
}

/** The live *settle event* nodes: without one, events that must be settled wait in vain. */
const settlers = new Set<object>();

/** Returns a function that removes the node. */
export function addSettler(node: object): () => void {
  settlers.add(node);
  return () => settlers.delete(node);
}

export function hasSettler(): boolean {
  return settlers.size > 0;
}
