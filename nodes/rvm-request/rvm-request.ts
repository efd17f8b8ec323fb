import type { Node, NodeAPI, NodeMessage } from 'node-red';
import type { ApiRequest } from '../../lib/cloud/calls';
import { REQUEST_METHODS, REQUEST_STARTS } from '../../lib/limits';
import { RvmError } from '../../lib/error';
import { serviceNode } from '../rvm-central-station/service-node';
import { cameraOf } from '../support/typed-input';
import { type NodeConfig, registerNode } from '../support/register';
import { choiceOf, listOf } from '../support/settings';

function build(RED: NodeAPI, node: Node, config: NodeConfig): void {
  serviceNode(RED, node, config, async (msg, client, options) => {
    const method = choiceOf(config, 'method', REQUEST_METHODS);
    const start = choiceOf(config, 'start', REQUEST_STARTS);
    const isAtCamera = start === 'device' || start === 'data-sources';
    const wanted: ApiRequest = {
      start,
      camera: isAtCamera ? await cameraOf(RED, node, config, msg) : undefined,
      url: start === 'url' ? urlIn(msg) : undefined,
      rels: listOf(config, 'rels'),
      method,
      ...(method !== 'GET' && { body: msg.payload }),
    };
    const { payload, statusCode, headers, links } = await client.request(wanted, options);
    Object.assign(msg, { payload, statusCode, headers, links });
  });
}

/** @throws RvmError BAD_INPUT */
function urlIn({ url }: NodeMessage): string {
  if (typeof url === 'string' && url.trim() !== '') return url.trim();
  throw new RvmError(
    'BAD_INPUT',
    'There is no link in msg.url: set it to a link that the service has given.',
  );
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-request', build);
