import type { Node } from 'node-red';
import type { WebhookServer } from '../support/webhook-server';

export interface ListenerNode extends Node {
  server: WebhookServer;
}
