const VARIABLE = /^\$(?:\{[^{}]+\}|\([^()]+\))$/;

/** `${NAME}` as the whole value: Node-RED puts the environment variable in its place at run time. */
export function isVariable(value: unknown): boolean {
  return typeof value === 'string' && VARIABLE.test(value.trim());
}

/** The text in a field or property, without outer white space. */
export function trimmed(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? `${value}`.trim() : '';
}

/** True, or the reason: a number not below `least`, or a variable. */
export function numberOrReason(node: EditorNode, value: unknown, least: number): boolean | string {
  if (isVariable(value)) return true;
  const text = trimmed(value);
  if (text !== '' && Number.isFinite(Number(text)) && Number(text) >= least) return true;
  return node._('shared.errors.number', { least });
}
