import type { Node, NodeAPI, NodeDef, NodeStatus } from 'node-red';
import { withTimeout } from '../../lib/concurrency/timers';
import { RvmError } from '../../lib/error';
import {
  LONGEST_VIEW_MIN,
  MOST_VIEWERS,
  VIDEO_DEADLINE_S,
  VIDEO_WAIT_S,
  VIEW_PRE_ROLL_S,
} from '../../lib/limits';
import { LogThrottle } from '../../lib/webhook/rate-limits';
import { serviceNode, type ServiceWork } from '../rvm-central-station/service-node';
import { chosenServer } from '../rvm-webhook-in/node-red-server';
import { onFlowsState } from '../support/flows';
import { registerNode } from '../support/register';
import { choiceOf, flagOf, strictNumberOf, textOf, type Properties } from '../support/settings';
import { status } from '../support/status';
import { videoOf } from '../support/typed-input';
import { rightFor, ViewVideoSource } from './view-source';
import { renewKey, viewsOf, type Views } from './view-servers';

type AddressModule = typeof import('../../lib/video/view/signed-address');

/** Path of views below the root of a server; no webhook may have it. */
const VIEW_PATH = 'remote-monitoring/view/';
/** Milliseconds in which one kind of failure is logged once. */
const QUIET_PERIOD = 60_000;
/** Milliseconds between two requests for the key, while the inbox cannot return it. */
const RETRY = 5000;
/** Timeout in milliseconds for the current key from the inbox. */
const RENEW_WITHIN = 1000;

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const properties: Properties = { ...config };
  const server = chosenServer(RED, node, config);
  const prefix = server?.fullPath(VIEW_PATH);
  let attached: Promise<Views> | undefined;
  let detach: () => void = () => undefined;
  let isClosed = false;
  const failures = new LogThrottle(QUIET_PERIOD, () => performance.now());

  /**
   * Throttled, because any holder of an address could fill the log. Other errors without their text, which may contain
   * anything.
   */
  const tellFailure = (error: Error): void => {
    const isOurs = error instanceof RvmError;
    if (failures.pass(isOurs ? error.code : error.name) === 0) return;
    node.warn(isOurs ? error.message : `Unexpected ${error.name} in a view: please report it.`);
  };

  /** @throws RvmError CONFIG_MISSING, BAD_INPUT, STORE_FAILED */
  const attach = async (): Promise<Views> => {
    if (server === undefined || prefix === undefined) throw noServer();
    const viewers = strictNumberOf(properties, 'viewers', 4, 1, MOST_VIEWERS);
    const choice = {
      quality: textOf(properties, 'quality').trim(),
      whenOffline: choiceOf(properties, 'whenOffline', ['fail', 'try']),
      deadlineMs: strictNumberOf(properties, 'deadline', VIDEO_DEADLINE_S, 1) * 1000,
      waitForVideoMs: strictNumberOf(properties, 'waitForVideo', VIDEO_WAIT_S) * 1000,
    };
    const views = await viewsOf(RED, server, prefix);
    if (isClosed) throw new RvmError('CANCELLED', 'The node was closed.');
    detach = views.server.add(node.id, {
      viewers,
      source: (right) => new ViewVideoSource(RED, right, choice),
      failed: tellFailure,
    });
    return views;
  };
  const attachedOnce = (): Promise<Views> => {
    attached ??= attach().catch((error: unknown) => {
      attached = undefined;
      throw error;
    });
    return attached;
  };

  const lack = (): NodeStatus | undefined => {
    if (server === undefined) return status(RED, 'notConfigured');
    return prefix === undefined ? status(RED, 'noHttpNodes') : server.status();
  };

  const answer: ServiceWork = async (msg, _client, _options, station) => {
    const lasting = strictNumberOf(properties, 'minutes', 60, 1, LONGEST_VIEW_MIN) * 60_000;
    const publicUrl = publicUrlOf(properties);
    const wanted = await videoOf(RED, node, properties, msg, VIEW_PRE_ROLL_S);
    const grant = { wanted, msg, station, node: node.id, live: flagOf(properties, 'live'), lasting };
    const right = rightFor(grant, Date.now());
    const views = await attachedOnce();
    const { signAddress } = require('../../lib/video/view/signed-address') as AddressModule;
    // While the inbox does not answer, the previous key is better than no link.
    await withTimeout(renewKey(RED, views.server), RENEW_WITHIN).catch(() => undefined);
    const url = `${publicUrl}${views.prefix}${signAddress(views.server.key, right)}`;
    msg.payload = url;
    msg.view = { url, expires: new Date(right.expires).toISOString() };
  };
  const shown = serviceNode(RED, node, config, answer, { lack });

  // A listener opens its port also for pages alone.
  const unwant = server?.pages.want();
  const stopWatching = server?.watch(() => shown.show());
  // Attached at the start, so that addresses from before a restart, or of another instance, open without a
  // message; repeated until the inbox returns the key.
  let retry: NodeJS.Timeout | undefined;
  const attachAlways = (): void => {
    const renewed = attachedOnce().then((views) => renewKey(RED, views.server));
    renewed.catch((error: unknown) => {
      if (isClosed || !(error instanceof RvmError) || error.code !== 'STORE_FAILED') return;
      retry = setTimeout(attachAlways, RETRY).unref();
    });
  };
  const stopListening = onFlowsState(RED, 'started', attachAlways);
  node.on('close', () => {
    isClosed = true;
    clearTimeout(retry);
    stopListening();
    stopWatching?.();
    unwant?.();
    detach();
  });
}

/**
 * '' = the path only.
 * @throws RvmError BAD_INPUT
 */
function publicUrlOf(properties: Properties): string {
  const text = textOf(properties, 'publicUrl').trim();
  if (text === '') return '';
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.search === '' && url.hash === '')
    return text.replace(/\/+$/, '');
  throw new RvmError(
    'BAD_INPUT',
    'The public address of this node is none: write one such as https://alarms.example.com, or leave it empty.',
  );
}

function noServer(): RvmError {
  return new RvmError(
    'CONFIG_MISSING',
    'There is no server for the page: choose a listener, or allow HTTP nodes by httpNodeRoot in settings.js.',
  );
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-view', build);
