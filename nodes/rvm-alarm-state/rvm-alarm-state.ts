import { randomUUID } from 'node:crypto';
import type { Node, NodeAPI, NodeDef, NodeMessage, NodeStatus } from 'node-red';
import { alarmEventOf } from '../../lib/alarms/level';
import { type AlarmSettings, controlOf } from '../../lib/alarms/settings';
import { AlarmState, type EventOutcome } from '../../lib/alarms/alarm-state';
import type { InboxClaim } from '../../lib/inbox/inboxes';
import { isRecord } from '../../lib/json/json';
import { chosenInbox, allInboxes, claimInbox, deliveryIdOf } from '../rvm-inbox/inboxes';
import { actorOf, toCatchNodes } from '../support/input';
import { onFlowsState } from '../support/flows';
import { registerNode } from '../support/register';
import {
  unsetTogether,
  unsetVariableError,
  unsetVariables,
  type Properties,
  type UnsetVariables,
} from '../support/settings';
import { unsetStatus } from '../support/status';
import {
  addAlarmState,
  alarmStates,
  countSharing,
  type LivingAlarmState,
  alarmStatus,
  groupingOf,
  keyOf,
  settingsOf,
  becomeState,
  eventIn,
  raisedJson,
  stateMessage,
} from './alarm-node';

/** Milliseconds between two updates of the status: there may be many groups. */
const SHOW_EVERY = 200;

type FlowMessage = NodeMessage & Record<string, unknown>;
type Send = (msg: (NodeMessage | null)[]) => void;

