const VARIABLE = /^\$(?:\{[^{}]+\}|\([^()]+\))$/;

/** `${NAME}` as the whole value: Node-RED puts the environment variable in its place at run time. */
export function isVariable(value: unknown): boolean {
  return typeof value === 'string' && VARIABLE.test(value.trim());
}

/** True, or the reason: a number not below `least`, or a variable. */
export function numberOrReason(node: EditorNode, value: unknown, least: number): boolean | string {
  if (isVariable(value)) return true;
  const text = String(value ?? '').trim();
  if (text !== '' && Number.isFinite(Number(text)) && Number(text) >= least) return true;
  return node._('shared.errors.number', { least });
}
