import type { NodeAPI } from 'node-red';
import { type NodeConfig, registerNode } from '../support/register';
import { SANDBOX } from '../support/rules';
import { numberOf, unsetVariableError, unsetVariables } from '../support/settings';
import { VideoHost } from './cloud-video';
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
import { SandboxHost } from './sandbox-host';

function build(RED: NodeAPI, node: CloudNode, config: NodeConfig): void {
  const apiKey = node.credentials?.apiKey ?? '';
  const placement = placementOf(RED.settings.get('rvmSandbox'));
  const options = { apiKey, eventsPerMinute: numberOf(config, 'sandboxEvents', 1), furtherPending: 1 };
  const host = new SandboxHost({ ...placement, ...options }, ({ url: service, rtspUrl: video }) =>
    node.log(RED._('rvm-cloud.log.sandboxStarted', { service, video })),
  );
  const videoHost = new VideoHost(RED, node, config);
  let warned = false;

  node.isSandbox = baseUrlOf(config) === SANDBOX;
  node.isForbidden = node.isSandbox && placement === false;
  node.signOfLifeMs = signOfLifeMsOf(config);
  node.unsetVariables = unsetVariables(config, node.credentials);
  const refuseUnset = (): void => {
    if (node.unsetVariables !== undefined) throw unsetVariableError(node.unsetVariables);
  };

  node.sandbox = async () => {
    refuseUnset();
    if (placement === false) throw sandboxForbidden();
    return host.sandbox();
  };

  node.video = async () => {
    refuseUnset();
    return videoHost.video();
  };

  node.runningSandbox = () => host.running;

  node.connection = async () => {
    refuseUnset();
    const loginExtra = parseLoginExtra(node.credentials?.loginExtra);
    if (node.isSandbox) return sandboxConnection(config, loginExtra, await node.sandbox());
    const connection = serviceConnection(RED, config, { apiKey, loginExtra });
    const isUnverified = connection.tls?.rejectUnauthorized === false;
    if (isUnverified && !warned) node.warn(RED._('rvm-cloud.log.notVerified'));
    warned ||= isUnverified;
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

export = (RED: NodeAPI): void =>
  registerNode(RED, 'rvm-cloud', build, {
    credentials: { apiKey: { type: 'password' }, loginExtra: { type: 'password' } },
  });
