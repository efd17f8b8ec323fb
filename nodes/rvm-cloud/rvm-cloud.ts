import type { NodeAPI, NodeDef } from 'node-red';
import { registerNode } from '../support/register';
import { numberOf, unsetVariableError, unsetVariables, type Properties } from '../support/settings';
import {
  type CloudNode,
  baseUrlOf,
  parseLoginExtra,
  placementOf,
  sandboxConnection,
  sandboxForbidden,
  serviceConnection,
  signOfLifeMsOf,
} from './connection';
import { VideoHost } from './cloud-video';
import { SandboxHost } from './sandbox-host';
import { SANDBOX } from '../support/rules';

function build(RED: NodeAPI, node: CloudNode, config: NodeDef): void {
  const properties: Properties = { ...config };
  const apiKey = node.credentials?.apiKey ?? '';
  const placement = placementOf(RED.settings.get('rvmSandbox'));
  const host = new SandboxHost(
    {
      ...(placement === false ? {} : placement),
      apiKey,
      eventsPerMinute: numberOf(properties, 'sandboxEvents', 1),
      furtherPending: 1,
    },
    ({ url: service, rtspUrl: video }) => node.log(RED._('rvm-cloud.log.sandboxStarted', { service, video })),
  );
  const videoHost = new VideoHost(RED, node, properties);
  let warned = false;

  node.isSandbox = baseUrlOf(properties) === SANDBOX;
  node.isForbidden = node.isSandbox && placement === false;
  node.signOfLifeMs = signOfLifeMsOf(properties);
  node.unsetVariables = unsetVariables(config, node.credentials);

  node.sandbox = async () => {
    if (node.unsetVariables !== undefined) throw unsetVariableError(node.unsetVariables);
    if (placement === false) throw sandboxForbidden();
    return host.sandbox();
  };

  node.video = async () => {
    if (node.unsetVariables !== undefined) throw unsetVariableError(node.unsetVariables);
    return videoHost.video();
  };

  node.runningSandbox = () => host.running;

  node.connection = async () => {
    if (node.unsetVariables !== undefined) throw unsetVariableError(node.unsetVariables);
    const loginExtra = parseLoginExtra(node.credentials?.loginExtra);
    if (node.isSandbox) {
      const sandbox = await node.sandbox();
      return sandboxConnection(properties, loginExtra, sandbox);
    }
    const connection = serviceConnection(RED, properties, { apiKey, loginExtra });
    if (connection.tls?.rejectUnauthorized === false && !warned)
      node.warn(RED._('rvm-cloud.log.notVerified'));
    warned ||= connection.tls?.rejectUnauthorized === false;
    return connection;
  };

  node.on('close', (_removed: boolean, done: () => void) => {
    // First, because it uses the sandbox.
    videoHost
      .close()
      .then(() => host.close())
      .then(done, done);
  });
}

export = (RED: NodeAPI): void => {
  registerNode<CloudNode, NodeDef>(RED, 'rvm-cloud', (node, config) => build(RED, node, config), {
    apiKey: { type: 'password' },
    loginExtra: { type: 'password' },
  });
};
