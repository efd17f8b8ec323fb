import type { Node } from 'node-red';

/** Whether anything is wired to an output, counted from 0. Asked at each message: a partial deploy changes wires only. */
export function isWired(node: Node, output: number): boolean {
  const { wires } = node as Node & { wires?: readonly (readonly string[])[] };
  return (wires?.[output]?.length ?? 0) > 0;
}
