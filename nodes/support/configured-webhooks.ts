import type { NodeAPI, NodeDef } from 'node-red';
import { variableIn } from '../../lib/text';
import type { ListenerAddress } from '../../lib/webhook/listener';
import type { ConfiguredPaths } from '../../lib/webhook/dispatcher';
import { isOccupiedPath } from './rules';
import { textOf, type Properties } from './settings';

/** Value of a variable at a node; undefined where it is not set, or can be computed only by Node-RED. */
type Lookup = (name: string) => string | undefined;

/**
 * Paths of the deployed, enabled *webhook in* nodes of a server, with a leading slash. Known even while no node is built (a
 * type is missing, or a user stopped the flows), and where a node could not be built.
 * @param address of a listener. Default: Node-RED's own server.
 */
export function configuredPaths(RED: NodeAPI, address?: ListenerAddress): ConfiguredPaths {
  const paths: string[] = [];
  let hasUnknown = false;
  const flow = new FlowConfiguration(RED);
  for (const { node, lookup } of flow.enabled('rvm-webhook-in')) {
    if (!flow.isAt(address, textOf(node, 'listener'), lookup)) continue;
    const path = resolved(textOf(node, 'path'), lookup);
    if (path === undefined) hasUnknown = true;
    else if (path.replace(/\//g, '') !== '' && !isOccupiedPath(path))
      paths.push(`/${path}`.replace(/\/{2,}/g, '/'));
  }
  return { paths, hasUnknown };
}

/** The deployed configuration, as Node-RED has it before building nodes. */
class FlowConfiguration {
  readonly #nodes = new Map<string, Properties>();

  constructor(RED: NodeAPI) {
    try {
      RED.nodes.eachNode((node) => this.#nodes.set(node.id, node as NodeDef & Properties));
    } catch {
      // No flows are loaded yet.
    }
  }

  /** Yields each node of a type once per place where it would be built: inside a subflow several times, or never. */
  *enabled(type: string): Iterable<{ node: Properties; lookup: Lookup }> {
    for (const node of this.#nodes.values())
      if (node['type'] === type) for (const lookup of this.#lookups(node)) yield { node, lookup };
  }

  /** True where a listener node is at a place, or may be: for example where the node is missing. */
  isAt(address: ListenerAddress | undefined, listener: string, lookup: Lookup): boolean {
    const id = resolved(listener, lookup);
    if (id === '') return address === undefined;
    const node = this.#nodes.get(id ?? '');
    if (node === undefined) return true;
    return (
      address !== undefined &&
      this.#lookups(node).some((ofListener) =>
        (['port', 'host'] as const).every((name) => {
          const value = resolved(textOf(node, name), ofListener);
          return value === undefined || value.trim() === `${address[name]}`;
        }),
      )
    );
  }

  /** Lookups of variables for a node, one per place where it would be built. */
  #lookups(node: Properties): Lookup[] {
    if (node['d'] === true) return [];
    const container = this.#nodes.get(textOf(node, 'z'));
    const type = container?.['type'];
    const outer =
      container === undefined
        ? [this.#global]
        : type === 'subflow'
          ? this.#instancesOf(container)
          : container['disabled'] === true
            ? []
            : [withEnv(container, this.#global)];
    return outer.map((lookup) => this.#inGroup(node, lookup));
  }

  #instancesOf(subflow: Properties): Lookup[] {
    const type = `subflow:${textOf(subflow, 'id')}`;
    return [...this.#nodes.values()]
      .filter((node) => node['type'] === type)
      .flatMap((instance) =>
        this.#lookups(instance).map((lookup) => withEnv(instance, withEnv(subflow, lookup))),
      );
  }

  #inGroup(node: Properties, outer: Lookup): Lookup {
    const group = this.#nodes.get(textOf(node, 'g'));
    return group === undefined ? outer : withEnv(group, this.#inGroup(group, outer));
  }

  readonly #global: Lookup = (name) => {
    const config = [...this.#nodes.values()].find(({ type }) => type === 'global-config');
    return withEnv(config ?? {}, (outer) => process.env[outer])(name);
  };
}

/** Adds variables set by a group, a flow, a subflow or its instance; those that must be computed count as not set. */
function withEnv({ env }: Properties, outer: Lookup): Lookup {
  const set = Array.isArray(env) ? (env as Properties[]) : [];
  return (name) => {
    if (name.startsWith('$parent.')) return outer(name.slice('$parent.'.length));
    const entry = set.findLast(({ name: each }) => each === name);
    if (entry === undefined) return outer(name);
    const value = textOf(entry, 'value');
    // Excludes the entry itself: two variables that name each other would recurse without end.
    if (entry['type'] === 'env') return withEnv({ env: set.filter((each) => each !== entry) }, outer)(value);
    return ['str', 'num', 'conf-type'].includes(textOf(entry, 'type')) ? value : undefined;
  };
}

/** The value as Node-RED passes it to the node. */
function resolved(value: string, lookup: Lookup): string | undefined {
  const name = variableIn(value);
  return name === undefined ? value : lookup(name);
}
