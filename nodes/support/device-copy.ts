import type { Device } from '../../lib/device';
import { copyOfJson } from '../../lib/json/json';

/**
 * A device as a flow gets it: a copy, for the records are those of the directory, and a flow may change what it gets.
 * The links of the service only where they are asked for.
 */
export function deviceCopy(device: Device, links = false): Omit<Device, '_links'> {
  if (links) return copyOfJson(device);
  const { _links, ...rest } = device;
  return copyOfJson(rest);
}
