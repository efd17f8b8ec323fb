import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { forEachTimeSliced, timeSliced } from '../../lib/concurrency/iteration';
import type { Device } from '../../lib/device';
import { deviceCopy, serviceNode } from '../rvm-central-station/service-node';
import { type NodeConfig, registerNode } from '../support/register';
import { choiceOf, flagOf } from '../support/settings';
import { typedText } from '../support/typed-input';

const SEARCH = { value: '', type: 'str' };

function build(RED: NodeAPI, node: Node, config: NodeConfig): void {
  serviceNode(RED, node, config, async (msg, client, options) => {
    const show = choiceOf(config, 'show', ['all', 'online', 'not-online']);
    const output = choiceOf(config, 'output', ['array', 'each']);
    const links = flagOf(config, 'links');
    const search = await typedText(RED, node, { properties: config, name: 'search', byDefault: SEARCH }, msg);

    const devices = await client.listDevices({ ...options, fresh: flagOf(config, 'fresh') });
    const isWanted = deviceFilter(show, search);
    const wanted: Device[] = [];
    await forEachTimeSliced(devices, (device) => {
      if (isWanted(device)) wanted.push(device);
    });
    if (output === 'each') return messageEach(RED, msg, wanted, links);
    msg.payload = await copiesOf(wanted, links);
    return undefined;
  });
}

async function copiesOf(devices: readonly Device[], links: boolean): Promise<object[]> {
  const copies: object[] = [];
  await forEachTimeSliced(devices, (device) => copies.push(deviceCopy(device, links)));
  return copies;
}

/** One message per device, with `parts` for a join node; existing `parts` are nested inside. */
async function* messageEach(
  RED: NodeAPI,
  msg: NodeMessage,
  devices: readonly Device[],
  links: boolean,
): AsyncGenerator<NodeMessage> {
  const { payload: _replaced, _msgid, parts, ...rest } = msg;
  const outer = parts === undefined ? {} : { parts };
  const shared = { ...outer, id: RED.util.generateId(), type: 'array', count: devices.length, len: 1 };
  for await (const [index, device] of timeSliced(devices.entries())) {
    yield {
      ...RED.util.cloneMessage(rest),
      payload: deviceCopy(device, links),
      parts: { ...shared, index },
    };
  }
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-list-devices', build);

/** Filter for devices: by state, and by a text contained in name, site or id, ignoring case. An empty text matches all. */
function deviceFilter(show: 'all' | 'online' | 'not-online', search: string): (device: Device) => boolean {
  const sought = comparable(search.trim());
  return ({ online, name, site, id }) => {
    if (show !== 'all' && online !== (show === 'online')) return false;
    return sought === '' || [name, site, id].some((text) => comparable(text).includes(sought));
  };
}

/** Normal form: a letter with an accent may be one character or two that look the same. */
function comparable(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
