import { matchingPath } from './path';

/**
 * By what inboxes know an endpoint: copies of a flow, imported apart, have it in common, unlike the ids of their nodes. A node's id
 * holds no colon, so that none is taken for the other.
 * @param port as it is set in the listener; '' for Node-RED's own server, whichever port that has
 * @param fullPath as requests come by it
 */
export function endpointKey(port: string, fullPath: string): string {
  return `${port}:${matchingPath(fullPath)}`;
}

/** The port and the path of an endpoint, for people. What is no key, but the node id of an earlier version, is given as it is. */
export function placeOfKey(key: string): { port: string; path: string } {
  const [, port = '', path = key] = /^(\d*):(\/.*)$/s.exec(key) ?? [];
  return { port, path };
}
