import type { NodeAPI, NodeDef } from 'node-red';
import { nodeIsNewEnough, saferNode, registerNode } from '../support/register';
import { dropAlarms, chosenServer, nodeRedServer } from './node-red-server';
import { addSeenRoute, addSelfTest, type WebhookNode } from './webhook-node';
import { forgetProblemsOf, keepProblems } from './problem-registry';
import { WebhookIn } from './webhook-in';
import { wiringOf } from './wiring';

export = (RED: NodeAPI): void => {
  const isNewEnough = nodeIsNewEnough();
  const safer = isNewEnough ? (saferNode() ?? '') : '';
  if (safer !== '')
    RED.log.warn(RED._('rvm-webhook-in.log.saferNode', { running: process.versions.node, version: safer }));
  if (isNewEnough) {
    nodeRedServer(RED);
    keepProblems(RED);
    addSelfTest(RED);
    addSeenRoute(RED);
  } else {
    dropAlarms(RED);
  }

  const build = (_RED: NodeAPI, node: WebhookNode, config: NodeDef): void => {
    const server = chosenServer(RED, node, config);
    if (server === undefined) return;
    const webhook = new WebhookIn(wiringOf(RED, node, config, server));
    node.webhook = webhook;
    node.on('close', (removed: boolean, done: () => void) => {
      if (removed) forgetProblemsOf(node.id);
      webhook.close(removed).then(done, done);
    });
  };
  registerNode(RED, 'rvm-webhook-in', build, {
    settings: { rvmWebhookInSaferNode: { value: safer, exportable: true } },
  });
};
