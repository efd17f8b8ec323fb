import type { SecureContextOptions } from 'node:tls';
import type { Node, NodeAPI } from 'node-red';
import { RvmError } from '../../lib/error';
import { type ListenerSettings, Listeners, type ListenerClaim } from '../../lib/webhook/listener';
import { Dispatcher, PageRoutes } from '../../lib/webhook/dispatcher';
import { configuredPaths } from '../support/configured-webhooks';
import { onFlowsState } from '../support/flows';
import { PATHS_BEGIN, isPort } from '../support/rules';
import { type NodeConfig, registerNode } from '../support/register';
import { listOf, textOf, unsetVariableError, unsetVariables } from '../support/settings';
import { status, unsetStatus } from '../support/status';
import { unknownPaths } from '../support/webhook-server';
import type { ListenerNode } from './listener-node';

/** The core node `tls-config`. */
interface TlsNode extends Node {
  addTLSOptions(options: SecureContextOptions): SecureContextOptions;
}

let listeners: Listeners | undefined;

/** All listeners of this process. Their ports stay open while their nodes are rebuilt. */
function listenersOf(RED: NodeAPI): Listeners {
  if (listeners !== undefined) return listeners;
  const all = new Listeners({
    log: (line) => RED.log.warn(line),
    configured: (address) => configuredPaths(RED, address),
    dispatcher: {
      unknownPaths: { begin: PATHS_BEGIN, paths: unknownPaths(RED) },
      probesBelow: PATHS_BEGIN,
    },
  });
  onFlowsState(RED, 'started', () => void all.flowsStarted());
  onFlowsState(RED, 'stopping', () => all.flowsStopping());
  listeners = all;
  return all;
}

/** One `rvm-listener` node: its claim on a port, where its settings allow one, and its reports. */
class OwnServer {
  readonly #claim: ListenerClaim | undefined;
  readonly #unwatch: (() => void) | undefined;
  #setPort: string | undefined;
  #settingFault: RvmError | undefined;
  #reported: string | undefined;

  constructor(
    private readonly RED: NodeAPI,
    private readonly node: ListenerNode,
    private readonly config: NodeConfig,
  ) {
    this.#claim = this.#tryToClaim();
    const listener = this.#claim?.listener;
    // Without a claim no request arrives, but the webhook nodes need a dispatcher to register with.
    const dispatcher = listener?.dispatcher ?? new Dispatcher();
    node.server = {
      dispatcher,
      pages: listener?.pages ?? new PageRoutes(),
      port: this.#setPort,
      fullPath: (path) => `/${path}`.replace(/\/{2,}/g, '/'),
      isReserved: () => false,
      loopbackOrigin: () => listener?.origin,
      middleware: () => undefined,
      status: () => this.#status(),
      fault: () => this.#fault()?.message,
      watch: (changed) => listener?.watch(changed) ?? (() => undefined),
    };
    this.#unwatch = listener?.watch(() => this.#report());
    this.#report();
  }

  close(): void {
    this.#unwatch?.();
    this.#claim?.release();
  }

  #tryToClaim(): ListenerClaim | undefined {
    try {
      const address = { port: this.#port(), host: textOf(this.config, 'host').trim() };
      this.#setPort = String(address.port);
      return listenersOf(this.RED).claim(address, this.#settings());
    } catch (error) {
      this.#settingFault = error as RvmError;
      return undefined;
    }
  }

  /** @throws RvmError CONFIG_MISSING for a variable that is not set, BAD_INPUT for an invalid port. */
  #port(): number {
    const unset = unsetVariables(this.config);
    if (unset !== undefined) throw unsetVariableError(unset);
    const text = textOf(this.config, 'port').trim();
    if (isPort(text)) return Number(text);
    throw new RvmError('BAD_INPUT', this.RED._('rvm-listener.errors.port'));
  }

  /** A missing TLS node counts as one without a certificate, not as plain HTTP: phrases must not arrive in clear then. */
  #settings(): ListenerSettings {
    const proxies = listOf(this.config, 'proxies');
    const id = textOf(this.config, 'tls');
    if (id === '') return { proxies };
    const tlsNode = this.RED.nodes.getNode(id) as Partial<TlsNode> | null | undefined;
    // Its other settings are for clients.
    const { key, cert, ca, pfx, passphrase } = tlsNode?.addTLSOptions?.({}) ?? {};
    return { proxies, tls: { key, cert, ca, pfx, passphrase } };
  }

  #fault(): RvmError | undefined {
    return this.#settingFault ?? this.#secondFault() ?? this.#claim?.listener.fault;
  }

  #secondFault(): RvmError | undefined {
    if (this.#claim?.isFirst() !== false) return undefined;
    return new RvmError('NETWORK', this.RED._('rvm-listener.errors.second'));
  }

  #status(): ReturnType<typeof status> | undefined {
    const unset = unsetVariables(this.config);
    if (unset !== undefined) return unsetStatus(this.RED, unset);
    const fault = this.#fault();
    return fault && status(this.RED, fault.code === 'NETWORK' ? 'portInUse' : 'wrongSetting');
  }

  /** Reports each state once, however often the port is tried. */
  #report(): void {
    const fault = this.#fault();
    const url = this.#claim?.listener.origin ?? '';
    const text = fault?.message ?? url;
    if (text === '' || text === this.#reported) return;
    this.#reported = text;
    if (fault !== undefined) this.node.error(fault.message);
    else this.node.log(this.RED._('rvm-listener.log.listening', { url }));
  }
}

export = (RED: NodeAPI): void =>
  registerNode(RED, 'rvm-listener', (_RED, node: ListenerNode, config) => {
    const server = new OwnServer(RED, node, config);
    node.on('close', () => server.close());
  });
