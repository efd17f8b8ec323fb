import type { NodeAPI } from 'node-red';
import { faultOf } from './admin-routes';

interface Callbacks {
  /** All nodes of the flow file exist. */
  started: Set<() => void>;
  /** Nodes are about to close; some may not, in a deploy of changes only. */
  stopping: Set<() => void>;
}

const runtimes = new WeakMap<NodeAPI['events'], Callbacks>();

/**
 * Calls back when the flows start or are about to stop; returns the way to end that. However many nodes ask, the runtime
 * sees one listener for each event: it warns of a leak from the eleventh on.
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

/** Each, whatever another does: a *webhook in* that is not told of a start would cut all its alarms. */
function callAll(RED: NodeAPI, callbacks: Set<() => void>): void {
  for (const callback of callbacks) {
    try {
      callback();
    } catch (error) {
      RED.log.error(RED._('shared.flows.failed', { fault: faultOf(error) }));
    }
  }
}

/** The *settle event* nodes that live: where there is none, events that have to be settled wait in vain. */
const settlers = new Set<object>();

/** Returns the way to end it. */
export function addSettler(node: object): () => void {
  settlers.add(node);
  return () => settlers.delete(node);
}

export function hasSettler(): boolean {
  return settlers.size > 0;
}
