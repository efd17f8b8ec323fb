import type { Node, NodeAPI, NodeDef, NodeMessage } from 'node-red';
import type { ApiRequest } from '../../lib/cloud/calls';
import { REQUEST_METHODS, REQUEST_STARTS } from '../../lib/limits';
import { RvmError } from '../../lib/error';
import { serviceNode } from '../rvm-central-station/service-node';
import { cameraOf } from '../support/typed-input';
import { registerNode } from '../support/register';
import { choiceOf, listOf, type Properties } from '../support/settings';

type Start = Pick<ApiRequest, 'start' | 'camera' | 'url'>;

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };

  serviceNode(RED, node, config, async (msg, client, options) => {
    const method = choiceOf(properties, 'method', REQUEST_METHODS);
    const body = method === 'GET' ? {} : { body: msg.payload };
    const start = await startOf(RED, node, properties, msg);
    const wanted: ApiRequest = { ...start, rels: listOf(properties, 'rels'), method, ...body };
    const { payload, statusCode, headers, links } = await client.request(wanted, options);
    Object.assign(msg, { payload, statusCode, headers, links });
  });
}

/** @throws RvmError BAD_INPUT, CONFIG_MISSING */
async function startOf(RED: NodeAPI, node: Node, properties: Properties, msg: NodeMessage): Promise<Start> {
  const start = choiceOf(properties, 'start', REQUEST_STARTS);
  switch (start) {
    case 'system':
      return { start };
    case 'device':
    case 'data-sources':
      return { start, camera: await cameraOf(RED, node, properties, msg) };
    case 'url':
      return { start, url: urlIn(msg) };
    default:
      return start satisfies never;
  }
}

function urlIn({ url }: NodeMessage): string {
  if (typeof url === 'string' && url.trim() !== '') return url.trim();
  throw new RvmError(
    'BAD_INPUT',
    'There is no link in msg.url: set it to a link that the service has given.',
  );
}

export = (RED: NodeAPI): void => {
  registerNode(RED, 'rvm-request', (node, config: NodeDef) => build(RED, node, config));
};