class AlarmStateNode implements LivingAlarmState {
  readonly nodeId: string;
  readonly life = randomUUID();
  readonly shared: string;
  readonly #owner: string;
  readonly #settings: AlarmSettings;
  readonly #unset: UnsetVariables | undefined;
  readonly #hasWrongSetting: boolean;
  readonly #claim: InboxClaim;
  readonly #state: AlarmState;
  readonly #end: (() => void)[];
  #shown: NodeStatus | undefined;
  #shownAt = -Infinity;
  #showing: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: Node,
    config: NodeDef,
  ) {
    const properties: Properties = { ...config };
    const inboxNode = chosenInbox(RED, node, properties, 'rvm-alarm-state.errors.noInbox');
    const key = keyOf(properties, node.id);
    this.#unset = unsetTogether(unsetVariables(properties), inboxNode?.unsetVariables);
    this.#settings = settingsOf(properties);
    this.#hasWrongSetting = key === undefined || groupingOf(properties) === undefined;
    if (this.#hasWrongSetting && this.#unset === undefined)
      node.error(RED._('rvm-alarm-state.errors.setting'));
    this.#claim = claimInbox(RED, inboxNode?.place);
    const isShared = inboxNode?.place !== undefined && inboxNode.place.folder === undefined;
    this.#owner = `alarms:${key ?? node.id}`;
    this.nodeId = node.id;
    this.shared = `${inboxNode?.place?.store ?? ''} ${this.#owner}`;
    this.#state = new AlarmState({
      slots: this.#claim.inbox,
      owner: this.#owner,
      settings: this.#settings,
      instance: this.life,
      // An inbox file is used by this process only, so all nodes that share the state are known here.
      isAlone: () => !isShared && countSharing(this) <= 1,
      mayLive: (life) => isShared || alarmStates().some((other) => other.life === life),
      say: (said) => this.#send([stateMessage(said)]),
      changed: () => this.#showSoon(),
    });
    this.#end = [addAlarmState(this), onFlowsState(RED, 'started', () => void this.#state.start())];
    node.status(this.#status());
  }

  raised(): string[] {
    return this.#state.raised();
  }

  /**
   * @returns a promise where the message cannot be handled at once
   * @throws RvmError BAD_INPUT, CONFIG_MISSING
   */
  take(msg: FlowMessage, send: Send): void | Promise<void> {
    if (this.#unset !== undefined) throw unsetVariableError(this.#unset);
    const { webhook } = msg;
    if (!isRecord(webhook)) return this.#state.control(controlOf(msg.topic, msg.group, msg.minutes));
    const event = eventIn(msg);
    const read = alarmEventOf(webhook, event, this.#settings.group);
    const outcome = this.#state.event(read, (most) => raisedJson(webhook, event, most));
    if (!(outcome instanceof Promise)) return this.#leave(msg, outcome, send);
    return outcome.then((settled) => this.#leave(msg, settled, send));
  }

  /** @param removed true where the node is deleted or disabled */
  async close(removed: boolean): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#showing);
    for (const end of this.#end) end();
    await this.#state.close();
    if (removed) await this.#forget().catch(() => undefined);
    this.#claim.release();
  }

  #leave(msg: FlowMessage, outcome: EventOutcome, send: Send): void {
    if (this.#isClosed) return;
    if (outcome.output === 'state') {
      becomeState(msg, outcome.group, outcome.raised);
      return send([msg]);
    }
    if (outcome.output === 'held') {
      msg.reason = outcome.reason;
      if (outcome.counted !== undefined) msg.held = { events: outcome.counted, of: this.#settings.count };
    }
    // Read before sending, because the flow behind may change the message.
    const deliveryId = deliveryIdOf(msg);
    send(outcome.output === 'held' ? [null, null, msg] : [null, msg]);
    if (deliveryId !== '') void this.#settle(deliveryId, outcome);
  }

  /** Settles a leased event once its effect is durable. An event that cannot be settled now is redelivered. */
  async #settle(deliveryId: string, { isDurable }: EventOutcome): Promise<void> {
    const inboxes = allInboxes().filter((inbox) => inbox.leaseOf(deliveryId) !== undefined);
    if (inboxes.length === 0 || !(await isDurable())) return;
    for (const inbox of inboxes)
      inbox.settle(deliveryId, { action: 'done' }, actorOf(this.node)).catch(() => undefined);
  }

  #send(messages: NodeMessage[]): void {
    if (!this.#isClosed) this.node.send(messages);
  }

  #showSoon(): void {
    if (this.#showing !== undefined || this.#isClosed) return;
    const pause = Math.max(0, this.#shownAt + SHOW_EVERY - performance.now());
    this.#showing = setTimeout(() => {
      this.#showing = undefined;
      this.#shownAt = performance.now();
      this.#show();
    }, pause);
  }

  #show(): void {
    const current = this.#status();
    if (this.#isClosed || (current.text === this.#shown?.text && current.fill === this.#shown?.fill)) return;
    this.#shown = current;
    this.node.status(current);
  }

  #status(): NodeStatus {
    if (this.#unset !== undefined) return unsetStatus(this.RED, this.#unset);
    return alarmStatus(this.RED, {
      state: this.#state,
      count: this.#settings.count,
      sharing: countSharing(this),
      hasWrongSetting: this.#hasWrongSetting,
    });
  }

  /** Removes the state, unless the node is only disabled and may return, or other nodes or instances may use it. */
  async #forget(): Promise<void> {
    let isInFlows = false;
    this.RED.nodes.eachNode(({ id }) => {
      if (id === this.node.id) isInFlows = true;
    });
    if (isInFlows || countSharing(this) > 0) return;
    const { inbox } = this.#claim;
    if ((await inbox.instances()).length === 0) await inbox.dropSlots(this.#owner);
  }
}

function build(RED: NodeAPI, node: Node, config: NodeDef): void {
  const alarms = new AlarmStateNode(RED, node, config);
  node.on('input', (msg, send, done) => {
    const refuse = (thrown: unknown): void => toCatchNodes(thrown, { msg, done });
    try {
      const taking = alarms.take(msg, send);
      if (taking === undefined) done();
      else taking.then(() => done(), refuse);
    } catch (error) {
      refuse(error);
    }
  });
  node.on('close', (removed: boolean, done: () => void) => void alarms.close(removed).finally(done));
}

export = (RED: NodeAPI): void => registerNode(RED, 'rvm-alarm-state', build);
