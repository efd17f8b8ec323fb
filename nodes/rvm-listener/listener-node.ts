import type { Node } from 'node-red';
import type { WebhookServer } from '../rvm-webhook-in/webhook-server';

export interface ListenerNode extends Node {
  server: WebhookServer;
}
